"""How a model is run by transformers on this machine, and why. A pure function, as in `select`.

All weights are dense there: 32 bits a number on a CPU, and 16 on a GPU. A sequence's state grows
with it, and takes memory beside others' only as it does.
"""

from dataclasses import dataclass

from hubserve_engine import context_size
from hubserve_engine.catalog import ResolvedModel
from hubserve_engine.config import ModelConfig
from hubserve_engine.errors import StartError
from hubserve_engine.hardware import Hardware
from hubserve_engine.model_info import Running
from hubserve_engine.select import DRAFTS, SPARE, Choice
from hubserve_engine.types import CacheType
from hubserve_engine.units import size_text

_STEP_CPU, _STEP_GPU = 128, 512
_BYTES: dict[CacheType, int] = {"f32": 4, "bf16": 2}
_DEFAULTS = ModelConfig(model="")


def choose(model: ResolvedModel, hardware: Hardware, config: ModelConfig, reason: str) -> Choice:
    """Chooses what `config` leaves open. `reason` says why it is this engine.

    Raises StartError where the weights do not fit the memory: they are not read piece by piece.
    """
    gpu = hardware.gpus[0] if hardware.gpus else None
    free = gpu.memory_free if gpu else hardware.memory_free
    number: CacheType = "bf16" if gpu else "f32"
    batch = config.batch or (_STEP_GPU if gpu else _STEP_CPU)
    batch = max(min(batch, config.micro_batch or batch), config.parallel + 2)
    drafts = DRAFTS if config.draft_max is None else config.draft_max
    need = _Need(model, number, batch, config.parallel + drafts)
    if need.weights > free:
        raise StartError(
            f"The weights of {model.id!r} take {size_text(need.weights)} in transformers, and"
            f" {size_text(free)} is free; serve it with llama.cpp (--engine auto), which needs"
            " less, or choose a smaller model."
        )
    context, limit = context_size.fitting(need, free, config.context_length)
    return Choice(
        context_length=context,
        context_limit=limit,
        parallel=config.parallel,
        spare=0 if model.state.per_sequence else SPARE,
        kept=context,
        drafts=drafts,
        snapshots=0,
        running=Running(
            threads=config.threads or max(1, hardware.cores),
            gpu_layers=-1 if gpu else 0,
            cache_type_k=number,
            cache_type_v=number,
            batch=batch,
            micro_batch=batch,
        ),
        engine="transformers",
        engine_reason=reason,
        memory=need.weights + need.bytes(context),
        notices=(
            *context_size.notices(need, free, config.context_length, context),
            *_unused(config),
        ),
    )


@dataclass(frozen=True, slots=True)
class _Need:
    """Memory as a function of the context."""

    model: ResolvedModel
    number: CacheType
    batch: int
    rows: int

    @property
    def weights(self) -> int:
        return self.model.parameters * _BYTES[self.number]

    @property
    def trained(self) -> int:
        return self.model.context_trained

    def bytes(self, context: int) -> int:
        """The state, a layer of it twice while tokens are appended, and a step's own numbers."""
        state, size = self.model.state, _BYTES[self.number]
        stored = state.per_token(self.number, self.number) * context
        stored += stored // max(self.model.layers, 1) + state.per_sequence
        # A mask is there as bits and as numbers.
        step = self.batch * (context * (1 + size) + 16 * self.model.embedding_length * size)
        return stored + step + 2 * self.model.vocabulary * self.rows * _BYTES["f32"]


def _unused(config: ModelConfig) -> list[str]:
    """What was asked for, and does not apply here."""
    asked = {
        "--gpu-layers": config.gpu_layers is not None,
        "--flash-attn": config.flash_attention != _DEFAULTS.flash_attention,
        "--cache-type-k": config.cache_type_k != _DEFAULTS.cache_type_k,
        "--cache-type-v": config.cache_type_v != _DEFAULTS.cache_type_v,
    }
    flags = [flag for flag, given in asked.items() if given]
    if not flags:
        return []
    return [f"{', '.join(flags)}: of llama.cpp alone, so without effect in transformers."]
