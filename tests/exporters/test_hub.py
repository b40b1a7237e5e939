"""Models onto a Hub: which files, who may see them, and what is said when it fails."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from huggingface_hub import constants
from tests.support.gguf_builder import write_gguf
from tests.support.hub_repo import Repo
from tests.support.hub_server import Fault, HubServer

from hubserve_exporters.errors import ExportError
from hubserve_exporters.hub import Pushed, check_repository, push_to_hub

# The library sends large files in a way that its HTTP client warns of.
pytestmark = pytest.mark.filterwarnings("ignore:Use .content=:DeprecationWarning")

TOKEN = "hf_secret"
REPO = "owner/Model-GGUF"


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    for variable in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "token"))
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
    uploads = tmp_path / "uploads"
    uploads.mkdir()
    with HubServer(token=TOKEN, uploads=uploads) as server:
        yield server


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "model"
    write_gguf(folder / "Model-Q8_0.gguf")
    (folder / "LICENSE").write_text("Do as you like.")
    return folder


def push(
    server: HubServer, folder: Path, *, private: bool = True, token: str | None = TOKEN
) -> Pushed:
    return push_to_hub(folder, REPO, "# Made", private, token, endpoint=server.url)


def files(server: HubServer) -> dict[str, bytes]:
    revision = server.repos[REPO].revisions["main"]
    return {path: file.read_bytes() for path, file in revision.items()}


def test_a_private_repository_is_made_and_has_the_model(server: HubServer, folder: Path) -> None:
    pushed = push(server, folder)
    assert pushed.url == f"{server.url}/{REPO}" and pushed.private
    assert set(pushed.files) == {"Model-Q8_0.gguf", "LICENSE", "README.md"}
    assert server.repos[REPO].private
    assert files(server) == {
        "Model-Q8_0.gguf": (folder / "Model-Q8_0.gguf").read_bytes(),
        "LICENSE": b"Do as you like.",
        "README.md": b"# Made",
    }
    # Once more: what is there is neither sent nor changed.
    pushed = push(server, folder)
    assert set(pushed.files) == {"Model-Q8_0.gguf", "LICENSE"}
    assert server.uploads is not None and server.uploads.taken == ["Model-Q8_0.gguf"] * 2
    puts = [seen for seen in server.seen if seen.method == "PUT"]
    assert len(puts) == 1


def test_only_files_of_a_model_are_sent(server: HubServer, folder: Path) -> None:
    for name in (".env", "notes.txt", "train.log", "key.pem", "sub/config.json", "x.gguf.partial"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("secret")
    (folder / "config.json").write_text("{}")
    push(server, folder)
    assert set(files(server)) == {"Model-Q8_0.gguf", "LICENSE", "README.md", "config.json"}


def test_a_readme_that_is_there_is_kept(server: HubServer, folder: Path, tmp_path: Path) -> None:
    theirs = tmp_path / "theirs.md"
    theirs.write_text("# Theirs")
    server.repos[REPO] = Repo.of_files({"README.md": theirs})
    server.repos[REPO].private = True
    push(server, folder)
    assert files(server)["README.md"] == b"# Theirs"
    (folder / "README.md").write_text("# Mine")
    push(server, folder)
    assert files(server)["README.md"] == b"# Mine"


def test_each_file_is_told_and_an_end_stops_all(server: HubServer, folder: Path) -> None:
    write_gguf(folder / "Second.gguf", {"n": 1})
    told: dict[str, int] = {}

    def start(ended: Callable[[], bool]) -> Pushed:
        return push_to_hub(
            folder, REPO, token=TOKEN, endpoint=server.url, report=told.__setitem__, ended=ended
        )

    with pytest.raises(ExportError, match=r"^Sending (Second|Model-Q8_0)\.gguf was ended\.$"):
        start(lambda: True)
    assert not files(server)
    assert told == {path.name: path.stat().st_size for path in folder.iterdir()}
    start(lambda: False)
    assert set(files(server)) == set(told)


def test_visibility_is_never_changed(server: HubServer, folder: Path) -> None:
    server.repos[REPO] = Repo.of_files({})
    with pytest.raises(ExportError, match=f"'{REPO}' is public, and the model was to be private"):
        push(server, folder)
    assert not files(server)
    assert not push(server, folder, private=False).private
    server.repos[REPO].private = True
    assert push(server, folder, private=False).private
    assert server.repos[REPO].private
    del server.repos[REPO]
    assert not push(server, folder, private=False).private
    assert not server.repos[REPO].private


@pytest.mark.parametrize("place", ["login", "environment"])
def test_the_token_of_a_login_or_of_the_environment_will_do(
    server: HubServer, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    if place == "login":
        (tmp_path / "token").write_text(TOKEN)
    else:
        monkeypatch.setenv("HF_TOKEN", TOKEN)
    push(server, folder, token=None)
    assert REPO in server.repos


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (Fault("upload", status=401), "asks who you are: log in with `hf auth login`"),
        (Fault("upload", status=403), "may not write to 'owner/Model-GGUF'"),
        (Fault("upload", status=400, message="Bad thing"), "the files (400): Bad thing."),
    ],
)
def test_refusals_are_sentences_without_the_token(
    server: HubServer,
    folder: Path,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
    fault: Fault,
    said: str,
) -> None:
    server.faults.append(fault)
    with pytest.raises(ExportError) as caught:
        push(server, folder)
    assert said in str(caught.value) and "\n" not in str(caught.value)
    assert TOKEN not in str(caught.value) + caplog.text + "".join(capfd.readouterr())


def test_a_wrong_token_is_a_sentence(server: HubServer, folder: Path) -> None:
    with pytest.raises(ExportError, match="asks who you are"):
        push(server, folder, token="hf_other")
    assert not server.repos


def test_a_hub_that_is_not_there_is_a_sentence(folder: Path) -> None:
    with pytest.raises(ExportError, match=r"failed .*; check the network and HF_ENDPOINT"):
        push_to_hub(folder, REPO, token=TOKEN, endpoint="http://127.0.0.1:9")


def test_what_is_no_model_is_not_sent(server: HubServer, folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ExportError, match=r"There is no model in '/nowhere'"):
        push(server, Path("/nowhere"))
    with pytest.raises(ExportError, match="'a' cannot be the name of a repository"):
        check_repository("a")
    with pytest.raises(ExportError, match="'a/b--c' cannot be the name of a repository"):
        push_to_hub(folder, "a/b--c", token=TOKEN, endpoint=server.url)
    with pytest.raises(ExportError, match="'a b/c' cannot be the name of a repository"):
        push_to_hub(folder, "a b/c", token=TOKEN, endpoint=server.url)
    secret = tmp_path / "secret"
    secret.write_text("secret")
    (folder / "config.json").symlink_to(secret)
    with pytest.raises(ExportError, match=r"'config\.json' is a link to '.*secret'"):
        push(server, folder)
    (folder / "config.json").unlink()
    os.truncate(folder / "Model-Q8_0.gguf", 100)
    with pytest.raises(ExportError, match="A damaged file is not published"):
        push(server, folder)
    assert not server.repos
