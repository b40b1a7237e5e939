"""`hubserve export` and the commands around it, as a person runs them."""

import json
import os
import shutil
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from huggingface_hub import constants
from huggingface_hub.utils.tqdm import progress_bar_states
from safetensors.numpy import load_file, save_file
from tests.support.checkpoints import checkpoint
from tests.support.gguf_builder import Value, write_gguf
from tests.support.hub_repo import Repo
from tests.support.hub_server import HubServer

from hubserve_engine.units import size_text
from hubserve_exporters import GGUFReader
from hubserve_server import cli

# The library sends large files in a way that its HTTP client warns of.
pytestmark = pytest.mark.filterwarnings("ignore:Use .content=:DeprecationWarning")

TOKEN = "hf_secret"
TEMPLATE = "%s/{repo_id}/resolve/{revision}/{filename}"


class Program:
    """`hubserve` in a folder of its own; `out` and `err` are what it said last."""

    def __init__(
        self,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
        folder: Path,
    ) -> None:
        self._monkeypatch, self._capsys, self.folder = monkeypatch, capsys, folder
        monkeypatch.chdir(folder)
        monkeypatch.setenv("COLUMNS", "200")

    def __call__(self, *arguments: object) -> int:
        self._monkeypatch.setattr(sys, "argv", ["hubserve", *map(str, arguments)])
        with pytest.raises(SystemExit) as caught:
            cli.main()
        self.out, self.err = self._capsys.readouterr()
        assert isinstance(caught.value.code, int)
        return caught.value.code

    def refused(self, *arguments: object) -> str:
        assert self(*arguments) == 2
        line = self.err.splitlines()[-1]
        assert line.startswith("hubserve: ") and line.endswith(".")
        return line


@pytest.fixture
def hubserve(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Program:
    folder = tmp_path / "here"
    folder.mkdir()
    return Program(monkeypatch, capsys, folder)


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    """A checkpoint that a test may change."""
    folder = shutil.copytree(checkpoint("llama"), tmp_path / "Tiny-Llama")
    (folder / "README.md").write_text("---\nlicense: mit\n---\n# Tiny\n")
    (folder / "LICENSE").write_text("MIT")
    return folder


@pytest.fixture
def server(tmp_path: Path, tiny: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    uploads = tmp_path / "uploads"
    uploads.mkdir()
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    # Who makes checkpoints turns bars off for this process.
    monkeypatch.setitem(progress_bar_states, "_global", True)
    repos = {"owner/Tiny-Llama": Repo.of_folder(tiny)}
    with HubServer(repos, token=TOKEN, uploads=uploads) as server:
        monkeypatch.setattr(constants, "ENDPOINT", server.url)
        monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", TEMPLATE % server.url)
        yield server


def test_a_folder_becomes_a_file_that_says_what_it_is(hubserve: Program, tiny: Path) -> None:
    assert hubserve("export", tiny, "--type", "q8_0") == 0
    file = hubserve.folder / "Tiny-Llama-Q8_0.gguf"
    assert list(hubserve.folder.iterdir()) == [file]
    first, *lines = hubserve.out.splitlines()
    assert first.startswith("Tiny-Llama-Q8_0.gguf: llama, ")
    assert lines[0].split()[:3] == ["Q8_0", "16", "tensors"]
    assert any("Checked: structure" in line and "llama.cpp" in line for line in lines)
    with GGUFReader(file) as reader:
        assert reader.metadata["general.name"] == "Tiny-Llama"

    assert hubserve("inspect", file, "--tensors") == 0
    size = size_text(file.stat().st_size)
    assert hubserve.out.startswith(f"{file}: llama, 123 K parameters, {size}\n")
    assert first.endswith(f", {size}")
    assert "  general.architecture = llama\n" in hubserve.out
    assert "blk.0.attn_q.weight" in hubserve.out

    assert hubserve("restore", file, "-o", "back") == 0
    assert hubserve.out.startswith("back: 21 tensors, config.json, ")
    assert json.loads(Path("back/config.json").read_text())["model_type"] == "llama"
    assert "back is there already" in hubserve.refused("restore", file, "-o", "back")


def test_where_it_goes_and_what_it_is_called(hubserve: Program, tiny: Path) -> None:
    quick = ("--check", "none")
    assert hubserve("export", tiny, *quick, "--name", "My Model") == 0
    assert [path.name for path in hubserve.folder.iterdir()] == ["My Model-F32.gguf"]
    Path("sub").mkdir()
    assert hubserve("export", tiny, *quick, "-o", "sub") == 0
    assert hubserve("export", tiny, *quick, "-o", "sub/x", "--type", "F16") == 0
    assert sorted(path.name for path in Path("sub").iterdir()) == ["Tiny-Llama-F32.gguf", "x.gguf"]
    assert hubserve("export", tiny, *quick, "--split-max-size", "100KB", "-o", "sub/p.gguf") == 0
    assert "in 6 parts" in hubserve.out
    assert len(list(Path("sub").glob("p-0000?-of-00006.gguf"))) == 6
    # A name is no path.
    assert hubserve("export", tiny, *quick, "--name", "../My Model") == 0
    assert "..-My Model-F32.gguf" in [path.name for path in hubserve.folder.iterdir()]
    with GGUFReader("..-My Model-F32.gguf") as reader:
        assert reader.metadata["general.name"] == "../My Model"


@pytest.mark.parametrize("type_", ["f16", "q4_k_m"])
def test_a_dry_run_writes_nothing(hubserve: Program, tiny: Path, type_: str) -> None:
    assert hubserve("export", tiny, "--type", type_, "--dry-run") == 0
    assert not list(hubserve.folder.iterdir())
    first = hubserve.out.splitlines()[0]
    assert first.startswith(f"Tiny-Llama-{type_.upper()}.gguf would have ")
    assert ("before llama.cpp makes q4_k_m of it" in first) == (type_ == "q4_k_m")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--type", "q9"], "--type 'q9' is no type to export to; types are auto, "),
        (["--type", "iq1_s"], "iq1_s needs an importance matrix"),
        (["--type", "q4_k_m", "--imatrix", "m.dat"], "'--imatrix': file 'm.dat' does not exist"),
        (["--push", "no repo"], "'no repo' cannot be the name of a repository; it is 'owner/repo'"),
        (["--check", "slow"], "'slow' is not one of 'fast', 'full', 'none'"),
        (["--split-max-size", "big"], "'big' is not a size"),
    ],
)
def test_what_cannot_be_is_one_line_and_leaves_nothing(
    hubserve: Program, tiny: Path, arguments: list[str], said: str
) -> None:
    assert said in hubserve.refused("export", tiny, *arguments)
    assert not list(hubserve.folder.iterdir())


