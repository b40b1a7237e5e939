"""What a file has to pass before it has its name, and that it has none before."""

import json
import shutil
from pathlib import Path

import pytest
from tests.support.checkpoints import checkpoint

from hubserve_exporters import Exported, ExportError, GGUFExportConfig, checks, export_gguf
from hubserve_exporters.export_config import CheckLevel


def export(folder: Path, out: Path, check: CheckLevel) -> Exported:
    return export_gguf(folder, GGUFExportConfig(out, check=check))


@pytest.mark.parametrize(
    ("level", "looked_at"),
    [
        ("none", ["structure"]),
        ("fast", ["structure", "tokens of", "the chat template", "a decode in llama.cpp"]),
    ],
)
def test_what_was_looked_at_is_told(
    tmp_path: Path, level: CheckLevel, looked_at: list[str]
) -> None:
    done = export(checkpoint("llama"), tmp_path / "a.gguf", level)
    assert len(done.checked) == len(looked_at)
    assert all(map(str.startswith, done.checked, looked_at))


@pytest.mark.parametrize("text", ["{% if %}", "{{ raise_exception('Never.') }}", "{# nothing #}"])
def test_a_template_that_writes_nothing_is_told(tmp_path: Path, text: str) -> None:
    folder = shutil.copytree(checkpoint("llama"), tmp_path / "checkpoint")
    (folder / "chat_template.jinja").write_text(text)
    done = export(folder, tmp_path / "a.gguf", "fast")
    assert "the chat template ('default' wrote no chat)" in done.checked


def test_what_does_not_pass_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "a.gguf"
    out.write_text("what was there")

    def refuse(*arguments: object) -> None:
        raise ExportError("The moon is wrong.")

    for name in ("check_tokenizers", "check_run"):
        with monkeypatch.context() as context:
            context.setattr(checks, name, refuse)
            with pytest.raises(ExportError, match="The moon is wrong"):
                export(checkpoint("llama"), out, "fast")
    assert list(tmp_path.iterdir()) == [out] and out.read_text() == "what was there"


def test_a_tokenizer_that_would_be_another_is_shown(tmp_path: Path) -> None:
    folder = shutil.copytree(checkpoint("llama"), tmp_path / "checkpoint")
    path = folder / "tokenizer.json"
    tokenizer = json.loads(path.read_text())
    # llama.cpp merges by rank, and has no switch for this.
    tokenizer["model"]["merges"].reverse()
    tokenizer["normalizer"] = {"type": "Replace", "pattern": {"String": "e"}, "content": "3"}
    path.write_text(json.dumps(tokenizer))
    with pytest.raises(ExportError):
        export(folder, tmp_path / "a.gguf", "fast")
    assert not (tmp_path / "a.gguf").exists()
