"""The bar of work that is measured in bytes."""

import io
import re
import time

import pytest
from rich.console import Console
from tests.support.process import SAFETY

from hubserve_server.export import bar as module


def test_how_much_of_how_much_how_fast_and_what_comes_then(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    output = io.StringIO()
    console = Console(file=output, force_terminal=True, width=100)
    monkeypatch.setattr(module, "Console", lambda **_: console)

    def until(pattern: str) -> None:
        end = time.monotonic() + SAFETY
        while not re.search(pattern, re.sub(r"\x1b\[[?\d;]*[A-Za-z]", "", output.getvalue())):
            assert time.monotonic() < end, output.getvalue()
            time.sleep(0.01)

    with module.bar("Writing ", "Checking") as report:
        report(1 << 20, 8 << 20)
        until(r"Writing .* 1 MiB of 8 MiB")
        report(4 << 20, 8 << 20)
        until(r"Writing .* 4 MiB of 8 MiB, [\d.]+ [KMG]iB/s +\d:\d\d:\d\d")
        report(8 << 20, 8 << 20)
        report(8 << 20, 8 << 20)
        until(r"Checking ━+[^\d]*$")
    assert "8 MiB of 8 MiB" not in output.getvalue()


def test_nothing_is_drawn_where_nobody_watches(capsys: pytest.CaptureFixture[str]) -> None:
    with module.bar("Writing ", "Checking") as report:
        report(1, 2)
        report(2, 2)
    told = capsys.readouterr()
    assert told.out + told.err == ""
