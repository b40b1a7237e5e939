"""The folder with the files of all models, which several processes may use at once.

A file is written under a name for the time being, and then gets its own. While it is written its
writer holds a lock on it, so that whoever finds one without knows that its writer is dead. It has
its whole size from the beginning: what is in the folder never takes more room than the limit.

Nothing is touched whose name does not look like one of ours: a user may name any folder.
"""

import errno
import os
import re
import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex

from hubserve_engine.config import CACHE_VARIABLE
from hubserve_engine.prefix_store.lock import abandoned, held, take

_FILE = re.compile(r"[0-9a-f]{32}-[0-9a-f]{32}\.prefix")
_PARTIAL = re.compile(r"[0-9a-f]{32}-[0-9a-f]{32}\.[0-9a-f]{16}\.partial")
_LOCK = "lock"


class CacheUnusable(Exception):
    """The folder cannot be used; the message is a sentence that says why."""


@dataclass(frozen=True, slots=True)
class Usage:
    """How many files there are, and how many bytes they take."""

    files: int
    size: int


@dataclass(frozen=True, slots=True)
class _Found:
    path: Path
    size: int
    used: int  # when, in nanoseconds


def default_folder() -> Path:
    """Where caches are kept on this system, if nobody says otherwise."""
    if named := os.environ.get(CACHE_VARIABLE):
        return Path(named)
    if named := os.environ.get("XDG_CACHE_HOME"):
        return Path(named) / "hubserve"
    home = Path(os.path.expanduser("~"))
    return home / ("Library/Caches" if sys.platform == "darwin" else ".cache") / "hubserve"


class Folder:
    """The folder `prefixes` in a cache's folder. Its methods may be called from any thread."""

    def __init__(self, cache: Path) -> None:
        self.path = cache / "prefixes"

    def open(self) -> None:
        """Make it, private to the user, and clear away what dead writers left.

        Raises CacheUnusable.
        """
        try:
            self._make()
            with held(self.path / _LOCK):
                self._partial()
        except OSError as error:
            raise CacheUnusable(f"{str(self.path)!r} cannot be used: {_reason(error)}.") from error

    def _make(self) -> None:
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = self.path.stat()
        if status.st_uid != os.geteuid():
            raise PermissionError(errno.EPERM, "it belongs to another user")
        if status.st_mode & 0o077:
            self.path.chmod(0o700)

    def usage(self) -> Usage:
        """Empty where there is no folder. Raises CacheUnusable."""
        try:
            found = self._scan(_FILE)
        except FileNotFoundError:
            return Usage(0, 0)
        except OSError as error:
            raise CacheUnusable(f"{str(self.path)!r} cannot be read: {_reason(error)}.") from error
        return Usage(len(found), sum(file.size for file in found))

    def clear(self) -> Usage:
        """Remove all files, also while servers use them; what was removed. Raises CacheUnusable."""
        if not self.path.exists():
            return Usage(0, 0)
        try:
            with held(self.path / _LOCK):
                found = self._scan(_FILE)
                # A server that is writing one finds it gone, and goes on without.
                for file in (*found, *self._scan(_PARTIAL)):
                    file.path.unlink(missing_ok=True)
        except OSError as error:
            raise CacheUnusable(
                f"{str(self.path)!r} cannot be cleared: {_reason(error)}."
            ) from error
        return Usage(len(found), sum(file.size for file in found))

    def names(self, start: str) -> list[str]:
        """The files whose names start like this. Raises OSError."""
        return [file.path.name for file in self._scan(_FILE) if file.path.name.startswith(start)]

    def touch(self, name: str) -> None:
        """Note that it was used now."""
        with suppress(OSError):
            os.utime(self.path / name)

    def remove(self, name: str) -> None:
        with suppress(OSError):
            (self.path / name).unlink()

    @contextmanager
    def writing(
        self, name: str, size: int, limit: int, expendable: Collection[str]
    ) -> Iterator[int | None]:
        """A descriptor for a new file, which gets its name after the block if that did not raise.

        To keep within `limit` bytes, others are removed: those in `expendable` first, then the ones
        that were not used for longest. None where even that is not enough. Raises OSError.
        """
        self._make()
        with held(self.path / _LOCK):
            if self._make_room(size, limit, expendable):
                partial = self.path / f"{Path(name).stem}.{token_hex(8)}.partial"
                descriptor = os.open(partial, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
                take(descriptor)
                try:
                    os.ftruncate(descriptor, size)
                except OSError:
                    partial.unlink(missing_ok=True)
                    os.close(descriptor)
                    raise
            else:
                descriptor = None
        if descriptor is None:
            yield None
            return
        try:
            yield descriptor
            partial.rename(self.path / name)
        except BaseException:
            partial.unlink(missing_ok=True)
            raise
        finally:
            os.close(descriptor)

    def _make_room(self, size: int, limit: int, expendable: Collection[str]) -> bool:
        room = limit - size - sum(file.size for file in self._partial())
        if room < 0:
            return False
        files = self._scan(_FILE)
        files.sort(key=lambda file: (file.path.name not in expendable, file.used))
        taken = sum(file.size for file in files)
        for file in files:
            if taken <= room:
                break
            file.path.unlink(missing_ok=True)
            taken -= file.size
        return True

    def _partial(self) -> list[_Found]:
        """Files that are being written. Those of dead writers are removed."""
        return [file for file in self._scan(_PARTIAL) if not abandoned(file.path)]

    def _scan(self, pattern: "re.Pattern[str]") -> list[_Found]:
        found = []
        with os.scandir(self.path) as entries:
            for entry in entries:
                with suppress(FileNotFoundError):
                    if pattern.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                        status = entry.stat(follow_symlinks=False)
                        path = self.path / entry.name
                        found.append(_Found(path, status.st_size, status.st_mtime_ns))
        return found


def _reason(error: OSError) -> str:
    text = error.strerror or str(error)
    return text[:1].lower() + text[1:]
