"""A written model, run by llama.cpp and compared with transformers."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support.checkpoints import checkpoint, make

from hubserve_exporters import ExportError, GGUFExportConfig, GGUFReader, export_gguf, parity
from hubserve_exporters.checkpoint import open_checkpoint
from hubserve_exporters.config import Config
from hubserve_exporters.gguf.reader import open_gguf
from hubserve_exporters.isolated import reference
from hubserve_exporters.parity import check_logits, check_run

QUERY = "blk.0.attn_q.weight"


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("parity") / "it.gguf"
    config = GGUFExportConfig(path, dtype="f32", tokenizer="none", check="none")
    export_gguf(checkpoint("llama"), config)
    return path


def changed(exported: Path, path: Path, name: str, change: Any) -> Path:
    """A copy with other numbers in one tensor."""
    shutil.copyfile(exported, path)
    with open_gguf(path) as file:
        info, start = file.tensors[name], file.data_offset
    with GGUFReader(exported) as reader:
        values = np.array(reader.tensor(name), np.float32)
    with path.open("r+b") as file_:
        file_.seek(start + info.offset)
        file_.write(np.ascontiguousarray(change(values), np.float32).tobytes())
    return path


def test_a_model_that_runs_passes(exported: Path) -> None:
    check_run([exported])


def test_weights_that_are_no_numbers_do_not_pass(exported: Path, tmp_path: Path) -> None:
    path = changed(exported, tmp_path / "a.gguf", QUERY, lambda w: w * np.float32("nan"))
    with pytest.raises(ExportError, match="logits are not finite numbers"):
        check_run([path])


def test_a_file_that_llama_cpp_does_not_load_does_not_pass(exported: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.gguf"
    # A tensor of a name that llama.cpp does not know.
    path.write_bytes(exported.read_bytes().replace(QUERY.encode(), b"blk.0.attn_x.weight"))
    with pytest.raises(ExportError, match=r"^llama\.cpp does not load the file: .*\.$"):
        check_run([path])


def test_the_logits_are_those_of_transformers_and_a_wrong_order_is_found(
    exported: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = open_checkpoint(checkpoint("llama"))
    asked: list[Any] = []
    real = parity._by_transformers

    def once(*arguments: Any, **named: Any) -> Any:
        if not asked:
            asked.append(real(*arguments, **named))
        return asked[0]

    # torch takes its time, and says the same again.
    monkeypatch.setattr(parity, "_by_transformers", once)
    said = check_logits([exported], source)
    assert said.startswith("logits of transformers: ") and said.endswith(" on 48 tokens")
    assert float(said.split()[3]) < 1e-9
    path = changed(exported, tmp_path / "a.gguf", QUERY, lambda w: np.roll(w, 1, axis=0))
    with pytest.raises(ExportError, match=r"differ from transformers' by .* at the (beg|end)"):
        check_logits([path], source)


@pytest.mark.parametrize(
    ("values", "length"),
    [
        ({}, 48),
        ({"sliding_window": 100}, 117),
        ({"sliding_window": None}, 48),
        ({"rope_scaling": {"original_max_position_embeddings": 64}}, 81),
        ({"rope_parameters": {"full": {"original_max_position_embeddings": 90}}}, 107),
        ({"sliding_window": 4096}, 512),
    ],
)
def test_texts_go_beyond_windows_as_far_as_the_model_reads(
    values: dict[str, object], length: int
) -> None:
    assert parity._length(Config({"max_position_embeddings": 512, **values})) == length


@pytest.mark.parametrize(
    ("kind", "values", "length"),
    [("mistral", {"sliding_window": 40}, 40), ("llama", {"max_position_embeddings": 8}, 8)],
)
def test_no_text_is_longer_than_the_file_says_that_it_reads(
    tmp_path: Path, kind: str, values: dict[str, Any], length: int
) -> None:
    folder = make(tmp_path / "model", kind, **values)
    config = GGUFExportConfig(tmp_path / "it.gguf", tokenizer="none", check="full")
    done = export_gguf(folder, config)
    assert done.checked[-1].endswith(f" on {length} tokens")


def test_one_token_that_went_to_another_expert_is_rounding() -> None:
    expected = np.random.default_rng(0).standard_normal((48, 9)).astype(np.float32)
    one_off = expected.copy()
    one_off[3] = 9
    assert parity._difference(one_off, expected).error == 0
    end_off = expected.copy()
    end_off[16:] += 1
    assert parity._difference(end_off, expected).where == "end"
    assert parity._difference(end_off, expected).error > 0.1
    assert not parity._difference(expected * np.float32("nan"), expected).error <= 1e9


def test_without_transformers_the_next_step_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reference, "find_spec", lambda name: None)
    with pytest.raises(ExportError, match=r"install 'hubserve\[transformers\]', or use --check"):
        reference.run({}, lambda share: None)
