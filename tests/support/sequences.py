"""Sequences that need no model, for tests of what orders them."""

from collections.abc import Iterable

from hubserve_engine.channels import ChannelSplitter
from hubserve_engine.sequence import Sequence
from hubserve_engine.transcript import Transcript


class NoSampler:
    """Chooses nothing; knows whether it was closed."""

    closed = False

    def accept(self, token: int) -> None:
        pass

    def close(self) -> None:
        self.closed = True


def sequence(
    prompt: list[int],
    *,
    arrival: int = 0,
    limit: int = 1 << 20,
    reuse: bool = True,
    pauses: Iterable[int] = (),
) -> Sequence:
    return Sequence(
        prompt,
        arrival=arrival,
        sampler=NoSampler(),
        transcript=Transcript(0, ChannelSplitter(None, thinking_open=False), ()),
        limit=limit,
        reuse=reuse,
        pauses=pauses,
    )
