"""A position in bytes that nobody vouches for."""

from array import array
from struct import Struct, error
from typing import Any

from .errors import GGUFError

_U32 = Struct("<I")
_U64 = Struct("<Q")


class Cursor:
    """Reads little-endian values one after another, and never past the end.

    It sees the first `limit` bytes of the view and no more. Every method raises GGUFError, with
    the position, where the bytes run out; none copies what it passes.
    """

    __slots__ = ("_end", "_limited", "_view", "position")

    def __init__(self, view: memoryview, position: int, limit: int) -> None:
        self.position = position
        self._view = view[:limit]
        self._end = len(self._view)
        self._limited = len(view) > limit

    def take(self, size: int) -> memoryview:
        """The next `size` bytes."""
        start = self._advance(size)
        return self._view[start : self.position]

    def unpack(self, layout: Struct) -> tuple[Any, ...]:
        """The next values, in this layout."""
        return layout.unpack_from(self._view, self._advance(layout.size))

    def u32(self) -> int:
        """The next four bytes as an unsigned integer."""
        value: int = _U32.unpack_from(self._view, self._advance(4))[0]
        return value

    def u64(self) -> int:
        """The next eight bytes as an unsigned integer."""
        value: int = _U64.unpack_from(self._view, self._advance(8))[0]
        return value

    def name(self, what: str, longest: int, encoding: str) -> str:
        """The next string, 1 to `longest` bytes behind their number; `what` is for errors."""
        size = self.u64()
        if not 0 < size <= longest:
            raise GGUFError(f"{what} is 1 to {longest} bytes long, this one {size}")
        try:
            return str(self.take(size), encoding)
        except UnicodeDecodeError:
            raise GGUFError(f"{what} is {encoding}, this one is not") from None

    def take_strings(self, count: int) -> tuple[memoryview, "array[int]"]:
        """The next `count` strings, each behind its length in eight bytes.

        Returns the view of all the bytes, and the `count + 1` positions in it where a length
        stands or the last string ends. One position a string is all that is kept: a vocabulary
        has hundreds of thousands of them.
        """
        view, end, position, unpack = self._view, self._end, self.position, _U64.unpack_from
        positions = array("Q", (position,))
        keep = positions.append
        try:
            for _ in range(count):
                position += 8 + unpack(view, position)[0]
                if position > end:
                    raise self._ran_out(position)
                keep(position)
        except error:
            raise self._ran_out(position + 8) from None
        self.position = position
        return view, positions

    def require(self, size: int) -> None:
        """Raises unless `size` more bytes are there."""
        if size > self._end - self.position:
            raise self._ran_out(self.position + size)

    def _advance(self, size: int) -> int:
        start = self.position
        if size > self._end - start:
            raise self._ran_out(start + size)
        self.position = start + size
        return start

    def _ran_out(self, wanted: int) -> GGUFError:
        if self._limited:
            return GGUFError(
                f"the part before the tensors goes on to byte {wanted}; at most {self._end} "
                "bytes of it are read"
            )
        return GGUFError(
            f"the file ends at byte {self._end}, but it goes on to byte {wanted} by its own "
            "account: it is damaged, or was not downloaded to the end"
        )
