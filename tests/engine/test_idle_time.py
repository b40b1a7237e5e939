"""How long cores were idle, as Linux tells it."""

import sys
from pathlib import Path

import pytest

from hubserve_engine.idle_time import idle_time


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells")
def test_it_grows_and_counts_all_cores(tmp_path: Path) -> None:
    before, after = idle_time(), idle_time()
    assert before is not None and after is not None
    assert 0 < before <= after
    (tmp_path / "stat").write_text("cpu  1 2 3 400 100 6 7\ncpu0 1 2 3 200 50 6 7\n")
    assert idle_time(tmp_path / "stat") == 5.0


@pytest.mark.parametrize("text", ["", "intr 1 2 3 4 5\n", "cpu 1 2\n", "cpu a b c d e\n"])
def test_what_is_not_told_is_none(tmp_path: Path, text: str) -> None:
    assert idle_time(tmp_path / "missing") is None
    (tmp_path / "stat").write_text(text)
    assert idle_time(tmp_path / "stat") is None
