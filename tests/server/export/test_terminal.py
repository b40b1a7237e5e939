"""Bars on a terminal: how much, how fast, and a clean line after them."""

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.checkpoints import make
from tests.support.gguf_builder import write_gguf
from tests.support.hub_server import HubServer
from tests.support.terminal import Shown, on_terminal

TOKEN = "hf_secret"
HUBSERVE = (sys.executable, "-m", "hubserve_server")


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint of 30 MB."""
    sizes: dict[str, Any] = {"hidden_size": 512, "intermediate_size": 1024, "num_hidden_layers": 3}
    return make(tmp_path_factory.mktemp("Large"), "llama", **sizes)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[HubServer]:
    uploads = tmp_path / "uploads"
    uploads.mkdir()
    with HubServer(token=TOKEN, uploads=uploads) as server:
        yield server


def clean(shown: Shown) -> None:
    """Nothing of a bar is there, and the cursor is."""
    assert not any(re.search("[━╸╺]|Writing|Checking|Finishing", line) for line in shown.left)
    assert shown.written.rfind("\x1b[?25l") < shown.written.rfind("\x1b[?25h")


def test_an_export_and_a_restore_show_how_far_they_are(large: Path, tmp_path: Path) -> None:
    file, back = str(tmp_path / "it.gguf"), str(tmp_path / "back")
    shown = on_terminal([*HUBSERVE, "export", str(large), "--check", "none", "-o", file], {})
    assert shown.code == 0
    assert "Writing" in shown.written
    assert shown.left[0].startswith("Looking for ") and shown.left[1].startswith(f"{file[:60]}")
    clean(shown)
    shown = on_terminal([*HUBSERVE, "restore", file, "-o", back], {})
    assert shown.code == 0 and "Writing " in shown.written
    assert shown.left[0].startswith(back[:60])
    clean(shown)


@pytest.mark.parametrize("command", ["export", "restore"])
def test_an_interrupt_leaves_a_clean_line(command: str, large: Path, tmp_path: Path) -> None:
    arguments = ["export", str(large), "--type", "q4_k_m", "-o", str(tmp_path / "it.gguf")]
    if command == "restore":
        made = on_terminal([*HUBSERVE, *arguments[:2], "--check", "none", *arguments[-2:]], {})
        assert made.code == 0
        arguments = ["restore", str(tmp_path / "it.gguf"), "-o", str(tmp_path / "back")]
    before = os.listdir(tmp_path)
    shown = on_terminal([*HUBSERVE, *arguments], {}, interrupt="Writing")
    assert shown.code == 130
    clean(shown)
    assert "Traceback" not in shown.written
    assert os.listdir(tmp_path) == before


def test_an_upload_has_a_bar_for_each_file(server: HubServer, tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_gguf(tmp_path / "model" / f"{name}.gguf", {"name": name * 100_000})
    env = {"HF_ENDPOINT": server.url, "HF_TOKEN": TOKEN, "HF_HUB_DISABLE_XET": "1"}
    env["HF_HOME"] = str(tmp_path / "home")
    shown = on_terminal([*HUBSERVE, "push", str(tmp_path / "model"), "owner/it"], env)
    assert shown.code == 0, shown.written
    for name in ("a.gguf", "b.gguf"):
        assert any(line.startswith(f"Sending {name}, 9") for line in shown.left)
        assert re.search(rf"{name}: 100%.*[\d.]+k/[\d.]+k .*B/s", shown.written)
    assert f"{server.url}/owner/it (private): a.gguf, b.gguf" in shown.written
