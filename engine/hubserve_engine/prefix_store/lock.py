"""Locks on files, which end with the process that holds them, however it ends."""

import errno
import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_PATIENCE = 5.0  # seconds


def take(descriptor: int) -> bool:
    """Lock an open file until it is closed; False if someone else has."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def share(descriptor: int) -> None:
    """Lock an open file together with others, until it is closed; `take` then fails for everyone.

    Raises OSError, also if someone else has taken it.
    """
    fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)


@contextmanager
def held(path: Path) -> Iterator[None]:
    """Hold the lock of this file, made if need be. Raises OSError, also if others keep it long."""
    descriptor = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
    try:
        end = time.monotonic() + _PATIENCE
        while not take(descriptor):
            if time.monotonic() > end:
                raise TimeoutError(errno.ETIMEDOUT, "another process holds its lock")
            time.sleep(0.01)
        yield
    finally:
        os.close(descriptor)


def abandoned(path: Path) -> bool:
    """Whether nobody holds the lock of this file; it is removed then."""
    try:
        descriptor = os.open(path, os.O_RDWR)
    except FileNotFoundError:
        return True
    try:
        if not take(descriptor):
            return False
        path.unlink(missing_ok=True)
        return True
    finally:
        os.close(descriptor)
