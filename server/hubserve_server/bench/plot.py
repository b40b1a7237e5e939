"""The picture of a comparison: for each figure how many times better one server is."""

import io
import sys
from importlib.util import find_spec
from pathlib import Path
from textwrap import fill

from hubserve_server.bench.report import Measured, Report, number
from hubserve_server.bench.summary import Spread
from hubserve_server.client.errors import CommandError
from hubserve_server.client.files import write

BETTER, WORSE, EVEN = "#1a7f5a", "#b3432b", "#6b7280"
LABEL = 52
"""Letters of a label in one line."""

TIE = 0.02
"""Medians as near to 1 as this are drawn as even."""


def check() -> None:
    """Raises `CommandError` where there is nothing to draw with."""
    if find_spec("matplotlib") is None:
        raise CommandError(
            f"--plot needs matplotlib; this installs it: {sys.executable} -m pip install matplotlib"
        )


def advantage(measured: Measured) -> Spread | None:
    """How many times better the first server is: the ratio, or its inverse where less is better."""
    ratio = measured.ratio
    if ratio is None or measured.better == "higher":
        return ratio
    return Spread(1 / ratio.median, 1 / ratio.high, 1 / ratio.low)


def draw(report: Report, path: Path) -> None:
    """A PNG with a row for each figure that has a ratio: a dot at the median, a line from the
    lowest to the highest, on a scale where half and twice are equally far from 1."""
    # The picture alone is wanted: pyplot would look for a window system.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    rows = [(each, ratio) for each in report.figures if (ratio := advantage(each))]
    if not rows:
        raise CommandError("There is nothing to draw: no scenario was measured at both servers.")
    first, second = (server.label for server in report.servers)
    figure = Figure(figsize=(10, 1.6 + 0.38 * len(rows)), dpi=160, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    axes.set_xscale("log", base=2)
    for place, (each, ratio) in enumerate(rows):
        colour = EVEN if abs(ratio.median - 1) < TIE else BETTER if ratio.median > 1 else WORSE
        reach = [[ratio.median - ratio.low], [ratio.high - ratio.median]]
        axes.errorbar(
            ratio.median, place, xerr=reach, fmt="o", color=colour, markersize=5, capsize=4, lw=1.5
        )
        ours, theirs = (number(spread.median) for spread in each.servers if spread)
        axes.annotate(
            f"{number(ratio.median)}x   {ours} / {theirs} {each.unit}",
            (1.02, place),
            xycoords=("axes fraction", "data"),
            va="center",
            fontsize=9,
            color=colour,
        )
    axes.axvline(1, color="#111827", lw=1)
    labels = [fill(f"{each.title}: {each.figure}", LABEL) for each, _ in rows]
    axes.set_yticks(range(len(rows)), labels)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    least = min(0.5, *(ratio.low for _, ratio in rows))
    most = max(2.0, *(ratio.high for _, ratio in rows))
    axes.set_xlim(least / 1.15, most * 1.15)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}x")
    axes.set_xlabel(f"how many times better {first} is (log scale; line: lowest to highest run)")
    figure.suptitle(f"{first} against {second}, {report.date}", fontsize=11)
    axes.grid(axis="x", color="#e5e7eb")
    axes.set_axisbelow(True)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.tick_params(axis="y", length=0, labelsize=9)
    picture = io.BytesIO()
    figure.savefig(picture, format="png")
    write(path, picture.getvalue())
