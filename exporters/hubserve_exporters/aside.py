"""A place for what is not ready yet."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from hubserve_exporters.errors import ExportError, unwritable


@contextmanager
def aside(path: Path) -> Iterator[Path]:
    """An empty folder beside the path; it goes away, whatever happens, and so do the folders above
    it that were made for it and that nothing is in.

    Raises ExportError if another process writes there now, or if nothing can be written.
    """
    folder = path.with_name(f"{path.name}.partial")
    try:
        made = [parent for parent in folder.parents if not parent.exists()]
        folder.mkdir(parents=True, exist_ok=True)
        try:
            with FileLock(folder / "lock", timeout=0) as lock:
                _clear(folder, Path(lock.lock_file))
                try:
                    yield folder
                finally:
                    shutil.rmtree(folder, ignore_errors=True)
        finally:
            for parent in made:
                with suppress(OSError):
                    parent.rmdir()
    except Timeout:
        raise ExportError(f"Another process writes {path}; wait for it to end.") from None
    except OSError as error:
        raise unwritable(path, error) from error


def _clear(folder: Path, lock: Path) -> None:
    """Removes what a process that was killed left there. Raises OSError."""
    for left in folder.iterdir():
        if left.is_dir() and not left.is_symlink():
            shutil.rmtree(left)
        elif left != lock:
            left.unlink()
