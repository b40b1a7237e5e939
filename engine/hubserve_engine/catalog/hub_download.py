"""Downloads that go on where they stopped, in the same run or in a later one.

huggingface_hub 2 throws away what it has of a file when a run ends, or when a connection is reset;
that is hours of somebody's evening. So large files are fetched with its HTTP function into a
partial file beside the cache's blobs, and it finds them there once they are whole and checked.
"""

import logging
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from hashlib import file_digest
from pathlib import Path

from filelock import FileLock, Timeout

from hubserve_engine.catalog.hub_errors import is_network
from hubserve_engine.errors import ResolveError

Report = Callable[[str], None]
"""Takes a sentence on what is being done."""

_FRUITLESS = 2
"""So many attempts that bring nothing are the end."""
_PAUSE = 1.0
_NOTHING_BEYOND = 416
"""The status that says that the file ends where it was to be gone on with."""


def download(
    url: str,
    blob: Path,
    *,
    lock: Path,
    headers: Mapping[str, str],
    name: str,
    size: int,
    sha256: str,
    report: Report,
) -> None:
    """Fetches a file of `size` bytes to `blob`, which is there only when it is right.

    One process at a time has the `lock`; the others wait, and find the blob. Raises ResolveError
    where the file is another than was announced, which is then deleted, and whatever
    huggingface_hub, its HTTP client and the disk raise.
    """
    blob.parent.mkdir(parents=True, exist_ok=True)
    lock.parent.mkdir(parents=True, exist_ok=True)
    with _alone(lock, name, report):
        if blob.exists():
            return
        partial = partial_of(blob)
        _fetch(url, partial, headers, name, size, report)
        report(f"Checking {name}")
        _check(partial, name, size, sha256)
        os.replace(partial, blob)


def partial_of(blob: Path) -> Path:
    """Where the beginning of a blob is kept."""
    return blob.with_name(f"{blob.name}.incomplete")


@contextmanager
def _alone(lock: Path, name: str, report: Report) -> Iterator[None]:
    held = FileLock(lock)
    try:
        held.acquire(blocking=False)
    except Timeout:
        report(f"Waiting for another process that downloads {name}")
        held.acquire()
    try:
        yield
    finally:
        held.release()


def _fetch(
    url: str, partial: Path, headers: Mapping[str, str], name: str, size: int, report: Report
) -> None:
    from huggingface_hub.errors import HfHubHTTPError
    from huggingface_hub.file_download import http_get

    fruitless = 0
    while True:
        with partial.open("ab") as content:
            done = content.tell()
            if done >= size:
                return
            try:
                with _quiet_library():
                    http_get(
                        url,
                        content,
                        resume_size=done,
                        headers=dict(headers),
                        displayed_filename=name,
                    )
                return
            except HfHubHTTPError as error:
                if error.response.status_code == _NOTHING_BEYOND:
                    return
                raise
            except Exception as error:
                fruitless = 0 if content.tell() > done else fruitless + 1
                if not is_network(error) or fruitless == _FRUITLESS:
                    raise
        report(f"The connection was lost; going on with {name}")
        time.sleep(_PAUSE)


@contextmanager
def _quiet_library() -> Iterator[None]:
    """Keeps the library's lines on a stalled connection out of its progress bar.

    The bar shows that it stalls, and what comes of it we say.
    """
    logger = logging.getLogger("huggingface_hub.file_download")
    logger.addFilter(_nothing)
    try:
        yield
    finally:
        logger.removeFilter(_nothing)


def _nothing(record: logging.LogRecord) -> bool:
    return False


def _check(partial: Path, name: str, size: int, sha256: str) -> None:
    with partial.open("rb") as content:
        found = file_digest(content, "sha256").hexdigest()
    there = partial.stat().st_size
    if there == size and found == sha256:
        return
    partial.unlink()
    fault = (
        f"{there} bytes, not the {size} that were announced"
        if there != size
        else f"its SHA-256 is {found[:12]}…, not {sha256[:12]}…"
    )
    raise ResolveError(
        f"{name!r} arrived damaged ({fault}) and was deleted: run the command again to download it"
        " anew.",
        param="model",
    )
