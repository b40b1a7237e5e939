"""The socket: taken before the model is loaded, so that a port in use is known at once."""

import errno
import socket

from hubserve_engine.errors import StartError


def listen(host: str, port: int) -> socket.socket:
    """A listening socket; port 0 takes a free one. Raises `StartError` with the next step."""
    try:
        family, address = _resolve(host, port)
        return socket.create_server(
            address, family=family, backlog=512, dualstack_ipv6=_is_any(family, host)
        )
    except (OSError, UnicodeError) as error:
        raise StartError(_explain(host, port, error)) from error


def own_address() -> str | None:
    """The IPv4 address by which other machines reach this one; None without a network."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # Sends nothing: it only asks which way that would go.
        except OSError:
            return None
        address = str(probe.getsockname()[0])
    return None if address.startswith("127.") else address


def _resolve(host: str, port: int) -> tuple[socket.AddressFamily, tuple[str, int]]:
    """IPv4 where a name has both, since that is what clients try for localhost."""
    found = socket.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM)
    found.sort(key=lambda entry: entry[0] != socket.AF_INET)
    family, _, _, _, address = found[0]
    return family, (str(address[0]), port)


def _is_any(family: socket.AddressFamily, host: str) -> bool:
    """Whether IPv4 clients are to be served by an IPv6 socket too."""
    is_any = family == socket.AF_INET6 and host.strip("[]") == "::"
    return is_any and socket.has_dualstack_ipv6()


def _explain(host: str, port: int, error: Exception) -> str:
    if isinstance(error, socket.gaierror | UnicodeError):
        return f"The host {host!r} is not known; --host takes a name or an address of this machine."
    code = error.errno if isinstance(error, OSError) else None
    if code == errno.EADDRINUSE:
        return (
            f"Port {port} of {host} is in use. Stop the program that has it, or choose another port"
            " with --port (0 is any free one)."
        )
    if code == errno.EACCES:
        return f"Port {port} may not be opened by this user; choose one above 1023 with --port."
    if code == errno.EADDRNOTAVAIL:
        return f"{host!r} is no address of this machine; choose another with --host."
    return f"Port {port} of {host} cannot be opened: {error}."
