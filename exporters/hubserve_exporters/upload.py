"""A file on its way to the Hub, which can be stopped on it. Imports huggingface_hub."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import BinaryIO

from huggingface_hub import CommitOperationAdd

from hubserve_exporters.errors import ExportError


class Upload(CommitOperationAdd):
    """The library sends large files from threads, which an interrupt does not reach.

    `ended` is asked before each piece is read; if it is so, reading raises ExportError.
    """

    def __init__(self, name: str, content: str | bytes, ended: Callable[[], bool]) -> None:
        super().__init__(name, content)
        self._ended = ended

    @contextmanager
    def as_file(self, with_tqdm: bool = False) -> Iterator[BinaryIO]:
        with super().as_file(with_tqdm) as file:
            read = file.read

            def read_on(size: int = -1, /) -> bytes:
                if self._ended():
                    raise ExportError(f"Sending {self.path_in_repo} was ended.")
                return read(size)

            # As the library does it for its bars.
            file.read = read_on  # type: ignore[method-assign]
            yield file
