"""The exports on disk. One is a folder with a file and, once that is whole, a note on it.

The note comes last and goes first: a folder without one is not finished, or not wanted any more,
and whoever comes next clears it away, unless its lock says that somebody is at work there. Whoever
serves a file holds a lock on the file itself, with others: it is not cleared away meanwhile.
"""

import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from hubserve_engine.prefix_store.lock import share, take
from hubserve_exporters.gguf.errors import GGUFError
from hubserve_exporters.gguf.reader import open_gguf

_KEY = re.compile(r"[0-9a-f]{32}")
_NOTE = "export.json"
_CLAIM = "claim"


@dataclass(frozen=True, slots=True)
class Export:
    """`id` is the checkpoint's name, `dtype` what it was exported to; `size` is in bytes.

    `notices` are what there was to say of it when it was made.
    """

    key: str
    id: str
    dtype: str
    file: str
    size: int
    notices: tuple[str, ...] = ()


class ExportStore:
    """The folder `exports` in a cache's folder, which several processes may use at once."""

    def __init__(self, cache: Path) -> None:
        self.path = cache / "exports"

    def find(self, key: str) -> Export | None:
        """The export, if it is whole: of the size that it had, and readable. Notes the use of it.

        Raises OSError.
        """
        export = self._read(key)
        if export is None:
            return None
        path = self.file(export)
        try:
            if path.stat().st_size != export.size:
                return None
            open_gguf(path).close()
        except (FileNotFoundError, GGUFError):
            return None
        os.utime(self._note(key))
        return export

    def file(self, export: Export) -> Path:
        """Where it is."""
        return self.path / export.key / export.file

    def hold(self, export: Export) -> None:
        """Keeps it from being shrunk away until this process ends. Call it within `alone`.

        Raises OSError if it is not there.
        """
        descriptor = os.open(self.file(export), os.O_RDONLY)
        # Where a file system has no such locks all is as if nobody used it.
        with suppress(OSError):
            share(descriptor)

    @contextmanager
    def alone(self, key: str, waiting: Callable[[], None]) -> Iterator[None]:
        """While one process makes an export, others that want it wait; `waiting` is told so.

        Raises OSError.
        """
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = FileLock(self._lock(key))
        try:
            lock.acquire(timeout=0)
        except Timeout:
            waiting()
            lock.acquire()
        try:
            yield
        finally:
            lock.release()

    @contextmanager
    def deciding(self) -> Iterator[None]:
        """While one process sees what room there is and claims it, others wait. Raises OSError."""
        with FileLock(self.path / "room.lock"):
            yield

    def claim(self, key: str, size: int) -> None:
        """Says how many bytes will be in the folder of an export that is made. Raises OSError."""
        (self.path / key / _CLAIM).write_text(str(size))

    def claims(self, but: str) -> list[tuple[int, int]]:
        """Of each other export that is made now: the bytes that it will take, and those that it
        has taken. What dead processes left is removed. Raises OSError."""
        self.sweep()
        keys = (key for key in self._keys() if key != but and self._read(key) is None)
        return [_claimed(self.path / key) for key in keys]

    def add(self, export: Export) -> None:
        """Declares what is in its folder whole. Raises OSError."""
        (self.path / export.key / _CLAIM).unlink(missing_ok=True)
        partial = self._note(export.key).with_suffix(".partial")
        with partial.open("w", encoding="utf-8") as file:
            json.dump(asdict(export), file)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(self._note(export.key))

    def all(self) -> list[tuple[Export, float]]:
        """Every export with the time of its last use, the latest first. Raises OSError."""
        found = []
        for key in self._keys():
            if export := self._read(key):
                with suppress(FileNotFoundError):
                    found.append((export, self._note(key).stat().st_mtime))
        return sorted(found, key=lambda entry: entry[1], reverse=True)

    def remove(self, key: str) -> None:
        """A server that runs it goes on, as long as its worker lives. Raises OSError."""
        self._note(key).unlink(missing_ok=True)
        shutil.rmtree(self.path / key, ignore_errors=True)

    def shrink(self, limit: int, keep: str) -> None:
        """Removes what was not used for longest, until all take at most `limit` bytes, and what
        was never finished. `keep` stays, and whatever is in use. Raises OSError."""
        self.sweep()
        left = limit
        for export, _ in self.all():
            left -= export.size
            if left < 0 and export.key != keep and self.expel(export):
                left += export.size

    def expel(self, export: Export) -> bool:
        """Removes it, unless somebody uses it or is about to. Raises OSError."""
        try:
            with FileLock(self._lock(export.key), timeout=0):
                if self._in_use(export):
                    return False
                self.remove(export.key)
                return True
        except Timeout:
            return False

    def is_idle(self, export: Export) -> bool:
        """Whether nobody uses it or is about to. Raises OSError."""
        try:
            # Not even a look may be in the way of whoever is about to hold it.
            with FileLock(self._lock(export.key), timeout=0):
                return not self._in_use(export)
        except Timeout:
            return False

    def _in_use(self, export: Export) -> bool:
        try:
            descriptor = os.open(self.file(export), os.O_RDWR)
        except OSError:
            return False
        try:
            return not take(descriptor)
        except OSError:
            return False
        finally:
            os.close(descriptor)

    def sweep(self) -> None:
        """Removes what dead processes left. Raises OSError."""
        for key in self._keys():
            if self._read(key) is not None:
                continue
            with suppress(Timeout), FileLock(self._lock(key), timeout=0):
                if self._read(key) is None:
                    shutil.rmtree(self.path / key, ignore_errors=True)

    def _keys(self) -> list[str]:
        if not self.path.is_dir():
            return []
        return [entry.name for entry in self.path.iterdir() if _KEY.fullmatch(entry.name)]

    def _read(self, key: str) -> Export | None:
        try:
            fields: dict[str, Any] = json.loads(self._note(key).read_text("utf-8"))
            fields["notices"] = tuple(fields["notices"])
            export = Export(**fields)
        except FileNotFoundError:
            return None
        except (ValueError, TypeError, KeyError):
            return None
        # The note is in the user's own folder, but a path out of it is never meant.
        return export if export.key == key and export.file == Path(export.file).name else None

    def _note(self, key: str) -> Path:
        return self.path / key / _NOTE

    def _lock(self, key: str) -> Path:
        return self.path / f"{key}.lock"


def _claimed(folder: Path) -> tuple[int, int]:
    written = 0
    for path in folder.rglob("*"):
        with suppress(FileNotFoundError):
            written += path.stat().st_size
    try:
        size = int((folder / _CLAIM).read_text())
    except (FileNotFoundError, ValueError):
        size = 0
    return max(size, written), written
