"""How a model is run on this machine, and why. Pure functions of what is known before loading.

What the model's state takes is computed before it is allocated: Linux promises memory that it does
not have, and kills who uses it.
"""

from dataclasses import dataclass, replace

from hubserve_engine import context_size
from hubserve_engine.catalog import ResolvedModel
from hubserve_engine.config import UNQUANTIZED, ModelConfig
from hubserve_engine.hardware import Hardware
from hubserve_engine.model_info import Running
from hubserve_engine.types import EngineName
from hubserve_engine.units import size_text

_MANY_STREAMS, _TINY = 8, 10_000
"""From so many on, what plain attention computes of others' cells is more than it saves on a CPU,
but for a tiny model: one whose state of so many tokens is as large as its weights, or larger (see
decision 6)."""
_MICRO_BATCH_CPU, _MICRO_BATCH_GPU = 128, 512
_HALF, _SINGLE = 2, 4
DRAFTS = 15
"""A step of sixteen tokens, with the one that is known: the largest that was seen to gain from the
kernels for few."""
_SNAPSHOTS = 3, 6
"""Fewer are not worth their memory, and steps of eight tokens cost far more than those of seven."""
_SNAPSHOTS_SHARE = 32
"""One part of so many of the free memory may go to them."""
SPARE = 12
"""Slots beside those that run, for conversations that are kept. In one pool they cost nothing but
what is in them; a recurrent model has none, as each would take a whole state, and its snapshots."""
_KEPT_SHARE = 100
"""What is kept in the context beside running sequences may be as large as one in so many parts of
the weights, where flash attention passes over it. It is all in one pool, so that plain attention
computes over it, too, for nothing (see decision 15)."""
_LEAST_BATCH = 22
"""Tokens in a step beside those of the sequences that write: two parts of prompts that cannot be
cut (see `Capabilities.min_chunk`)."""
_MOST_SLOTS = 256
"""LLAMA_MAX_SEQ of llama.cpp (src/llama-cparams.h, 0.5.0)."""


@dataclass(frozen=True, slots=True)
class Choice:
    """What was chosen; sizes in tokens, memory in bytes.

    `context_limit` says in words what limited the context, `engine_reason` why this engine. `spare`
    are slots beside those that run, and `kept` the tokens that may stay in them. `drafts` are
    tokens that a step may guess, `snapshots` those that a recurrent state can take back. `memory`
    is the estimate for weights, state and buffers together.
    """

    context_length: int
    context_limit: str
    parallel: int
    spare: int
    kept: int
    drafts: int
    snapshots: int
    running: Running
    engine: EngineName
    engine_reason: str
    memory: int
    notices: tuple[str, ...] = ()


def choose(model: ResolvedModel, hardware: Hardware, config: ModelConfig) -> Choice:
    """Chooses what `config` leaves open; what it sets is kept, with a notice if it looks bad.

    A context that the free memory cannot hold is made smaller, with a notice.
    """
    gpu_layers = _gpu_layers(model, hardware, config)
    on_gpu = bool(hardware.gpus) and gpu_layers != 0
    needed = config.cache_type_v not in UNQUANTIZED
    per_token = model.state.per_token(config.cache_type_k, config.cache_type_v)
    many = config.parallel >= _MANY_STREAMS and per_token * _TINY < model.size
    wanted = on_gpu or needed or many
    flash_attention = {"on": True, "off": False, "auto": wanted}[config.flash_attention]
    micro_batch = config.micro_batch or (_MICRO_BATCH_GPU if on_gpu else _MICRO_BATCH_CPU)
    batch = config.batch or micro_batch
    least = config.parallel + _LEAST_BATCH
    batch, micro_batch = max(batch, least), max(min(batch, micro_batch), least)
    free = _free(hardware, gpu_layers) if on_gpu else hardware.memory_free
    spare = _spare(model, config.parallel)
    slots = config.parallel + spare
    drafts = DRAFTS if config.draft_max is None else config.draft_max
    snapshots = _snapshots(model, slots, drafts, free - model.size)
    need = _Need(
        model,
        per_token,
        slots,
        max(config.parallel + drafts, slots),
        micro_batch,
        flash_attention,
        snapshots,
    )
    context, limit = context_size.fitting(need, free, config.context_length)
    memory = model.size + need.bytes(context)
    notices = _notices(need, config.context_length, context, free)
    asked = min(config.batch or batch, config.micro_batch or batch)
    if asked < least:
        notices.append(
            f"Steps of {asked} tokens are too small for {config.parallel} sequences: --batch-size"
            f" and --ubatch-size are {least}."
        )
    if needed and not on_gpu and not many and config.flash_attention == "auto":
        notices.append(
            f"--cache-type-v {config.cache_type_v} needs flash attention, which is on because of"
            " that: with long contexts answers come more slowly than with f16."
        )
    return Choice(
        context_length=context,
        context_limit=limit,
        parallel=config.parallel,
        spare=spare,
        kept=_kept(model, per_token, context) if flash_attention else 0,
        drafts=drafts,
        snapshots=snapshots,
        running=Running(
            threads=config.threads or max(1, hardware.cores),
            gpu_layers=gpu_layers,
            flash_attention=flash_attention,
            cache_type_k=config.cache_type_k,
            cache_type_v=config.cache_type_v,
            batch=batch,
            micro_batch=micro_batch,
        ),
        engine="llama.cpp",
        engine_reason="the model is a GGUF file",
        memory=memory,
        notices=tuple(notices),
    )


