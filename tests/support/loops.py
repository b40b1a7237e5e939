"""A worker's loop without its process: requests in, events out, when all is said."""

from collections.abc import Callable, Sequence

from hubserve_engine.backends.base import Backend
from hubserve_engine.profiles import Profile
from hubserve_engine.prompt.template import ChatTemplate
from hubserve_engine.types import Completed, Delta, Event, Finished, Request, Sampling
from hubserve_engine.worker.generation import Generation
from hubserve_engine.worker.intake import Intake
from hubserve_engine.worker.keeper import Keeper
from hubserve_engine.worker.loop import Loop
from hubserve_engine.worker.protocol import Failed, Step

MAX_GAP = 0.2
MUCH = 1 << 30


def intake(
    backend: Backend, sampling: Sampling | None = None, *, profile: Profile | None = None
) -> Intake:
    loaded = backend.loaded
    template = ChatTemplate(
        loaded.chat_template or "", bos=loaded.bos, eos=loaded.eos, profile=profile
    )
    return Intake(
        backend,
        template,
        sampling=sampling or Sampling(),
        reasoning="auto",
        reasoning_budget=-1,
        reasoning_format="auto",
    )


class Bench:
    """One loop over one backend, emptied first. `steps` and `failures` are what it sent, each step
    by itself if they are not to be told `together`."""

    def __init__(
        self, backend: Backend, *, keeper: Keeper | None = None, together: float = 0.0
    ) -> None:
        for slot in range(backend.capabilities.slots):
            backend.remove(slot)
        self.intake = intake(backend)
        self.vocabulary = backend.loaded.vocabulary
        self.keeper = keeper or Keeper(backend, max_gap=MAX_GAP, kept=MUCH)
        self.loop = Loop(
            backend, self._send, max_gap=MAX_GAP, keeper=self.keeper, together=together
        )
        self.steps: list[Step] = []
        self.failures: list[Failed] = []
        self.on_step: Callable[[Step], None] = lambda _step: None
        self._left = 0
        self._ids = 0

    def _send(self, message: Step | Failed) -> None:
        if isinstance(message, Failed):
            self.failures.append(message)
            self._left -= 1
        else:
            self.steps.append(message)
            self.on_step(message)
            self._left -= sum(isinstance(item.event, Completed) for item in message.items)
        if not self._left:
            self.loop.stop()

    def submit(self, request: Request) -> int:
        """Prepare and hand over; a request is named by the number that comes back."""
        return self.take(self.prepare(request))

    def prepare(self, request: Request) -> Generation:
        self._ids += 1
        return self.intake.prepare(self._ids, request)

    def take(self, generation: Generation) -> int:
        self._left += 1
        self.loop.submit(generation)
        return generation.id

    def forget(self, id: int) -> None:
        """Cancel, and do not wait for its end."""
        self.loop.cancel(id)
        self._left -= 1

    def run(self) -> None:
        """Until all that was submitted and not cancelled is complete."""
        if not self._left:
            self.loop.stop()
        self.loop.run()

    def events(self, id: int) -> list[Event]:
        return [item.event for step in self.steps for item in step.items if item.id == id]


def serve(backend: Backend, requests: Sequence[Request]) -> list[list[Event]]:
    """All at once; the events of each."""
    bench = Bench(backend)
    ids = [bench.submit(request) for request in requests]
    bench.run()
    return [bench.events(id) for id in ids]


def text(events: Sequence[Event], index: int = 0) -> str:
    return "".join(e.text for e in events if isinstance(e, Delta) and e.index == index)


def finished(events: Sequence[Event], index: int = 0) -> Finished:
    (found,) = [e for e in events if isinstance(e, Finished) and e.index == index]
    return found


def completed(events: Sequence[Event]) -> Completed:
    (found,) = [e for e in events if isinstance(e, Completed)]
    assert events[-1] is found
    return found
