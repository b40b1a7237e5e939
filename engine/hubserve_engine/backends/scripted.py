"""A backend that says what a script tells it: for tests and demonstrations, without weights.

Its model file is JSON (`Script`). A token is a byte, or one of a few special texts, so every
character beyond ASCII is split over tokens. It checks what a real backend trusts: that positions
follow each other, that slots are not mixed up, that a step is not too large.
"""

import os
import random
import re
import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Literal

import msgspec

from hubserve_engine.backends.base import (
    BackendConfig,
    Capabilities,
    Chunk,
    Loaded,
    NoRoom,
    Progress,
    Sampled,
    verify,
)
from hubserve_engine.backends.scripted_slot import Kind, Slot
from hubserve_engine.choosing import Guide, Sampler
from hubserve_engine.errors import LoadError
from hubserve_engine.types import Sampling, TokenLogprob, TokenProbability

_SPECIAL = ("<|im_start|>", "<|im_end|>", "<think>", "</think>")
_SPECIAL_TEXT = re.compile(f"({'|'.join(map(re.escape, _SPECIAL))})")
_END = 256 + _SPECIAL.index("<|im_end|>")
_VOCABULARY = 256 + len(_SPECIAL)
_LETTERS = b"abcdefghijklmnopqrstuvwxyz "
_TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n"
    "{% if m.reasoning_content %}<think>\n{{ m.reasoning_content }}\n</think>\n{% endif %}"
    "{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n"
    "{% if enable_thinking is defined and not enable_thinking %}<think>\n\n</think>\n\n{% endif %}"
    "{% endif %}"
)


class Rule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """For prompts that hold `when`: write `say`, then end, go on for ever, or die.

    `letters` adds that many random letters, by the request's seed, or always the same ones at
    temperature 0. `seconds` is how long a step takes in which this rule reads or writes, times the
    number of its tokens.
    """

    when: str = ""
    say: str = ""
    letters: int = 0
    then: Literal["end", "repeat", "die"] = "end"
    seconds: float = 0.0


