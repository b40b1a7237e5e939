"""Text -> segments of thinking and answer, by the tags of the model's family.

The rules, which hold for any cutting into chunks:

- Thinking stands at the start of the answer: after at most `_LEAD` characters of white space, or
  straight after another block of thinking. Elsewhere an opening tag is content, since an answer may
  speak about tags; with `anywhere` it counts there too, which suits tags that are control tokens.
- Thinking ends at the first closing tag. Where that never comes, all of it is thinking.
- Newlines around the tags belong to the tags: a block has none at its ends, and what follows a
  closing tag has none at its start. Spaces stay: templates put the text back as it was.
- A tag that repeats what the prompt's end already said (opening where thinking is open, closing
  where it is closed) is dropped at the start. All else is passed on.
"""

from typing import Literal

from hubserve_engine.stop import partial_suffix
from hubserve_engine.types import Channel

_LEAD = 64
_State = Literal["start", "thinking_start", "thinking", "content_start", "content"]
Segment = tuple[Channel, str]


class ChannelSplitter:
    """Splits the text of one sequence. `tags` None makes all of it content."""

    def __init__(
        self, tags: tuple[str, str] | None, *, thinking_open: bool, anywhere: bool = False
    ) -> None:
        self._open, self._close = tags or ("", "")
        self._anywhere = anywhere and tags is not None
        self._state: _State = "content"
        if tags is not None:
            self._state = "thinking_start" if thinking_open else "start"
        self._buffer = ""
        self._newlines = 0
        self._blocks = 0
        self._out: list[Segment] = []

    @property
    def channel(self) -> Channel:
        """The channel on which the next character comes, as far as is known."""
        return "reasoning" if self._state in ("thinking_start", "thinking") else "content"

    def feed(self, text: str) -> list[Segment]:
        """The segments that are certain now; neighbours are on different channels."""
        self._buffer += text
        while self._buffer and self._step():
            pass
        return self._take()

    def finish(self) -> list[Segment]:
        """What was held back: a tag that never became whole is text of the channel it is in."""
        if self._state in ("thinking_start", "thinking"):
            self._think(self._buffer)
        else:
            self._emit("content", self._buffer)
        self._buffer = ""
        return self._take()

    def _step(self) -> bool:
        """Works on the buffer; False where it has to wait for more text."""
        match self._state:
            case "start":
                return self._at_start()
            case "thinking_start":
                return self._at_thinking_start()
            case "thinking":
                return self._in_thinking()
            case "content_start":
                return self._at_content_start()
            case "content":
                return self._in_content()

    def _at_start(self) -> bool:
        text = self._buffer.lstrip()
        lead = len(self._buffer) - len(text)
        if lead <= _LEAD:
            if text.startswith(self._open):
                return self._go("thinking_start", text[len(self._open) :])
            if text.startswith(self._close):
                return self._go("content_start", text[len(self._close) :])
            if self._open.startswith(text) or self._close.startswith(text):
                return False
        return self._go("content", self._buffer)

    def _at_thinking_start(self) -> bool:
        text = self._buffer.lstrip("\n")
        if text.startswith(self._open):
            return self._go("thinking_start", text[len(self._open) :])
        if self._open.startswith(text):
            self._buffer = text
            return False
        return self._go("thinking", text)

    def _in_thinking(self) -> bool:
        at = self._buffer.find(self._close)
        if at != -1:
            self._think(self._buffer[:at])
            self._newlines = 0
            self._blocks += 1
            return self._go("content_start", self._buffer[at + len(self._close) :])
        safe = len(self._buffer) - partial_suffix(self._buffer, (self._close,))
        self._think(self._buffer[:safe])
        self._buffer = self._buffer[safe:]
        return False

    def _at_content_start(self) -> bool:
        text = self._buffer.lstrip("\n")
        if text.startswith(self._open):
            return self._go("thinking_start", text[len(self._open) :])
        if self._open.startswith(text):
            self._buffer = text
            return False
        return self._go("content", text)

    def _in_content(self) -> bool:
        if self._anywhere:
            at = self._buffer.find(self._open)
            if at != -1:
                self._emit("content", self._buffer[:at])
                return self._go("thinking_start", self._buffer[at + len(self._open) :])
            safe = len(self._buffer) - partial_suffix(self._buffer, (self._open,))
        else:
            safe = len(self._buffer)
        self._emit("content", self._buffer[:safe])
        self._buffer = self._buffer[safe:]
        return False

    def _go(self, state: _State, rest: str) -> bool:
        self._state = state
        self._buffer = rest
        return True

    def _think(self, text: str) -> None:
        """Emits thinking, but for newlines at its end: they may stand before the closing tag."""
        body = text.rstrip("\n")
        if body:
            self._emit("reasoning", "\n" * self._newlines + body)
            self._newlines = 0
        self._newlines += len(text) - len(body)

    def _emit(self, channel: Channel, text: str) -> None:
        if not text:
            return
        if self._out and self._out[-1][0] == channel:
            self._out[-1] = (channel, self._out[-1][1] + text)
        else:
            self._out.append((channel, text))

    def _take(self) -> list[Segment]:
        out, self._out = self._out, []
        return out
