"""What the terminal shows of a file: how much of it is of which type, and what was checked."""

from collections.abc import Iterator, Mapping, Sequence

from hubserve_engine.units import counted, size_text

_BAR = 24
_LONGEST = 2000


def histogram(types: Mapping[str, tuple[int, int]]) -> Iterator[str]:
    """A line for each type, with its tensors and bytes; `types` has the largest share first."""
    total = sum(size for _, size in types.values()) or 1
    for name, (count, size) in types.items():
        bar = "█" * max(1, round(_BAR * size / total))
        yield f"  {name:<8}{counted(count, 'tensor'):>14}{size_text(size):>12}  {bar}"


def notes(checked: Sequence[str], warnings: Sequence[str]) -> Iterator[str]:
    """What was looked at, and what a user has to know."""
    if checked:
        yield f"  Checked: {', '.join(checked)}"
    for warning in warnings:
        yield f"  Note: {printable(warning, _LONGEST)}"


def printable(text: str, longest: int) -> str:
    """As much of a text as fits, whatever it was meant to do to a terminal."""
    shown = "".join(c if c.isprintable() else "·" for c in text[: longest + 1])
    return shown if len(shown) <= longest else f"{shown[:longest]}…"