class Script(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The first rule that fits counts; without one, the end of the prompt is repeated.

    `recurrent` and `window` say how slots can be cut back, see `scripted_slot.Kind`.
    """

    rules: tuple[Rule, ...] = ()
    template: str = _TEMPLATE
    context: int | None = None
    recurrent: bool = False
    window: int = 0
    load_seconds: float = 0.0
    load_error: str | None = None


class _ScriptedSampler:
    """What is to be said after one prompt, token by token."""

    def __init__(
        self, prompt: Sequence[int], rule: Rule, reply: Iterator[int], numbers: random.Random
    ) -> None:
        self.tokens = list(prompt)
        self.rule = rule
        self._reply = reply
        self._next: int | None = None
        self._numbers = numbers
        self.closed = False

    def sample(self, guide: Guide | None) -> int | None:
        """The next token of the script, or else any that may come; None if there is none."""
        assert not self.closed, "sampling after close"
        token = self._coming()
        mask = guide.mask() if guide is not None else None
        if mask is not None and not mask[token // 8] >> token % 8 & 1:
            allowed = [t for t in range(_VOCABULARY) if mask[t // 8] >> t % 8 & 1]
            if not allowed:
                return None
            if len(allowed) == 1:
                (token,) = allowed
            else:
                token = _END if _END in allowed else self._numbers.choice(allowed)
        self.accept(token)
        return token

    def accept(self, token: int) -> None:
        if token == self._coming():
            self._next = None
        self.tokens.append(token)

    def _coming(self) -> int:
        if self._next is None:
            self._next = next(self._reply, _END)
        return self._next

    def close(self) -> None:
        self.closed = True


class ScriptedBackend:
    """Slots are hardly more than lists of tokens; their sum is what the context holds."""

    end_tokens = frozenset((_END,))
    longest_piece = max(map(len, _SPECIAL))

    def __init__(self, config: BackendConfig, progress: Progress) -> None:
        try:
            self._script = msgspec.json.decode(Path(config.files[0]).read_bytes(), type=Script)
        except (OSError, msgspec.MsgspecError) as error:
            raise LoadError(f"The script {config.files[0]!r} cannot be used: {error}.") from error
        time.sleep(self._script.load_seconds)
        progress(1.0)
        if self._script.load_error:
            raise LoadError(self._script.load_error)
        self.capabilities = Capabilities(
            context_length=self._script.context or config.context_length,
            slots=config.parallel + config.spare,
            parallel=config.parallel,
            max_batch=config.running.batch,
            max_rows=config.parallel + config.drafts,
            truncate=not self._script.recurrent,
            restore_truncates=not (self._script.recurrent or self._script.window),
            parts=not (self._script.recurrent or self._script.window),
            rollback=config.snapshots if self._script.recurrent else config.running.batch,
        )
        self.loaded = Loaded(
            architecture="scripted",
            parameters=0,
            vocabulary=_VOCABULARY,
            embedding_length=0,
            context_trained=self.capabilities.context_length,
            hardware="no model at all",
            chat_template=self._script.template,
            bos="",
            eos="<|im_end|>",
            special_tokens=frozenset(_SPECIAL),
        )
        self._kind = Kind(self._script.recurrent, self._script.window, config.snapshots)
        self.state_key = f"scripted {self._kind}"
        self._slots = [Slot(self._kind) for _ in range(self.capabilities.slots)]
        self._pending: list[Chunk] = []
        self._saved = bytearray()

    def tokenize(self, text: str, *, add_special: bool, parse_special: bool) -> list[int]:
        tokens: list[int] = []
        for part in _SPECIAL_TEXT.split(text) if parse_special else [text]:
            if parse_special and part in _SPECIAL:
                tokens.append(256 + _SPECIAL.index(part))
            else:
                tokens.extend(part.encode("utf-8", "replace"))
        return tokens

    def piece(self, token: int, *, special: bool = False) -> bytes:
        if token < 256:
            return bytes((token,))
        text = _SPECIAL[token - 256].encode()
        return text if special or text.endswith(b"think>") else b""

    def sampler(self, sampling: Sampling, prompt: Sequence[int]) -> Sampler:
        text = b"".join(self.piece(t) for t in prompt).decode("utf-8", "replace")
        echo = Rule(say=text.rpartition("user\n")[2].partition("assistant\n")[0].strip())
        rule = next((r for r in self._script.rules if r.when in text), echo)
        numbers = random.Random(sampling.seed if sampling.temperature > 0 else 0)
        return _ScriptedSampler(prompt, rule, self._reply(rule, sampling, numbers), numbers)

    def _reply(self, rule: Rule, sampling: Sampling, numbers: random.Random) -> Iterator[int]:
        yield from self.tokenize(rule.say, add_special=False, parse_special=True)
        for _ in range(rule.letters):
            yield numbers.choice(_LETTERS)
        if rule.then == "die":
            os._exit(1)
        while rule.then == "repeat" or sampling.ignore_eos:
            yield from self.tokenize(rule.say or ".", add_special=False, parse_special=True)
        yield _END

    def use_threads(self, count: int) -> None:
        assert count == 1, f"{count} threads, where there is one"

    def launch(self, chunks: Sequence[Chunk]) -> None:
        total = sum(len(c.tokens) for c in chunks)
        assert 0 < total <= self.capabilities.max_batch, f"{total} tokens in one step"
        rows = sum(1 + c.drafts for c in chunks if c.sampler is not None)
        assert rows <= self.capabilities.max_rows, f"{rows} samples in one step"
        if not self._fits(total):
            raise NoRoom
        for chunk in chunks:
            slot = self._slots[chunk.slot]
            held = len(slot.tokens)
            assert chunk.position == held, f"{chunk.position} after {held} tokens"
            assert 0 <= chunk.drafts < len(chunk.tokens), "guesses after nothing"
            slot.append(chunk.tokens)
            if isinstance(chunk.sampler, _ScriptedSampler) and chunk.sampler.rule.seconds:
                time.sleep(chunk.sampler.rule.seconds * len(chunk.tokens))
        self._pending = [c for c in chunks if c.sampler is not None]

    def _fits(self, tokens: int) -> bool:
        held = sum(len(slot.tokens) for slot in self._slots)
        return held + tokens <= self.capabilities.context_length

    def collect(self) -> list[list[Sampled]]:
        sampled = [
            verify(chunk, self.end_tokens, partial(self._sample, chunk)) for chunk in self._pending
        ]
        self._pending = []
        return sampled

    def _sample(self, chunk: Chunk, row: int) -> Sampled:
        sampler = chunk.sampler
        assert isinstance(sampler, _ScriptedSampler)
        known = chunk.position + len(chunk.tokens) - chunk.drafts + row
        held = self._slots[chunk.slot].tokens[:known]
        assert held == sampler.tokens, "a slot holds something else"
        token = sampler.sample(chunk.guide)
        if token is None:
            return Sampled(0, broken=True)
        if chunk.guide is not None:
            chunk.guide.accept(token)
            if token == _END and chunk.guide.forced():
                sampler.tokens.pop()  # what is forced comes in its place
        if chunk.logprobs is None:
            return Sampled(token)
        chosen = TokenProbability(token, self.piece(token, special=True), 0.0)
        others = [(token + i) % _VOCABULARY for i in range(1, max(chunk.logprobs, 1))]
        top = [chosen, *(TokenProbability(t, self.piece(t, special=True), -9.0) for t in others)]
        return Sampled(token, TokenLogprob(chosen, tuple(top[: chunk.logprobs])))

    def truncate(self, slot: int, length: int) -> bool:
        return self._slots[slot].truncate(length)

    def mark(self, slot: int) -> bool:
        self._slots[slot].mark()
        return True

    def fork(self, source: int, target: int) -> bool:
        assert not self._slots[target].tokens, "the target of a copy is not empty"
        self._slots[target] = self._slots[source].fork()
        return True

    def remove(self, slot: int) -> None:
        self._slots[slot] = Slot(self._kind)

    def state_size(self, slot: int) -> int:
        return self._slots[slot].size()

    def save(self, slot: int) -> memoryview | None:
        assert not self._pending, "saving within a step"
        return self._keep(self._slots[slot].save())

    def _keep(self, state: bytes) -> memoryview | None:
        if not state:
            return None
        self._saved[:] = bytes(len(self._saved))  # whoever still looks at the last one shall see it
        self._saved = bytearray(state)
        return memoryview(self._saved).toreadonly()

    def save_part(self, slot: int, first: int, last: int) -> memoryview | None:
        assert not self._pending, "saving within a step"
        return self._keep(self._slots[slot].save_part(first, last))

    def load(self, slot: int, state: bytes | memoryview) -> bool:
        assert not self._pending, "loading within a step"
        assert not self._slots[slot].tokens, "the slot to load into is not empty"
        loaded = Slot.load(self._kind, bytes(state))
        if loaded is None or not self._fits(len(loaded.tokens)):
            return False
        self._slots[slot] = loaded
        return True

    def close(self) -> None:
        self._slots.clear()
