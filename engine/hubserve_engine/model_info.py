"""What is known of a model once it is loaded, and how it is run."""

from dataclasses import dataclass

from hubserve_engine.types import CacheType, EngineName, Sampling


@dataclass(frozen=True, slots=True)
class DiskUse:
    """The folder with prefixes on disk, how many bytes it held at the start, and may hold."""

    folder: str
    used: int
    limit: int


@dataclass(frozen=True, slots=True)
class Running:
    """How a model is run. -1 `gpu_layers` are all; a step takes up to `batch` tokens, of which
    `micro_batch` are computed at once."""

    threads: int = 1
    gpu_layers: int = 0
    flash_attention: bool = False
    cache_type_k: CacheType = "f16"
    cache_type_v: CacheType = "f16"
    batch: int = 512
    micro_batch: int = 256


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """What is known of a model once it is loaded; all of it is fit to show.

    Sizes are in bytes; `context_limit` says in words what limited `context_length`; `draft_max` are
    the tokens that may be guessed for a sequence in a step. `disk` is None where no prefixes are
    kept there. `tool_format` names how calls are written. `notices` are sentences for the start-up
    banner, such as a template without a thinking switch.
    """

    id: str
    aliases: tuple[str, ...]
    architecture: str
    name: str | None
    quantization: str
    size: int
    parameters: int
    vocabulary: int
    embedding_length: int
    context_length: int
    context_trained: int
    context_limit: str
    parallel: int
    engine: EngineName
    engine_reason: str
    hardware: str
    draft_max: int
    running: Running
    memory: int
    path: str
    chat_template: str
    bos: str
    eos: str
    sampling: Sampling
    thinking_tags: tuple[str, str] | None
    thinking_switch: str | None
    tool_format: str
    disk: DiskUse | None = None
    notices: tuple[str, ...] = ()
    created: int = 0