def test_a_type_may_stand_behind_the_name(hubserve: Program, server: HubServer, tiny: Path) -> None:
    for place, file in ((tiny, "a"), ("owner/Tiny-Llama", "b")):
        line = hubserve.refused("export", f"{place}:F16", "--type", "q8_0")
        assert f"'{place}:F16' names the type f16, and --type names q8_0" in line
        assert "is no type that" in hubserve.refused("export", f"{place}:x.gguf")
        assert not [seen for seen in server.seen if "/blobs/" in seen.path]
        assert hubserve("export", f"{place}:F16", "--check", "none", "-o", file) == 0
        assert hubserve.out.splitlines()[1].split()[0] == "F16"


def test_what_config_json_refuses_is_refused_before_weights_are_fetched(
    hubserve: Program, server: HubServer, tiny: Path
) -> None:
    config = json.loads((tiny / "config.json").read_text())
    (tiny / "config.json").write_text(json.dumps(config | {"architectures": ["Odd"]}))
    server.repos["owner/Odd"] = Repo.of_folder(tiny)
    said = hubserve.refused("export", "owner/Odd")
    assert "The architecture 'Odd' cannot be exported" in said
    quantized = config | {"quantization_config": {"quant_method": "gptq"}}
    (tiny / "config.json").write_text(json.dumps(quantized))
    server.repos["owner/Odd"] = Repo.of_folder(tiny)
    assert "The checkpoint is quantized (gptq)" in hubserve.refused("export", "owner/Odd")
    assert not [seen for seen in server.seen if "/blobs/" in seen.path]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_command_that_is_ended_leaves_nothing(
    hubserve: Program, tiny: Path, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = signal.getsignal(number)
    assert hubserve("export", tiny, "--check", "none", "-o", "whole") == 0
    monkeypatch.setattr(os, "fsync", lambda _: os.kill(os.getpid(), number))
    for command in (["export", tiny, "--type", "f16"], ["restore", "whole.gguf", "-o", "back"]):
        assert hubserve(*command) == 128 + number
        assert [path.name for path in hubserve.folder.iterdir()] == ["whole.gguf"]
    assert signal.getsignal(number) == before


def test_what_is_no_checkpoint_is_one_line(hubserve: Program, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert "is no checkpoint that can be exported" in hubserve.refused("export", tmp_path / "empty")
    assert "/nowhere" in hubserve.refused("export", "/nowhere")
    (tmp_path / "a.gguf").write_bytes(b"GGUF")
    assert "a GGUF file at least 24" in hubserve.refused("inspect", tmp_path / "a.gguf")
    assert "No such file" in hubserve.refused("inspect", "nowhere.gguf")
    write_gguf(tmp_path / "b.gguf")
    assert "hubserve export" in hubserve.refused("restore", tmp_path / "b.gguf", "-o", "x")
    assert not list(hubserve.folder.iterdir())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["export"], "Missing argument 'CHECKPOINT'. See `hubserve export --help`."),
        (["inspect"], "Missing argument 'FILE'. See `hubserve inspect --help`."),
        (["restore", "x.gguf"], "See `hubserve restore --help`."),
        (["exprot"], "See `hubserve --help`."),
    ],
)
def test_what_is_missing_is_told_of_the_command_that_was_called(
    hubserve: Program, arguments: list[str], said: str
) -> None:
    line = hubserve.refused(*arguments)
    assert line.endswith(said) and "serve unsloth/" not in line


