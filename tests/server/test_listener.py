"""Taking the port: at once, or with one sentence that says what to do."""

import socket

import pytest

from hubserve_engine.errors import StartError
from hubserve_server.listener import listen, own_address


def test_a_free_port_is_found() -> None:
    with listen("127.0.0.1", 0) as first, listen("127.0.0.1", 0) as second:
        assert first.getsockname()[1] != second.getsockname()[1]


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "0.0.0.0"])
def test_names_of_this_machine_are_reached_over_ipv4(host: str) -> None:
    with listen(host, 0) as listener:
        port = listener.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port), timeout=5):
            pass


def test_a_port_in_use_is_named_with_the_next_step() -> None:
    with listen("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        with pytest.raises(StartError, match=f"Port {port} of 127.0.0.1 is in use.*--port"):
            listen("127.0.0.1", port)


@pytest.mark.parametrize("host", ["", "no such host", "nowhere.invalid", "192.0.2.1", "x" * 300])
def test_a_host_that_is_not_here_is_named(host: str) -> None:
    with pytest.raises(StartError, match="--host") as caught:
        listen(host, 0)
    assert host in caught.value.message


def test_the_address_that_others_use_is_one_of_this_machine() -> None:
    address = own_address()
    if address is None:
        pytest.skip("this machine has no network")
    with listen(address, 0) as listener:
        assert listener.getsockname()[0] == address
