"""Bytes of tokens -> text, at the borders of UTF-8 characters."""

import codecs


class Detokenizer:
    """Incremental UTF-8 for one sequence; a character split over tokens comes out once it is whole.

    Bytes that can be no character become U+FFFD, as `bytes.decode(errors="replace")` has it,
    however the bytes are cut into pieces.
    """

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")

    def feed(self, piece: bytes) -> str:
        """The characters that `piece` completes; bytes of a character still open are kept."""
        return self._decoder.decode(piece)

    @property
    def torn(self) -> bool:
        """Whether the last piece ended inside a character."""
        return bool(self._decoder.getstate()[0])

    def finish(self) -> str:
        """What is left at the end of the sequence: U+FFFD where a character was never completed."""
        return self._decoder.decode(b"", final=True)