def test_a_text_in_a_file_does_nothing_to_the_terminal(hubserve: Program, tmp_path: Path) -> None:
    values: dict[str, Value] = {
        "general.name": "\x1b[2Jx\ny" + "z" * 5000,
        "n": [1] * 99,
        "a\x1b[2Jb": 1,
    }
    write_gguf(tmp_path / "b.gguf", values)
    assert hubserve("inspect", tmp_path / "b.gguf") == 0
    assert "\x1b" not in hubserve.out and "general.name = ·[2Jx·yzzz" in hubserve.out
    assert max(map(len, hubserve.out.splitlines())) < 200
    assert "n = [1, 1, 1, 1, 1, 1, … 99 in all]" in hubserve.out


def test_a_dry_run_from_the_hub_fetches_no_weights(
    hubserve: Program, server: HubServer, tiny: Path
) -> None:
    assert hubserve("export", tiny, "--dry-run") == 0
    here = hubserve.out
    assert hubserve("export", "owner/Tiny-Llama", "--dry-run") == 0, hubserve.err
    assert hubserve.out == here
    ranges = [seen.headers.get("Range") for seen in server.seen if "/blobs/" in seen.path]
    assert ranges == ["bytes=0-100000"]
    assert not list(hubserve.folder.iterdir())


def test_from_the_hub_and_back(hubserve: Program, server: HubServer) -> None:
    assert hubserve("export", "owner/Tiny-Llama", "--push", "owner/Tiny-GGUF") == 0, hubserve.err
    size = (hubserve.folder / "Tiny-Llama-F32.gguf").stat().st_size
    assert f"Sending Tiny-Llama-F32.gguf, {size_text(size)}\n" in hubserve.err
    # It went as a large file, and without a bar, as nobody watches.
    assert server.uploads is not None and server.uploads.taken == ["Tiny-Llama-F32.gguf"]
    assert not set("\r█") & set(hubserve.err), hubserve.err
    repo = server.repos["owner/Tiny-GGUF"]
    files = repo.revisions["main"]
    assert repo.private and set(files) == {"Tiny-Llama-F32.gguf", "README.md", "LICENSE"}
    card = files["README.md"].read_text()
    assert "license: mit" in card and "base_model: owner/Tiny-Llama" in card
    assert f"{server.url}/owner/Tiny-GGUF (private): " in hubserve.out
    assert [path.name for path in hubserve.folder.iterdir()] == ["Tiny-Llama-F32.gguf"]

    (hubserve.folder / "notes.txt").write_text("secret")
    assert hubserve("push", ".", "owner/Again", "--public") == 0
    assert hubserve.err == f"Sending Tiny-Llama-F32.gguf, {size_text(size)}\n"
    assert set(server.repos["owner/Again"].revisions["main"]) == {"Tiny-Llama-F32.gguf"}
    assert "is public, and the model was to be private" in hubserve.refused(
        "push", ".", "owner/Again"
    )


def test_a_licence_from_elsewhere_is_not_published(
    hubserve: Program, server: HubServer, tiny: Path, tmp_path: Path
) -> None:
    (tmp_path / "secret").write_text("secret")
    (tiny / "LICENSE").unlink()
    (tiny / "LICENSE").symlink_to(tmp_path / "secret")
    said = hubserve.refused("export", tiny, "--check", "none", "--push", "owner/Tiny-GGUF")
    assert "is made, but not published: " in said and "outside of the checkpoint" in said
    assert "owner/Tiny-GGUF" not in server.repos
    assert [path.name for path in hubserve.folder.iterdir()] == ["Tiny-Llama-F32.gguf"]


def test_a_name_out_of_a_file_does_nothing_to_the_terminal(hubserve: Program, tiny: Path) -> None:
    weights = load_file(tiny / "model.safetensors")
    weights["model.visual.\x1b[2J"] = weights["model.norm.weight"]
    save_file(weights, tiny / "model.safetensors")
    assert hubserve("export", tiny, "--check", "none") == 0
    assert hubserve("restore", "Tiny-Llama-F32.gguf", "-o", "back") == 0
    assert "The export left out model.visual.·[2J" in hubserve.out and "\x1b" not in hubserve.out
