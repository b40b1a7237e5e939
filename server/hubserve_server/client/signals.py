"""The end of a command that has started servers."""

import asyncio
import signal
from contextlib import suppress


def cancel_on_sigterm() -> None:
    """Let SIGTERM cancel the present task, as Ctrl-C does: no server that it started is left."""
    task = asyncio.current_task()
    assert task
    with suppress(NotImplementedError):
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
