"""What is asked of an export, as a script writes it."""

from pathlib import Path
from typing import Any

import pytest
from tests.support.checkpoints import checkpoint

from hubserve_exporters import ExportError, GGUFExportConfig, GGUFReader, export_gguf


def test_paths_may_be_texts(tmp_path: Path) -> None:
    values: dict[str, Any] = {"out_path": str(tmp_path / "it.gguf"), "check": "none"}
    export_gguf(str(checkpoint("llama")), GGUFExportConfig(**values))
    with GGUFReader(str(tmp_path / "it.gguf")) as reader:
        assert reader.tensor("output_norm.weight").shape == (64,)
    values |= {"dtype": "q4_k_m", "importance": "m.dat"}
    assert GGUFExportConfig(**values).importance == Path("m.dat")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"out_path": "it"}, r"it has to end in \.gguf"),
        ({"check": "slow"}, "check='slow' is not known; none, fast, full are"),
        ({"tokenizer": "bpe"}, "tokenizer='bpe' is not known; auto, none are"),
        ({"split_max_size": 0}, "split_max_size=0 leaves room for nothing; None is one file"),
    ],
)
def test_what_nothing_can_be_is_said_at_once(options: dict[str, Any], said: str) -> None:
    values: dict[str, Any] = {"out_path": "it.gguf", **options}
    with pytest.raises(ExportError, match=said):
        GGUFExportConfig(**values)
