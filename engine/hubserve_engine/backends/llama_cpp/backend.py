"""The llama.cpp backend: model, context and samplers behind the protocol of `backends.base`."""

from collections.abc import Sequence
from functools import partial
from math import isfinite

from hubserve_engine.backends.base import (
    BackendConfig,
    Capabilities,
    Chunk,
    Loaded,
    Progress,
    Sampled,
    verify,
)
from hubserve_engine.backends.edits import token_biases
from hubserve_engine.backends.llama_cpp import candidates
from hubserve_engine.backends.llama_cpp.api import llama
from hubserve_engine.backends.llama_cpp.candidates import Candidates
from hubserve_engine.backends.llama_cpp.context import Context
from hubserve_engine.backends.llama_cpp.model import Model
from hubserve_engine.backends.llama_cpp.sampler import ChainSampler
from hubserve_engine.backends.masks import Row, Tokens
from hubserve_engine.backends.sampling import sampled
from hubserve_engine.types import Sampling
from hubserve_engine.units import counted

_FORBIDDEN = float("-inf")
_MIN_CHUNK = 8
"""The kernels for fewer rows round otherwise."""
_CHUNK_MULTIPLE = 4
"""Those for K-quants take rows by fours, and round the ones that are left over otherwise."""
_TILE = 64
"""Rows that flash attention on a CPU takes at once. For fewer it goes another way, which takes
twice as long for each (GGML_FA_TILE_Q in ggml-cpu/common.h, llama.cpp of llama-cpp-python 0.3.36).
"""


class LlamaCppBackend:
    """One model in llama.cpp; `collect` returns what `launch` decoded."""

    def __init__(self, config: BackendConfig, progress: Progress) -> None:
        self._model = Model(config, progress)
        self._context = Context(self._model, config)
        self._config = config
        self._candidates = Candidates(self._model.n_vocab)
        self._pending: list[tuple[Chunk, int]] = []
        self._suppressed = self._model.suppressed()
        self.end_tokens = self._model.end_tokens()
        self.capabilities = Capabilities(
            context_length=self._context.length,
            slots=config.parallel + config.spare,
            parallel=config.parallel,
            max_batch=self._context.batch,
            max_rows=self._context.max_rows,
            truncate=not self._model.recurrent,
            restore_truncates=not (self._model.recurrent or self._model.window),
            rollback=self._context.rollback,
            parts=self._context.has_parts,
            min_chunk=_MIN_CHUNK,
            chunk_multiple=_CHUNK_MULTIPLE,
            tile=self._tile,
            threads=config.running.threads,
        )
        self.state_key = self._context.state_key
        self.loaded = self._describe()

    @property
    def _tile(self) -> int:
        running = self._config.running
        return _TILE if running.flash_attention and not self._offloaded else 1

    @property
    def _offloaded(self) -> int:
        """Layers that are on a GPU."""
        if not llama.llama_supports_gpu_offload():
            return 0
        layers = int(llama.llama_model_n_layer(self._model.handle))
        asked = self._config.running.gpu_layers
        return layers if asked < 0 else min(asked, layers)

    def _describe(self) -> Loaded:
        model, config = self._model, self._config
        notices = []
        if self._context.length < config.context_length:
            notices.append(
                f"A context of {config.context_length} tokens could not be allocated;"
                f" it is {self._context.length} now."
            )
        if config.running.gpu_layers and not llama.llama_supports_gpu_offload():
            notices.append(
                "This build of llama.cpp has no GPU support, so all layers are on the CPU."
            )
        layers, offloaded = llama.llama_model_n_layer(model.handle), self._offloaded
        threads = counted(config.running.threads, "CPU thread")
        return Loaded(
            architecture=model.architecture,
            parameters=llama.llama_model_n_params(model.handle),
            vocabulary=model.n_vocab,
            embedding_length=llama.llama_model_n_embd(model.handle),
            context_trained=llama.llama_model_n_ctx_train(model.handle),
            hardware=f"{offloaded} of {layers} layers on the GPU, {threads}"
            if offloaded
            else threads,
            chat_template=model.chat_template,
            bos=model.token_text(llama.llama_vocab_bos(model.vocab)),
            eos=model.token_text(llama.llama_vocab_eos(model.vocab)),
            special_tokens=model.special_tokens(),
            notices=tuple(notices),
        )

    @property
    def longest_piece(self) -> int:
        return self._model.longest_piece

    def tokenize(self, text: str, *, add_special: bool, parse_special: bool) -> list[int]:
        return self._model.tokenize(text, add_special=add_special, parse_special=parse_special)

    def piece(self, token: int, *, special: bool = False) -> bytes:
        return self._model.piece(token, special=special)

    def sampler(self, sampling: Sampling, prompt: Sequence[int]) -> ChainSampler:
        biases = token_biases(
            sampling,
            self.end_tokens,
            partial(self.tokenize, add_special=False, parse_special=True),
            self._suppressed,
        )
        return ChainSampler(sampling, prompt, biases, self._context.length)

    def use_threads(self, count: int) -> None:
        self._context.use_threads(count)

    def launch(self, chunks: Sequence[Chunk]) -> None:
        rows = self._context.decode(chunks)
        self._pending = [(c, r) for c, r in zip(chunks, rows, strict=True) if r >= 0]

    def collect(self) -> list[list[Sampled]]:
        found = [
            verify(chunk, self.end_tokens, partial(self._sample, chunk, first))
            for chunk, first in self._pending
        ]
        self._pending = []
        return found

    def _sample(self, chunk: Chunk, first: int, number: int) -> Sampled:
        row = first + number
        assert isinstance(chunk.sampler, ChainSampler)
        choose = partial(self._choose, chunk.sampler, row)
        return sampled(chunk, self._context.logits(row), choose, self.piece)

    def _choose(
        self, sampler: ChainSampler, row: int, logits: Row, few: Tokens | None
    ) -> int | None:
        if few is not None:
            return self._choose_among(sampler, logits, few)
        if sampler.greedy:
            token = int(logits.argmax())
        elif 0 < sampler.top_k <= candidates.MOST and len(logits) >= candidates.SMALLEST:
            token = self._candidates.sample(sampler.chain, logits, sampler.top_k)
        else:
            token = int(llama.llama_sampler_sample(sampler.chain, self._context.handle, row))
        return token if isfinite(logits[token]) else None

    def _choose_among(self, sampler: ChainSampler, logits: Row, tokens: Tokens) -> int | None:
        if len(tokens) == 1:
            return int(tokens[0])
        values = logits[tokens]
        if not isfinite(values.max(initial=_FORBIDDEN)):
            return None  # llama.cpp would end the process
        if sampler.greedy:
            return int(tokens[values.argmax()])
        return self._candidates.among(sampler.chain, logits, tokens)

    def truncate(self, slot: int, length: int) -> bool:
        return self._context.truncate(slot, length)

    def mark(self, slot: int) -> bool:
        return self._context.mark(slot)

    def fork(self, source: int, target: int) -> bool:
        return self._context.fork(source, target)

    def remove(self, slot: int) -> None:
        self._context.remove(slot)

    def state_size(self, slot: int) -> int:
        return self._context.state.size(slot)

    def save(self, slot: int) -> memoryview | None:
        return self._context.state.save(slot)

    def save_part(self, slot: int, first: int, last: int) -> memoryview | None:
        return self._context.state.save_part(slot, first, last)

    def load(self, slot: int, state: bytes | memoryview) -> bool:
        return self._context.state.load(slot, state)

    def close(self) -> None:
        self._context.close()
        self._model.close()
