"""The end of a command that writes large files."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

_BY_OTHERS = ("SIGTERM", "SIGHUP")


@contextmanager
def cleared_up() -> Iterator[None]:
    """Has SIGTERM, and a terminal that is closed, end the block as Ctrl-C does: what is half
    written goes away. Raises SystemExit with the code that shells have for the signal."""
    numbers = [number for name in _BY_OTHERS if (number := getattr(signal, name, None))]
    # With nohup a closed terminal is to change nothing.
    numbers = [number for number in numbers if signal.getsignal(number) == signal.SIG_DFL]
    for number in numbers:
        signal.signal(number, _end)
    try:
        yield
    finally:
        for number in numbers:
            signal.signal(number, signal.SIG_DFL)


def _end(number: int, _: FrameType | None) -> NoReturn:
    raise SystemExit(128 + number)
