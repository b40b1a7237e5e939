"""The tokens of one choice -> the deltas that a client sees.

Bytes become text at UTF-8 borders, text is split into thinking and answer, and stop strings cut the
answer. Each of the three may hold something back; log probabilities wait with their text.
"""

from dataclasses import replace

from hubserve_engine.channels import ChannelSplitter, Segment
from hubserve_engine.detokenize import Detokenizer
from hubserve_engine.stop import StopMatcher
from hubserve_engine.token_spans import TokenSpans
from hubserve_engine.types import Delta, TokenLogprob


class Transcript:
    """Counts tokens as it goes: `completion_tokens` in all, `reasoning_tokens` of them thinking."""

    def __init__(self, index: int, splitter: ChannelSplitter, stops: tuple[str, ...]) -> None:
        self._index = index
        self._detokenizer = Detokenizer()
        self._splitter = splitter
        self._stop = StopMatcher(stops)
        self._spans = TokenSpans()
        self._spans.add(splitter.held, None)  # what the prompt began
        self._sent = 0  # characters of content
        self.completion_tokens = 0
        self.reasoning_tokens = 0

    @property
    def stop(self) -> str | None:
        """The stop string that was found."""
        return self._stop.matched

    def feed(self, piece: bytes, logprob: TokenLogprob | None = None) -> list[Delta]:
        """What can be sent after one more token."""
        thinking = self._splitter.channel == "reasoning"
        text = self._detokenizer.feed(piece)
        segments = self._splitter.feed(text)
        self.completion_tokens += 1
        # A token that closes the thinking is the last one of it.
        self.reasoning_tokens += thinking or self._splitter.channel == "reasoning"
        self._spans.add(len(text), logprob, torn=self._detokenizer.torn)
        self._spans.place(segments, self._splitter.held)
        return self._with_logprobs(self._deltas(segments))

    def end(self) -> None:
        """Count the token that ends the answer, which has no text."""
        self.completion_tokens += 1

    def finish(self) -> list[Delta]:
        """All that was held back, at the end of the sequence."""
        tail = self._detokenizer.finish()
        segments = [*self._splitter.feed(tail), *self._splitter.finish()]
        self._spans.add(len(tail), None)
        self._spans.place(segments, 0, at_end=True)
        deltas = self._deltas(segments)
        if rest := self._stop.finish():
            deltas = _joined([*deltas, Delta(self._index, "content", rest)])
            self._sent += len(rest)
        return self._with_logprobs(deltas, at_end=True)

    def _deltas(self, segments: list[Segment]) -> list[Delta]:
        deltas = []
        for channel, text in segments:
            if self._stop.matched is not None:
                break
            if channel == "content":
                text = self._stop.feed(text)
                self._sent += len(text)
            if text:
                deltas.append(Delta(self._index, channel, text))
        return deltas

    def _with_logprobs(self, deltas: list[Delta], *, at_end: bool = False) -> list[Delta]:
        at_end = at_end or self._stop.matched is not None
        ready = self._spans.take(self._sent, at_end=at_end)
        if not ready:
            return deltas
        if not deltas or deltas[-1].channel != "content":
            deltas = [*deltas, Delta(self._index, "content", "")]
        return [*deltas[:-1], replace(deltas[-1], logprobs=ready)]


def _joined(deltas: list[Delta]) -> list[Delta]:
    """The last two as one, if they are on one channel."""
    if len(deltas) < 2 or deltas[-2].channel != deltas[-1].channel:
        return deltas
    return [*deltas[:-2], deltas[-2].followed_by(deltas[-1])]
