"""The transformers backend: a model, and the sequences in its slots, one after the other."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import torch
import transformers

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
from hubserve_engine.backends.edits import token_biases
from hubserve_engine.backends.masks import Row
from hubserve_engine.backends.sampling import sampled
from hubserve_engine.backends.transformers import cache as caches
from hubserve_engine.backends.transformers.model import Model
from hubserve_engine.backends.transformers.sampler import RowSampler
from hubserve_engine.backends.transformers.slot import Slot
from hubserve_engine.backends.transformers.state import States
from hubserve_engine.types import Sampling
from hubserve_engine.units import counted


@dataclass(frozen=True, slots=True)
class _Pending:
    """A chunk that is being computed, and its logits, shape (1 + drafts, vocabulary)."""

    chunk: Chunk
    logits: torch.Tensor


class TransformersBackend:
    """One model in PyTorch. A step computes its chunks one after the other, each sequence having
    its own cache, which grows. Of the configuration, what belongs to llama.cpp alone is not used.
    """

    def __init__(self, config: BackendConfig, progress: Progress) -> None:
        torch.set_num_threads(config.running.threads)
        self._model = Model(Path(config.files[0]))
        self._vocabulary = self._model.vocabulary
        sample = self._empty()
        self._model.forward([0], sample, 1)  # which also shows that it can be run
        recurrent = bool(caches.recurrent(sample))
        on_cpu = self._model.device.type == "cpu"
        self.end_tokens = self._model.end_tokens
        self.capabilities = Capabilities(
            context_length=config.context_length,
            slots=config.parallel + config.spare,
            parallel=config.parallel,
            max_batch=min(config.running.batch, config.context_length),
            max_rows=config.parallel + config.drafts,
            truncate=not recurrent,
            restore_truncates=not recurrent,
            rollback=config.drafts if recurrent else config.context_length,
            threads=config.running.threads if on_cpu else 1,
        )
        self.state_key = (
            f"transformers={transformers.__version__} torch={torch.__version__}"
            f" device={self._model.device.type} dtype={self._model.dtype}"
        )
        self._states = States(sample, f"{self._model.architecture} {self.state_key}")
        self._rollback = config.drafts if recurrent else None
        self._slots = [self._slot() for _ in range(self.capabilities.slots)]
        self._pending: list[_Pending] = []
        self.loaded = self._describe(config)
        progress(1.0)

    def _empty(self) -> transformers.Cache:
        return caches.empty(self._model.config)

    def _slot(self) -> Slot:
        return Slot(self._empty, self._model.forward, rollback=self._rollback)

    def _describe(self, config: BackendConfig) -> Loaded:
        model, vocabulary = self._model, self._vocabulary
        threads = counted(config.running.threads, "CPU thread")
        kinds = {"cpu": threads, "mps": "the Apple GPU"}
        if model.device.type == "cuda":
            kinds["cuda"] = torch.cuda.get_device_name(model.device)
        return Loaded(
            architecture=model.architecture,
            parameters=model.parameters,
            vocabulary=model.size,
            embedding_length=int(model.config.hidden_size),
            context_trained=int(getattr(model.config, "max_position_embeddings", 0) or 0),
            hardware=f"{kinds[model.device.type]} in {str(model.dtype).removeprefix('torch.')}",
            chat_template=vocabulary.chat_template,
            bos=vocabulary.bos,
            eos=vocabulary.eos,
            special_tokens=vocabulary.special_tokens,
        )

    @property
    def longest_piece(self) -> int:
        return self._vocabulary.longest_piece

    def tokenize(self, text: str, *, add_special: bool, parse_special: bool) -> list[int]:
        return self._vocabulary.tokenize(text, add_special=add_special, parse_special=parse_special)

    def piece(self, token: int, *, special: bool = False) -> bytes:
        return self._vocabulary.piece(token, special=special)

    def sampler(self, sampling: Sampling, prompt: Sequence[int]) -> RowSampler:
        biases = token_biases(
            sampling,
            self.end_tokens,
            partial(self.tokenize, add_special=False, parse_special=True),
        )
        return RowSampler(sampling, prompt, biases, self.capabilities.context_length)

    def use_threads(self, count: int) -> None:
        torch.set_num_threads(count)

    def launch(self, chunks: Sequence[Chunk]) -> None:
        total = sum(len(chunk.tokens) for chunk in chunks)
        held = sum(slot.length for slot in self._slots)
        if held + total > self.capabilities.context_length:
            raise NoRoom
        done: list[Chunk] = []
        pending = []
        for chunk in chunks:
            rows = 1 + chunk.drafts
            try:
                logits = self._slots[chunk.slot].append(chunk.tokens, rows)
            except torch.OutOfMemoryError as error:
                for each in done:
                    self._slots[each.slot].undo()
                raise NoRoom from error
            done.append(chunk)
            if chunk.sampler is not None:
                pending.append(_Pending(chunk, logits))
        self._pending = pending

    def collect(self) -> list[list[Sampled]]:
        found = []
        for pending in self._pending:
            rows = list(pending.logits.cpu().numpy())
            found.append(
                verify(pending.chunk, self.end_tokens, partial(self._sample, pending.chunk, rows))
            )
        self._pending = []
        return found

    def _sample(self, chunk: Chunk, rows: Sequence[Row], number: int) -> Sampled:
        assert isinstance(chunk.sampler, RowSampler)
        return sampled(chunk, rows[number], chunk.sampler.choose, self.piece)

    def truncate(self, slot: int, length: int) -> bool:
        return self._slots[slot].truncate(length)

    def mark(self, slot: int) -> bool:
        return self._slots[slot].mark()

    def fork(self, source: int, target: int) -> bool:
        self._slots[target] = self._slots[source].fork()
        return True

    def remove(self, slot: int) -> None:
        self._slots[slot] = self._slot()

    def state_size(self, slot: int) -> int:
        return self._states.size(self._slots[slot].length)

    def save(self, slot: int) -> memoryview | None:
        held = self._slots[slot]
        return self._states.save(held.cache, held.length) if held.length else None

    def save_part(self, slot: int, first: int, last: int) -> memoryview | None:
        return None

    def load(self, slot: int, state: bytes | memoryview) -> bool:
        length = self._states.length(state)
        held = sum(each.length for each in self._slots)
        if not length or held + length > self.capabilities.context_length:
            return False
        self._slots[slot].hold(self._states.load(state), length)
        return True

    def close(self) -> None:
        self._slots.clear()
        self._model.close()
