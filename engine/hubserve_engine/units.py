"""Numbers as people read them."""

from hubserve_exporters.units import size_text

__all__ = ["counted", "size_text"]


def counted(number: int, noun: str) -> str:
    """A number of things: "1 file", "3 files"."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
