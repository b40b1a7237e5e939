"""Requests while they are written: sampled tokens in, events out, and the end of each."""

from collections.abc import Callable

from hubserve_engine.backends.base import Backend, Sampled
from hubserve_engine.choosing import Guide
from hubserve_engine.errors import EngineError
from hubserve_engine.scheduler import Scheduler, Work
from hubserve_engine.sequence import Sequence
from hubserve_engine.types import Delta, Finished, FinishReason, TokenLogprob
from hubserve_engine.worker.failures import failure
from hubserve_engine.worker.generation import Generation
from hubserve_engine.worker.protocol import Failed, Item, Step

_NO_TOKEN = (
    "The model gave no token a finite probability. Its file may be damaged, or the 'logit_bias' of"
    " this request may forbid all of its tokens, or all that its constraint allows."
)
TOGETHER = 0.025
"""Seconds. Nobody reads forty pieces in a second, and each takes the server and the client, which
wake up for it, a part of the time of a small model's step."""


class Answers:
    """For the thread that steps. `preserved` are control tokens whose text is to be seen. Text of
    steps within `together` seconds is told together."""

    def __init__(
        self,
        backend: Backend,
        scheduler: Scheduler,
        send: Callable[[Step | Failed], None],
        *,
        preserved: frozenset[int],
        together: float,
    ) -> None:
        self._backend = backend
        self._scheduler = scheduler
        self._send = send
        self._preserved = preserved
        self._together = together
        self._generations: dict[int, Generation] = {}
        self._owners: dict[Sequence, Generation] = {}
        self._events: list[Item] = []
        # Where the last text of each choice is in them, by its request's number and its own.
        self._growing: dict[tuple[int, int], int] = {}
        self._pressing = False  # whether something in them is not to wait
        self._told = 0.0

    def __contains__(self, sequence: Sequence) -> bool:
        """Whether it is not over yet."""
        return sequence in self._owners

    def owner(self, sequence: Sequence) -> Generation:
        return self._owners[sequence]

    def start(self, generation: Generation) -> None:
        """Its choices wait for their turn."""
        self._generations[generation.id] = generation
        for sequence in generation.choices:
            self._owners[sequence] = generation
            self._scheduler.add(sequence)

    def drop(self, id: int) -> None:
        """Nobody waits for it any more; one that is unknown or over is left alone."""
        generation = self._generations.pop(id, None)
        for sequence in generation.choices if generation else ():
            if sequence.finish_reason is None:
                self._end(sequence)

    def send(self) -> None:
        """Tell what steps have brought, if they have brought anything."""
        if self._events:
            self._send(Step(self._events))
            self._events = []
            self._growing.clear()
            self._pressing = False

    def send_soon(self, now: float) -> None:
        """The same, but text that is not a choice's first may wait for the steps after this one."""
        if self._pressing or now - self._told >= self._together:
            self.send()
            self._told = now

    def write(self, work: Work, sampled: list[Sampled], now: float) -> None:
        """Take what was sampled, up to a token that ends the choice; the slot is cut back there."""
        sequence = work.sequence
        if any(each.broken for each in sampled):
            self._fail(self._owners[sequence])
            return
        sequence.forced = 0
        right, reason = 0, self._accept(sequence, sampled[0].token, now, sampled[0].logprob)
        for each in sampled[1:]:
            if reason is not None:
                break
            right += 1
            sequence.cached += 1
            reason = self._accept(sequence, each.token, now, each.logprob)
        if work.drafts:
            self._owners[sequence].guessed(len(work.drafts), right)
        if right < len(work.drafts):
            self._take_back(sequence)
        if reason is None:
            reason = self._follow(sequence, now)
        if reason == "length" and sequence.guide is not None and sequence.guide.done:
            reason = _end_of(sequence.guide)  # it is complete all the same
        if reason is not None:
            self.finish(sequence, reason)

    def _follow(self, sequence: Sequence, now: float) -> FinishReason | None:
        """Write what must come next in a choice, or end it if that is nothing.

        Where probabilities are wanted the model is asked for each token, though it has no choice.
        """
        guide = sequence.guide
        if guide is None:
            return None
        wanted = self._owners[sequence].request.logprobs is not None
        for token in () if wanted and sequence.uncached else guide.forced():
            guide.accept(token)
            sequence.sampler.accept(token)
            sequence.forced += 1
            reason = self._accept(sequence, token, now)
            if reason is not None:
                return reason
        return _end_of(guide) if guide.done else None

    def _take_back(self, sequence: Sequence) -> None:
        """Cut its slot back to the tokens that are its own."""
        assert sequence.slot is not None
        if not self._backend.truncate(sequence.slot, sequence.cached):
            self._backend.remove(sequence.slot)
            sequence.hold(0)  # it is read again

    def _accept(
        self, sequence: Sequence, token: int, now: float, logprob: TokenLogprob | None = None
    ) -> FinishReason | None:
        """One more token of a choice; why it is the last one, if it is."""
        generation, transcript = self._owners[sequence], sequence.transcript
        generation.sampled(now)
        self._pressing = self._pressing or transcript.completion_tokens == 0
        if token in self._backend.end_tokens and sequence.guide and sequence.guide.forced():
            return None  # it goes on otherwise
        sequence.tokens.append(token)
        if token in self._backend.end_tokens:
            transcript.end()
            return "stop"
        piece = self._backend.piece(token, special=token in self._preserved)
        self._tell(generation, transcript.feed(piece, logprob))
        if transcript.stop is not None or len(sequence.tokens) >= sequence.limit:
            return "length"
        return None

    def _tell(self, generation: Generation, deltas: list[Delta]) -> None:
        for delta in deltas:
            place = self._growing.get((generation.id, delta.index))
            last = None if place is None else self._events[place].delta
            if place is None or last is None or last.channel != delta.channel:
                self._growing[generation.id, delta.index] = len(self._events)
                self._events.append(Item.of(generation.id, delta))
            else:
                self._events[place] = Item.of(generation.id, last.followed_by(delta))

    def finish(self, sequence: Sequence, reason: FinishReason) -> None:
        """A choice is complete, and perhaps its request. A stop string is the better reason."""
        generation, transcript = self._owners[sequence], sequence.transcript
        self._tell(generation, transcript.finish())
        if transcript.stop is not None:
            reason = "stop"
        finished = Finished(
            generation.choices.index(sequence),
            reason,
            transcript.completion_tokens,
            transcript.reasoning_tokens,
            transcript.stop,
            closed=reason == "length" and sequence.guide is not None and sequence.guide.done,
        )
        sequence.finish_reason = reason
        self._pressing = True
        self._events.append(Item.of(generation.id, finished))
        self._end(sequence)
        if generation.done:
            del self._generations[generation.id]
            self._events.append(Item.of(generation.id, generation.completed()))

    def _fail(self, generation: Generation) -> None:
        """A request ends with an error, and nothing is kept of what broke it."""
        self.send()
        del self._generations[generation.id]
        for sequence in generation.choices:
            if sequence.finish_reason is None:
                self._end(sequence, keep=False)
        guides = [sequence.guide for sequence in generation.choices if sequence.guide is not None]
        reason = next((guide.error for guide in guides if guide.error is not None), _NO_TOKEN)
        self._send(failure(generation.id, EngineError(reason)))

    def _end(self, sequence: Sequence, *, keep: bool = True) -> None:
        slot = self._scheduler.finish(sequence, keep=keep and sequence.reuse)
        if slot is not None:
            self._backend.remove(slot)
        del self._owners[sequence]
        sequence.sampler.close()


def _end_of(guide: Guide) -> FinishReason:
    """Why an answer ends that is whole."""
    return "length" if guide.closed else "stop"
