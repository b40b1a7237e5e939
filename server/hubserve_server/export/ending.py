"""The end of a command that writes large files."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event
from types import FrameType
from typing import NoReturn

_BY_OTHERS = ("SIGTERM", "SIGHUP")


@contextmanager
def cleared_up() -> Iterator[Event]:
    """Has SIGTERM, and a terminal that is closed, end the block as Ctrl-C does: what is half
    written goes away. The event is set then, for threads, which no signal reaches.

    Raises SystemExit with the code that shells have for the signal.
    """
    ended = Event()

    def end(number: int, frame: FrameType | None) -> NoReturn:
        ended.set()
        if number == signal.SIGINT:
            raise KeyboardInterrupt
        raise SystemExit(128 + number)

    numbers = [number for name in _BY_OTHERS if (number := getattr(signal, name, None))]
    # With nohup a closed terminal is to change nothing.
    before = {number: signal.getsignal(number) for number in (*numbers, signal.SIGINT)}
    ours = (signal.SIG_DFL, signal.default_int_handler)
    before = {number: handler for number, handler in before.items() if handler in ours}
    for number in before:
        signal.signal(number, end)
    try:
        yield ended
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
