"""Each failure of the Hub is one sentence that says what to do, without a traceback's words."""

import errno
from pathlib import Path

import pytest
from tests.support.hub_fixtures import REPO, cache, hub, server
from tests.support.hub_server import Fault, HubServer

from hubserve_engine.catalog.hub import Hub
from hubserve_engine.catalog.hub_errors import Situation, explain
from hubserve_engine.catalog.model_id import HubModel
from hubserve_engine.errors import ResolveError

__all__ = ["cache", "hub", "server"]

FILE = "Tiny-Q4_K_M.gguf"


def _failure(hub: Hub, model: HubModel | None = None) -> str:
    with pytest.raises(ResolveError) as caught:
        listing = hub.list(model or HubModel(REPO))
        hub.fetch(listing, [FILE], lambda sentence: None)
    message = caught.value.message
    assert "\n" not in message and message.endswith(".")
    return message


def _client(server: HubServer, cache: Path, token: str) -> Hub:
    return Hub(endpoint=server.url, cache=cache, token=token)


def test_no_such_repository(hub: Hub, server: HubServer) -> None:
    message = _failure(hub, HubModel("owner/nothing"))
    assert "no model repository 'owner/nothing'" in message
    assert "set HF_TOKEN" in message and f"{server.url}/settings/tokens" in message


def test_a_private_repository_without_and_with_the_right_token(
    server: HubServer, cache: Path
) -> None:
    server.token = "hf_right"
    server.repos[REPO].private = True
    assert "it is private" in _failure(Hub(endpoint=server.url, cache=cache))
    listing = _client(server, cache, "hf_right").list(HubModel(REPO))
    assert FILE in listing.paths


def test_a_token_that_is_not_accepted(server: HubServer, cache: Path) -> None:
    server.token = "hf_right"
    message = _failure(_client(server, cache, "hf_wrong"))
    assert "does not accept your access token" in message and "HF_TOKEN" in message
    assert "hf_wrong" not in message


def test_a_gated_repository_names_the_page_and_the_variable(hub: Hub, server: HubServer) -> None:
    server.repos[REPO].gated = True
    message = _failure(hub)
    assert f"ask for access at {server.url}/{REPO}, then set HF_TOKEN" in message


def test_a_gated_repository_with_a_token_that_may_not(server: HubServer, cache: Path) -> None:
    server.repos[REPO].gated = True
    message = _failure(_client(server, cache, "hf_mine"))
    assert f"ask for access at {server.url}/{REPO}" in message
    assert "your access token may not read it yet" in message


def test_no_such_revision_names_those_that_are_there(hub: Hub, server: HubServer) -> None:
    server.repos[REPO].revisions["v1"] = {}
    message = _failure(hub, HubModel(REPO, "v2"))
    assert message == f"'{REPO}' has no revision 'v2'; there is: main, v1."


def test_a_file_that_goes_away_meanwhile(hub: Hub, server: HubServer) -> None:
    server.faults = [Fault("resolve", status=404, code="EntryNotFound")]
    assert f"has no file {FILE!r} any more; see {server.url}/{REPO}/tree/main" in _failure(hub)


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (Fault("api", status=429, headers={"Retry-After": "30"}), "try again in 30 seconds"),
        (Fault("api", status=429), "try again in a few minutes, or set HF_TOKEN"),
        (Fault("api", status=500), "a fault of its own (500): try again"),
        (Fault("api", status=503), "a fault of its own (503): try again"),
        (Fault("api", status=403), "forbids reading 'owner/Tiny-GGUF' (403)"),
        (Fault("api", status=403, message="Access to this resource is disabled."), "was disabled"),
        (Fault("api", status=404), "no model repository"),
        (Fault("api", status=451), "with status 451"),
        (Fault("api", web_page=True), "does not answer as a Hub does: check the variable HF_END"),
        (Fault("resolve", web_page=True), "arrived damaged (70 bytes, not the 563552 that"),
        (Fault("resolve", status=401, code="GatedRepo"), "is gated: ask for access"),
        (Fault("blob", status=500), "a fault of its own (500)"),
        (Fault("blob", status=403), "forbids reading"),
    ],
    ids=str,
)
def test_what_the_hub_answers(hub: Hub, server: HubServer, fault: Fault, said: str) -> None:
    server.faults = [fault]
    assert said in _failure(hub)


@pytest.mark.parametrize(
    "endpoint", ["http://127.0.0.1:9", "http://no-such-host.invalid", "nonsense"]
)
def test_no_hub_there(server: HubServer, cache: Path, endpoint: str) -> None:
    message = _failure(Hub(endpoint=endpoint, cache=cache))
    assert f"{endpoint} cannot be reached" in message
    assert "HF_ENDPOINT" in message and "HF_HUB_OFFLINE=1" in message


def test_a_name_that_the_library_refuses(hub: Hub) -> None:
    assert "'o--o/n..n' cannot be the name" in _failure(hub, HubModel("o--o/n..n"))


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), "The disk of /cache is full"),
        (PermissionError(errno.EACCES, "Permission denied"), "cannot be written (Permission"),
        (OSError(errno.EROFS, "Read-only file system"), "set HF_HOME to a folder that is"),
        (OSError(errno.EIO, "Input/output error"), "OSError: [Errno 5] Input/output error"),
        (RuntimeError("first line\nsecond line"), "RuntimeError: first line)"),
        (ConnectionResetError(104, "Connection reset by peer"), "run the command again to go on"),
        (TimeoutError("timed out"), "was lost (timed out) while downloading 'a.gguf'"),
    ],
)
def test_what_the_disk_and_the_library_throw(error: Exception, said: str) -> None:
    situation = Situation(HubModel("o/r"), "http://hub", "/cache", False, path="a.gguf")
    message = explain(error, situation).message
    assert said in message and "\n" not in message


def test_the_cause_counts_where_the_library_wraps_it() -> None:
    from huggingface_hub.errors import LocalEntryNotFoundError

    wrapped = LocalEntryNotFoundError("not in the cache either")
    wrapped.__cause__ = TimeoutError("timed out")
    situation = Situation(HubModel("o/r"), "http://hub", "/cache", False)
    assert "http://hub cannot be reached (timed out)" in explain(wrapped, situation).message