def shrunk(model: ResolvedModel, choice: Choice, context: int) -> Choice:
    """The choice as it came true, where only a smaller context could be allocated."""
    running = choice.running
    need = _Need(
        model,
        model.state.per_token(running.cache_type_k, running.cache_type_v),
        choice.parallel + choice.spare,
        max(choice.parallel + choice.drafts, choice.parallel + choice.spare),
        running.micro_batch,
        running.flash_attention,
        choice.snapshots,
    )
    return replace(
        choice,
        context_length=context,
        context_limit="what could be allocated",
        memory=model.size + need.bytes(context),
    )


@dataclass(frozen=True, slots=True)
class _Need:
    """Memory beside the weights, as a function of the context.

    Compared with what llama.cpp 0.5.0-dev allocates for five models, contexts of 2048 to 32768
    and flash attention on and off, it comes to between 0.94 and 1.2 of it.
    """

    model: ResolvedModel
    per_token: int
    slots: int
    rows: int
    micro_batch: int
    flash_attention: bool
    snapshots: int

    @property
    def weights(self) -> int:
        return self.model.size

    @property
    def trained(self) -> int:
        return self.model.context_trained

    def bytes(self, context: int) -> int:
        """The state, and the buffers of the largest step."""
        state = self.model.state
        stored = self.per_token * context + self._sequences()
        # Without flash attention the scores of a whole micro-batch exist at once, for all heads.
        scores = 0 if self.flash_attention else state.heads * _SINGLE
        mask = (_HALF if self.flash_attention else _SINGLE) * (2 if state.windowed else 1)
        activations = 16 * self.model.embedding_length * _SINGLE
        logits = 2 * self.model.vocabulary * self.rows * _SINGLE
        return stored + self.micro_batch * (context * (scores + mask) + activations) + logits

    def _sequences(self) -> int:
        # A step's buffers hold the new states too, a layer at a time: half as much at most.
        states = 1 + self.snapshots + self.snapshots / 2
        return int(self.model.state.per_sequence * self.slots * states)


def _snapshots(model: ResolvedModel, slots: int, drafts: int, free: int) -> int:
    """How many tokens a recurrent state can take back; each costs the state of all slots."""
    least, most = _SNAPSHOTS
    states = model.state.per_sequence * slots
    if not states:
        return 0
    fitting = free // _SNAPSHOTS_SHARE // states
    return min(most, drafts, fitting) if fitting >= least else 0


def _kept(model: ResolvedModel, per_token: int, context: int) -> int:
    return model.size // _KEPT_SHARE // per_token if per_token else context


def _spare(model: ResolvedModel, parallel: int) -> int:
    return 0 if model.state.per_sequence else min(SPARE, _MOST_SLOTS - parallel)


def _gpu_layers(model: ResolvedModel, hardware: Hardware, config: ModelConfig) -> int:
    """Layers on GPUs, -1 for all; as many as leave a fifth of the GPUs' memory for the state.

    A number that was asked for is passed on even if no GPU was found: the backend knows better.
    """
    if config.gpu_layers is not None:
        return config.gpu_layers
    if not hardware.gpus:
        return 0
    room = sum(gpu.memory_free for gpu in hardware.gpus) * 4 // 5
    if model.size <= room:
        return -1
    return model.layers * room // max(model.size, 1)


def _free(hardware: Hardware, gpu_layers: int) -> int:
    """Memory for a model that is on GPUs, wholly or with the other layers beside them."""
    on_gpus = sum(gpu.memory_free for gpu in hardware.gpus)
    return on_gpus if gpu_layers < 0 else on_gpus + hardware.memory_free


def _notices(need: _Need, asked: int | None, context: int, free: int) -> list[str]:
    model = need.model
    memory = model.size + need.bytes(context)
    notices = context_size.notices(need, free, asked, context)
    if model.size > free:
        notices.append(
            f"The weights ({size_text(model.size)}) do not fit the free memory ({size_text(free)}):"
            " they are read from the disk again and again, which is slow. A smaller quantization"
            " helps."
        )
    elif memory > free:
        notices.append(
            f"Even a context of {context} tokens needs about {size_text(memory)} in all, and"
            f" {size_text(free)} is free: the system may end the process. A smaller quantization"
            " helps."
        )
    return notices
