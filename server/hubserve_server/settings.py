"""How the HTTP side is run. A default is written here once, and the CLI reads it from here."""

from dataclasses import dataclass
from ipaddress import ip_address
from typing import Literal

LogLevel = Literal["debug", "info", "warning", "error"]

KEY_VARIABLE = "HUBSERVE_API_KEY"
"""The environment variable with keys, where no option names any."""

LAST_WORDS = 2.0
"""Seconds in which the last bytes may leave, once the server ends."""

LOCAL_ORIGINS = (
    "http://localhost:*",
    "https://localhost:*",
    "http://127.0.0.1:*",
    "https://127.0.0.1:*",
    "http://[::1]:*",
    "https://[::1]:*",
    "tauri://localhost",
    "http://tauri.localhost",
    "https://tauri.localhost",
    "app://*",
    "vscode-webview://*",
    "vscode-file://*",
)
"""Pages and desktop programs of this machine. Web pages from elsewhere have to be named."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Where the server listens, whom it answers, and its limits.

    `port` 0 takes a free one. `api_keys` empty means that no key is asked for;
    `keys_of_environment` that they are those of `KEY_VARIABLE`. `cors_origins` are
    allowed besides `LOCAL_ORIGINS`: `*` stands for any text, `:*` for any port or none, `*` alone
    for every origin. `allowed_hosts` are host names accepted besides those that `guard` knows; `*`
    alone accepts all, but no page whose own name only that `*` lets in. `max_body` is in bytes;
    `keep_alive` (between comments on a silent stream), `write_timeout` (for a client that takes
    nothing of what is sent) and `grace` (for running requests at shutdown) are in seconds.
    """

    host: str = "127.0.0.1"
    port: int = 8000
    api_keys: tuple[str, ...] = ()
    keys_of_environment: bool = False
    cors_origins: tuple[str, ...] = ()
    allowed_hosts: tuple[str, ...] = ()
    max_body: int = 64 * 1024 * 1024
    keep_alive: float = 10.0
    write_timeout: float = 30.0
    grace: float = 10.0
    log_level: LogLevel = "info"

    @property
    def loopback(self) -> bool:
        """Whether only this machine can connect."""
        return is_loopback(self.host)


def is_loopback(host: str) -> bool:
    """Whether a host name or address (brackets or not) is this machine's own."""
    name = host.strip("[]").lower()
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return False


def is_address(host: str) -> bool:
    """Whether it is an IP address, without brackets."""
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
