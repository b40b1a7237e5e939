"""What a backend is: a few verbs over numbered slots, each of which holds one sequence's state.

A step is `launch` (hand the work over) and `collect` (wait for it and sample), so that a backend on
a GPU can work while the loop prepares output. Only the thread that owns the backend may call it,
but for `longest_piece`, `tokenize`, `piece` and `sampler`, which any thread may call.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from hubserve_engine.choosing import Guide, Sampler
from hubserve_engine.model_info import Running
from hubserve_engine.types import Sampling, TokenLogprob


class NoRoom(Exception):
    """The state of this step does not fit. Nothing has changed; free something and try again."""


@dataclass(frozen=True, slots=True)
class BackendConfig:
    """How to load: files (a split model's parts in order), sizes in tokens.

    `parallel` sequences run at the same time; `spare` further slots are for what is kept. `drafts`
    are the guesses that a step may verify, of all sequences together; `snapshots` the earlier
    states that a recurrent model keeps of each sequence, so that guesses can be taken back.
    """

    files: tuple[str, ...]
    context_length: int
    parallel: int
    spare: int = 0
    drafts: int = 0
    snapshots: int = 0
    running: Running = field(default_factory=Running)


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What the state allows. Sizes are in tokens.

    `context_length` is shared by all slots, of which `parallel` may be in a step. `max_rows` is how
    often a step may sample, once for each sequence and once for each guess. `truncate`: a slot can
    be cut back to any shorter length. `restore_truncates`: so can one that `load` has filled; what
    is saved of a sliding window is no more than the window. `rollback`: of the tokens that a slot
    got in its last step so many can be cut off again, but never the first. `parts`: states can be
    saved in parts. Prompt chunks of at least `min_chunk` tokens give the same numbers however the
    prompt is cut, if that is at multiples of `chunk_multiple`. Each prompt token takes longer in
    steps that read fewer than `tile` of them. `threads` is the most that can be of use.
    """

    context_length: int
    slots: int
    parallel: int
    max_batch: int
    max_rows: int
    truncate: bool
    restore_truncates: bool
    rollback: int
    parts: bool = False
    min_chunk: int = 1
    chunk_multiple: int = 1
    tile: int = 1
    threads: int = 1


@dataclass(frozen=True, slots=True)
class Loaded:
    """What a backend knows of the model that it has loaded. `special_tokens` are their texts."""

    architecture: str
    parameters: int
    vocabulary: int
    embedding_length: int
    context_trained: int
    hardware: str
    chat_template: str | None
    bos: str
    eos: str
    special_tokens: frozenset[str]
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Chunk:
    """Tokens to append to a slot; `position` is the slot's length before them.

    With a `sampler`, a token is sampled after the last one, with `logprobs` alternatives (None: no
    probabilities at all). The last `drafts` tokens are guesses: the sampler chooses after the last
    token that is known, and as long as its choice is the guess that follows, after that one too.
    It chooses among what the `guide` allows, which accepts each token that was chosen. Where one
    token alone is allowed, that is taken, and no random number with it.
    """

    slot: int
    tokens: Sequence[int]
    position: int
    sampler: Sampler | None = None
    logprobs: int | None = None
    drafts: int = 0
    guide: Guide | None = None


@dataclass(frozen=True, slots=True)
class Sampled:
    """A token that a chunk's sampler chose. `broken`: it had to choose where no token that may come
    has a finite logit, so the token means nothing."""

    token: int
    logprob: TokenLogprob | None = None
    broken: bool = False


class Backend(Protocol):
    """One loaded model. Slots are 0 to `capabilities.slots` - 1, and empty at first."""

    @property
    def capabilities(self) -> Capabilities: ...

    @property
    def loaded(self) -> Loaded: ...

    @property
    def state_key(self) -> str:
        """Beside the weights, all that must be equal for a saved state to be right here."""
        ...

    @property
    def end_tokens(self) -> frozenset[int]:
        """Tokens that end an answer."""
        ...

    @property
    def longest_piece(self) -> int:
        """Bytes of a text that one token stands for, at most. To find out may take a moment."""
        ...

    def tokenize(self, text: str, *, add_special: bool, parse_special: bool) -> list[int]:
        """`add_special` puts the model's own first and last tokens around the text;
        `parse_special` reads special tokens' texts as those tokens."""
        ...

    def piece(self, token: int, *, special: bool = False) -> bytes:
        """The bytes of a token; those of control tokens are empty unless `special`."""
        ...

    def sampler(self, sampling: Sampling, prompt: Sequence[int]) -> Sampler:
        """A new sampling state. Penalties see the end of `prompt`."""
        ...

    def use_threads(self, count: int) -> None:
        """Compute the steps from now on with `count` CPU threads, from 1 to `threads` of the
        capabilities. What is computed is the same."""
        ...

    def launch(self, chunks: Sequence[Chunk]) -> None:
        """Begin a step over at most `max_batch` tokens and `max_rows` samples. Raises NoRoom."""
        ...

    def collect(self) -> list[list[Sampled]]:
        """End the step: the tokens sampled for each chunk that has a sampler, in their order.

        There is one more than there were right guesses, but none after a token that ends an answer,
        or with which the guide is done.
        The slot holds all guesses, so `truncate` has to take the wrong ones back.
        """
        ...

    def truncate(self, slot: int, length: int) -> bool:
        """Cut a slot back, as `truncate` and `rollback` of the capabilities allow. False: this
        state cannot be cut there, and nothing has changed."""
        ...

    def mark(self, slot: int) -> bool:
        """Note a slot's present length: the slot, and copies of it, can be cut back to that later,
        though its state has no past. False: not possible."""
        ...

    def fork(self, source: int, target: int) -> bool:
        """Make an empty slot a copy of another as it stands, sharing what it can. False: not
        possible."""
        ...

    def remove(self, slot: int) -> None:
        """Empty a slot."""
        ...

    def state_size(self, slot: int) -> int:
        """How many bytes `save` would give; 0 for an empty slot."""
        ...

    def save(self, slot: int) -> memoryview | None:
        """A slot's whole state, which stays as it is; between steps only.

        The bytes are the backend's until the next `save`, which overwrites them: copy what is to be
        kept. None: the slot is empty, or there is no memory for a copy.
        """
        ...

    def save_part(self, slot: int, first: int, last: int) -> memoryview | None:
        """As `save`, of the tokens from `first` up to `last`, without that. States of one part
        after the other, put together, are the state of them all. None: there is no memory for it,
        or the capabilities say that it cannot be done."""
        ...

    def load(self, slot: int, state: bytes | memoryview) -> bool:
        """Put a saved state into an empty slot, which then goes on as the saved one would have.

        False: there is no room, or these bytes are no state for a context such as this; the slot is
        empty then, and the others are as they were. A state of other weights with the same shapes
        is not recognised, nor are numbers in it that have changed.
        """
        ...

    def close(self) -> None: ...


def verify(
    chunk: Chunk, end_tokens: frozenset[int], sample: Callable[[int], Sampled]
) -> list[Sampled]:
    """What a backend's `collect` returns for a chunk; `sample` chooses after the last known token
    for 0, and after the guess with that number, from 1 on, for others."""
    sampled = [sample(0)]
    for row, guess in enumerate(chunk.tokens[len(chunk.tokens) - chunk.drafts :], 1):
        token = sampled[-1].token
        if token != guess or token in end_tokens or sampled[-1].broken:
            break
        if chunk.guide is not None and chunk.guide.done:
            break
        sampled.append(sample(row))
    return sampled


Progress = Callable[[float], None]
"""Called while a model loads, with the part that is done, from 0 to 1."""
