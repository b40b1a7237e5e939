"""The table, the JSON and the picture of a comparison."""

import io
from pathlib import Path
from typing import Literal

import msgspec
import pytest
from rich.console import Console

from hubserve_server.bench import plot
from hubserve_server.bench.report import Measured, Report, number, show
from hubserve_server.bench.summary import Spread, ratios, spread
from hubserve_server.client.errors import CommandError
from hubserve_server.client.files import write_json
from hubserve_server.client.machine import this_machine
from hubserve_server.client.servers import Server

Better = Literal["higher", "lower"]


def measured(
    figure: str,
    better: Literal["higher", "lower"],
    ours: tuple[float, ...],
    theirs: tuple[float, ...],
) -> Measured:
    assert better in ("higher", "lower")
    return Measured(
        scenario="shared",
        title="8 streams",
        figure=figure,
        unit="tok/s",
        better=better,
        runs=(ours, theirs),
        servers=(spread(ours), spread(theirs) if theirs else None),
        ratio=ratios(ours, theirs) if theirs else None,
    )


@pytest.fixture
def report() -> Report:
    return Report(
        date="2026-11-30 05:00 UTC",
        seed="1",
        machine=this_machine(),
        servers=(
            Server("ours", "ours -m x", "x.gguf", "ours-1"),
            Server("theirs", "http://theirs/v1", "y", "theirs-2"),
        ),
        figures=(
            measured("rate", "higher", (79.0, 80.0, 60.0), (29.0, 20.0, 30.0)),
            measured("first", "lower", (4.0, 4.0, 5.0), (20.0, 16.0, 10.0)),
            measured("ready", "lower", (1.0,), ()),
        ),
        notes=("A note.",),
    )


def test_the_table(report: Report) -> None:
    text = io.StringIO()
    show(Console(file=text, width=120), report)
    lines = text.getvalue().splitlines()
    rate = next(line for line in lines if "rate" in line)
    assert "79.0 (60.0-80.0)" in rate and "29.0 (20.0-30.0)" in rate
    assert "2.72 (2.00-4.00)" in rate
    assert sum("8 streams" in line for line in lines) == 1
    ready = next(line for line in lines if "ready" in line)
    assert ready.split()[-3:] == ["↓", "1.00", "(1.00-1.00)"]
    assert "ours: ours-1, x.gguf" in lines and "A note." in lines


def test_json_and_back(report: Report, tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    write_json(path, report)
    assert msgspec.json.decode(path.read_bytes(), type=Report) == report
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.01234, "0.012"), (0.999, "1.00"), (1.234, "1.23"), (9.996, "10.0"), (1234.5, "1234")],
)
def test_numbers_have_the_digits_that_count(value: float, text: str) -> None:
    assert number(value) == text


def test_an_advantage_is_above_one_where_less_is_better(report: Report) -> None:
    found = [plot.advantage(each) for each in report.figures]
    assert found[0] == report.figures[0].ratio
    assert found[1] == Spread(4, 2, 5)
    assert found[2] is None


def test_the_picture(report: Report, tmp_path: Path) -> None:
    path = tmp_path / "picture.png"
    plot.draw(report, path)
    assert path.read_bytes().startswith(b"\x89PNG")
    assert list(tmp_path.iterdir()) == [path]


def test_a_picture_of_nothing(report: Report, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="nothing to draw"):
        plot.draw(
            Report(report.date, "", report.machine, report.servers, report.figures[2:]),
            tmp_path / "x.png",
        )
