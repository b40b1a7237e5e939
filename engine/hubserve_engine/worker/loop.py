"""The steps: what a worker's main thread does, for as long as the worker lives.

A step carries out what came in, gives slots to those that wait, lets the backend read and write,
and tells the server what there is to tell in one message, which short steps share. Nothing here
waits for the server.
"""

import gc
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from queue import Empty, SimpleQueue

from hubserve_engine.backends.base import Backend, Chunk, NoRoom, Sampled
from hubserve_engine.crew import Crew
from hubserve_engine.drafting import Drafter
from hubserve_engine.pace import Pace
from hubserve_engine.prefix_cache import Holding
from hubserve_engine.scheduler import Admission, Evicted, Scheduler, Work
from hubserve_engine.sequence import Sequence
from hubserve_engine.worker.answers import TOGETHER, Answers
from hubserve_engine.worker.generation import Generation
from hubserve_engine.worker.keeper import Keeper
from hubserve_engine.worker.protocol import Failed, Step


@dataclass(slots=True)
class Clock:
    """How many steps there were, and how long they took together, in seconds."""

    steps: int = 0
    busy: float = 0.0


@dataclass(frozen=True, slots=True)
class _Stop:
    error: BaseException | None


class Loop:
    """`submit`, `cancel` and `stop` may be called from any thread, the rest from one.

    `send` is given each step's message, and failures. A prompt that is read beside streams holds
    them up for about `max_gap` seconds at most. `preserved` are control tokens whose text is
    to be seen, such as thinking tags. Text of steps within `together` seconds is told together.
    """

    def __init__(
        self,
        backend: Backend,
        send: Callable[[Step | Failed], None],
        *,
        max_gap: float,
        keeper: Keeper,
        preserved: frozenset[int] = frozenset(),
        together: float = TOGETHER,
    ) -> None:
        capabilities = backend.capabilities
        self._backend = backend
        self._pace = Pace(beside=max_gap, tile=capabilities.tile)
        self._keeper = keeper
        self._crew = Crew(capabilities.threads)
        self._drafter = Drafter(capabilities)
        self._scheduler = Scheduler(
            parallel=capabilities.parallel,
            capacity=capabilities.context_length,
            max_batch=capabilities.max_batch,
            min_chunk=capabilities.min_chunk,
            multiple=capabilities.chunk_multiple,
            cache=self._keeper.cache,
        )
        self._answers = Answers(
            backend, self._scheduler, send, preserved=preserved, together=together
        )
        self._inbox: SimpleQueue[Generation | int | _Stop] = SimpleQueue()
        self._launched = 0.0
        self.clock = Clock()

    def submit(self, generation: Generation) -> None:
        self._inbox.put(generation)

    def cancel(self, id: int) -> None:
        """Drop a request at the next step; one that is unknown or over is left alone."""
        self._inbox.put(id)

    def stop(self, error: BaseException | None = None) -> None:
        """Let `run` return, or raise the error."""
        self._inbox.put(_Stop(error))

    def run(self) -> None:
        """Step until `stop`."""
        # What is there now stays: the garbage collector need not walk over it between steps.
        gc.freeze()
        gc.enable()
        while self._receive():
            began = time.perf_counter()
            self.step()
            self.clock.steps += 1
            self.clock.busy += time.perf_counter() - began

    def _receive(self) -> bool:
        """Take in what has come; wait for something when there is nothing to do."""
        while True:
            try:
                message = self._inbox.get_nowait()
            except Empty:
                if not self._scheduler.idle:
                    return True
                if self._keeper.tidy():
                    continue
                message = self._inbox.get()
            if isinstance(message, _Stop):
                if message.error is not None:
                    raise message.error
                return False
            if isinstance(message, int):
                self._answers.drop(message)
            else:
                self._answers.start(message)

    def step(self) -> None:
        """One step, and its message."""
        for admission in self._scheduler.admit(self._is_ready):
            self._admit(admission)
        works = self._launch()
        if works:
            sampled = self._backend.collect()
            now = time.perf_counter()
            self._observe(works, now - self._launched)
            self._advance(works, sampled, now)
            self._answers.send_soon(now)
        else:
            self._answers.send()
        self._keeper.save(beside=not self._scheduler.idle)

    def _is_ready(self, source: Holding) -> bool:
        return self._keeper.ready(source, beside=self._writing)

    def _admit(self, admission: Admission) -> None:
        sequence, slot, source = admission.sequence, admission.slot, admission.source
        self._answers.send()  # what was written is not to wait for a prompt
        self._answers.owner(sequence).began(time.perf_counter())
        if admission.evicted is not None:
            self._keeper.rescue(admission.evicted, beside=self._writing)
        # What is fetched is to lie where others lay, so they leave first, but not what is copied.
        copied = source is not None and source.tier == "kept" and source.slot != slot
        if not copied:
            self._keeper.clear(beside=self._writing)
        if source is None or source.slot != slot:
            self._backend.remove(slot)
        elif 2 * admission.reused < source.length:
            # Asked again for an early answer; the conversation that went on from it may go on.
            self._keeper.rescue(source, beside=self._writing)
        if source is not None and self._fill(slot, source, admission.reused):
            sequence.hold(admission.reused, source.tier, source.marks, self._floor(source))
        else:
            self._backend.remove(slot)
            sequence.hold(0)
        if copied:
            self._keeper.clear(beside=self._writing)

    def _fill(self, slot: int, source: Holding, length: int) -> bool:
        """Have the first `length` tokens of a holding in a slot, which is its own or empty."""
        whole = source.length
        if source.slot is None:
            there = self._keeper.restore(source, slot, self._evict)
        else:
            there = source.slot == slot or self._backend.fork(source.slot, slot)
        return there and (length == whole or self._backend.truncate(slot, length))

    def _floor(self, source: Holding) -> int:
        """The least length that a slot with this state can be cut back to."""
        restored = source.slot is None and not self._backend.capabilities.restore_truncates
        return source.length if restored else source.floor

    def _launch(self) -> list[Work]:
        """Start a step that fits, making room as long as it does not."""
        guessing = True
        while True:
            works = self._scheduler.plan(self._pace.budget(writing=self._writing))
            if not works:
                return works
            if guessing and all(work.sequence.uncached == 1 for work in works):
                works = self._with_guesses(works)
            if any(not work.sequence.writes for work in works):
                self._answers.send()
            chunks = [self._chunk(work) for work in works]
            self._launched = time.perf_counter()
            try:
                self._backend.launch(chunks)
            except NoRoom:
                if any(work.drafts for work in works):
                    guessing = False  # nobody gives way to what is only guessed
                    continue
                evicted = self._scheduler.make_room()
                if evicted is None:
                    (sequence,) = self._scheduler.running
                    self._answers.finish(sequence, "length")
                    return []
                self._empty(evicted)
                continue
            return works

    @property
    def _writing(self) -> bool:
        """Whether a stream runs that would be held up."""
        return any(s.writes for s in self._scheduler.running)

    def _evict(self) -> bool:
        """Give up a kept prefix; False if there is none."""
        evicted = self._scheduler.evict()
        if evicted is not None:
            self._empty(evicted)
        return evicted is not None

    def _empty(self, evicted: Evicted) -> None:
        if evicted.holding is not None:
            self._keeper.rescue(evicted.holding, beside=self._writing)
        self._backend.remove(evicted.slot)

    def _with_guesses(self, works: list[Work]) -> list[Work]:
        drafts = self._drafter.choose([work.sequence for work in works])
        return [replace(w, drafts=d) if d else w for w, d in zip(works, drafts, strict=True)]

    def _chunk(self, work: Work) -> Chunk:
        sequence = work.sequence
        assert sequence.slot is not None
        return Chunk(
            sequence.slot,
            [*sequence.next_tokens(work.count), *work.drafts],
            sequence.cached,
            sequence.sampler if work.last else None,
            self._answers.owner(sequence).request.logprobs,
            len(work.drafts),
            sequence.guide,
        )

    def _observe(self, works: list[Work], seconds: float) -> None:
        read = sum(work.count for work in works if not work.sequence.writes)
        self._pace.observe(read, seconds)
        tokens = sum(work.count + len(work.drafts) for work in works)
        self._backend.use_threads(self._crew.observe(tokens, seconds))
        if all(work.count == 1 for work in works):
            drafts = sum(len(work.drafts) for work in works)
            self._drafter.cost.observe(len(works) + drafts, seconds, guessed=drafts > 0)

    def _advance(self, works: list[Work], sampled: list[list[Sampled]], now: float) -> None:
        results = iter(sampled)
        for work in works:
            sequence = work.sequence
            written = next(results) if work.last else None
            if sequence not in self._answers:
                continue  # another choice has ended its request
            sequence.cached += work.count
            if sequence.cached in sequence.pauses:
                self._mark(sequence)
            if written is not None:
                if len(sequence.tokens) == sequence.prompt_length:
                    others = (s for s in self._scheduler.running if s is not sequence)
                    self._keeper.note(sequence, beside=any(s.writes for s in others))
                self._answers.write(work, written, now)

    def _mark(self, sequence: Sequence) -> None:
        """Let the slot be cut back to where it is now, if that needs anything at all."""
        assert sequence.slot is not None
        if self._backend.capabilities.truncate or self._backend.mark(sequence.slot):
            sequence.mark()
            self._keeper.marked(sequence, beside=self._writing)
