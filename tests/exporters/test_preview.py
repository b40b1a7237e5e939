"""What would be written is what is written."""

from pathlib import Path
from typing import Any

import pytest
from tests.support.checkpoints import checkpoint

from hubserve_exporters import ExportError, GGUFExportConfig, export_gguf, preview_export


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"dtype": "q8_0"},
        {"dtype": "f16", "tokenizer": "none"},
        {"split_max_size": 200_000},
        {"vocab_only": True},
        {"vocab_only": True, "dtype": "q4_k_m"},
    ],
    ids=str,
)
def test_sizes_types_and_parts_are_those_of_the_files(
    options: dict[str, Any], tmp_path: Path
) -> None:
    config = GGUFExportConfig(tmp_path / "it.gguf", check="none", **options)
    seen = preview_export(checkpoint("llama"), config)
    assert not list(tmp_path.iterdir())
    done = export_gguf(checkpoint("llama"), config)
    assert (seen.size, seen.parts, seen.types) == (done.size, len(done.files), done.types)
    assert seen.warnings == done.warnings and seen.scheme is None


def test_what_llama_cpp_quantizes_is_seen_as_it_gets_it(tmp_path: Path) -> None:
    seen = preview_export(
        checkpoint("llama"), GGUFExportConfig(tmp_path / "it.gguf", dtype="Q4_K_M")
    )
    assert seen.scheme == "q4_k_m" and seen.types.keys() == {"F32"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dtype": "q9"}, "'q9' is not known"),
        ({"dtype": "iq1_s"}, "needs an importance matrix"),
        ({"dtype": "f16", "importance": Path("m.dat")}, "of no use for f16"),
    ],
)
def test_what_an_export_refuses_is_refused(
    options: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(ExportError, match=message):
        preview_export(checkpoint("llama"), GGUFExportConfig(tmp_path / "it.gguf", **options))
