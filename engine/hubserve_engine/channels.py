"""Text -> segments of thinking and answer, by the tags of the model's family.

The rules, which hold for any cutting into chunks:

- Thinking stands at the start of the answer: after at most `_LEAD` characters of white space, or
  straight after another block of thinking; and in the same way after one of the `calls`, which end
  a tool call. Elsewhere an opening tag is content, since an answer may speak about tags; with
  `anywhere` it counts there too, which suits tags that are control tokens.
- Thinking ends at the first closing tag. Where that never comes, all of it is thinking.
- Newlines around the tags belong to the tags: a block has none at its ends, and what follows a
  closing tag has none at its start. Spaces stay: templates put the text back as it was. Two blocks
  are one newline apart.
- A tag that repeats what is so already (opening where thinking has just begun, closing where the
  answer begins) is dropped. So are `marks`, which frame an answer. All else is passed on.
"""

from typing import Literal

from hubserve_engine.stop import partial_suffix
from hubserve_engine.types import Channel

_LEAD = 64
_State = Literal["start", "thinking_start", "thinking", "content_start", "content"]
Segment = tuple[Channel, str]


class ChannelSplitter:
    """Splits the text of one sequence. `tags` None makes all of it content.

    `thinking_open`: the prompt ended inside an open tag. `anywhere` and `marks` are a profile's,
    and `calls` what stands at the end of a call in the model's format. `begun` is what the prompt's
    end has of a mark: as if it came first.
    """

    def __init__(
        self,
        tags: tuple[str, str] | None,
        *,
        thinking_open: bool,
        anywhere: bool = False,
        marks: tuple[str, ...] = (),
        calls: tuple[str, ...] = (),
        begun: str = "",
    ) -> None:
        self._state: _State = "content"
        self._open = self._close = ""
        self._in_content = marks
        if tags is not None:
            self._open, self._close = tags
            self._state = "thinking_start" if thinking_open else "start"
            self._in_content = (*marks, *calls, self._open) if anywhere else (*marks, *calls)
        self._marks = marks
        self._calls = calls
        self._buffer = self._begun = begun
        self._newlines = 0
        self._thought = False
        self._out: list[Segment] = []

    @property
    def channel(self) -> Channel:
        """The channel on which the next character comes, as far as is known."""
        return "reasoning" if self._state in ("thinking_start", "thinking") else "content"

    @property
    def held(self) -> int:
        """How many of the last characters are kept back, their channel not being certain."""
        return len(self._buffer)

    def feed(self, text: str) -> list[Segment]:
        """The segments that are certain now; neighbours are on different channels."""
        self._buffer += text
        while self._buffer and self._step():
            pass
        return self._take()

    def finish(self) -> list[Segment]:
        """What was held back: a tag that never became whole is text of the channel it is in, but
        for one that the model did not begin."""
        if self._begun:
            self._buffer = ""
        if self.channel == "reasoning":
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
                self._buffer = self._buffer.lstrip("\n")
                return self._at_tag(self._buffer, (self._open,), "thinking")
            case "thinking":
                return self._thinking()
            case "content_start":
                self._buffer = self._buffer.lstrip("\n")
                return self._at_tag(self._buffer, (self._open, *self._marks), "content")
            case "content":
                return self._content()

    def _at_start(self) -> bool:
        tags = (self._open, self._close, *self._marks)
        text = self._buffer
        if not text.startswith(tags):
            text = text.lstrip()
        if len(self._buffer) - len(text) > _LEAD:
            return self._go("content", self._buffer)
        return self._at_tag(text, tags, "content")

    def _at_tag(self, text: str, tags: tuple[str, ...], otherwise: _State) -> bool:
        """Takes a tag off the start of `text`; leaves for `otherwise` where there can be none."""
        for tag in tags:
            if text.startswith(tag):
                next_state: _State = "thinking_start" if tag == self._open else "content_start"
                return self._go(next_state, text[len(tag) :])
        if any(tag.startswith((text, self._buffer)) for tag in tags):
            return False
        return self._go(otherwise, self._buffer)

    def _thinking(self) -> bool:
        at = self._buffer.find(self._close)
        if at != -1:
            self._think(self._buffer[:at])
            return self._go("content_start", self._buffer[at + len(self._close) :])
        safe = len(self._buffer) - partial_suffix(self._buffer, (self._close,))
        self._think(self._buffer[:safe])
        self._buffer = self._buffer[safe:]
        return False

    def _content(self) -> bool:
        tags = self._in_content
        found = [(at, -len(tag), tag) for tag in tags if (at := self._buffer.find(tag)) != -1]
        if found:
            at, _, tag = min(found)
            end = at + len(tag)
            if tag in self._calls:
                self._emit("content", self._buffer[:end])
                return self._go("start", self._buffer[end:])
            self._emit("content", self._buffer[:at])
            next_state: _State = "thinking_start" if tag == self._open else "content"
            return self._go(next_state, self._buffer[end:])
        safe = len(self._buffer) - partial_suffix(self._buffer, tags)
        self._emit("content", self._buffer[:safe])
        self._buffer = self._buffer[safe:]
        return False

    def _go(self, state: _State, rest: str) -> bool:
        if state == "thinking_start":
            self._newlines = 1 if self._thought else 0
        self._state = state
        self._buffer = rest
        self._begun = ""
        return True

    def _think(self, text: str) -> None:
        """Emits thinking, but for newlines at its end: they may stand before the closing tag."""
        body = text.rstrip("\n")
        if body:
            self._emit("reasoning", "\n" * self._newlines + body)
            self._newlines = 0
            self._thought = True
        self._newlines += len(text) - len(body)

    def _emit(self, channel: Channel, text: str) -> None:
        if not text:
            return
        self._begun = ""
        if self._out and self._out[-1][0] == channel:
            self._out[-1] = (channel, self._out[-1][1] + text)
        else:
            self._out.append((channel, text))

    def _take(self) -> list[Segment]:
        out, self._out = self._out, []
        return out
