"""A number in the header of a GGUF file, changed where it stands."""

import struct
from pathlib import Path

from .cursor import Cursor
from .errors import GGUFError
from .reader import MAX_HEADER_BYTES
from .values import UINT32, ValueReader

_COUNT_OF_KEYS = 16
"""Where it stands, from the beginning of the file."""


def set_uint32(path: Path, key: str, value: int) -> None:
    """Gives a key of 32 bits another value; nothing else in the file is touched.

    Raises GGUFError where the file has no such key, or one of another type, and OSError.
    """
    with path.open("r+b") as file:
        file.seek(_position(file.read(MAX_HEADER_BYTES), key))
        file.write(struct.pack("<I", value))


def _position(header: bytes, wanted: str) -> int:
    cursor = Cursor(memoryview(header), _COUNT_OF_KEYS, len(header))
    reader = ValueReader(cursor)
    for _ in range(cursor.u64()):
        key = bytes(cursor.take(cursor.u64()))
        start = cursor.position
        if key == wanted.encode():
            reader.read(UINT32)
            return start + 4
        reader.read()
    raise GGUFError(f"there is no key {wanted!r}")
