"""Frozen configuration records. A default is written here once, and the CLI reads it from here.

None means "to be chosen": what is chosen is a new object, never a change to this one.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from hubserve_engine.types import CacheType, ReasoningFormat, ReasoningSwitch, ToolsPolicy

CACHE_VARIABLE = "HUBSERVE_CACHE_DIR"
"""The environment variable with the folder of caches, where no option names one."""

EngineChoice = Literal["auto", "llama.cpp", "transformers", "scripted"]
FlashAttention = Literal["on", "off", "auto"]
UNQUANTIZED: tuple[CacheType, ...] = ("f32", "f16", "bf16")
"""Values kept in any other type need flash attention, as llama.cpp reads them nowhere else."""

LONGEST_TEXT = 2**20
"""Characters that one question about a text may have."""
MOST_TOKENS = 2**18
"""Tokens whose texts one question may ask for."""


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """How one model is loaded and run.

    `context_length` is the number of tokens that all sequences share. `threads` are CPU threads at
    most. `gpu_layers` -1 is all of them. `cache_type_k` and `cache_type_v` are what keys and values
    are kept in. `batch` is the most tokens that a step takes, `micro_batch` the most that are
    computed at once; here a step is computed at once, so the smaller one counts. `draft_max` are
    the tokens that a step may guess, 0 for none. `max_gap` is how long, in seconds, a running
    stream may be held up by what others read. `chat_template` is a file that replaces the model's
    own. `reasoning_budget` are the tokens that thinking may take where a request does not say, -1
    for no limit but that an answer has to fit behind it.
    """

    model: str
    aliases: tuple[str, ...] = ()
    context_length: int | None = None
    parallel: int = 4
    threads: int | None = None
    gpu_layers: int | None = None
    flash_attention: FlashAttention = "auto"
    draft_max: int | None = None
    max_gap: float = 0.2
    cache_type_k: CacheType = "f16"
    cache_type_v: CacheType = "f16"
    batch: int | None = None
    micro_batch: int | None = None
    chat_template: Path | None = None
    reasoning: ReasoningSwitch = "auto"
    reasoning_budget: int = -1
    reasoning_format: ReasoningFormat = "auto"
    tools: ToolsPolicy = "free"


@dataclass(frozen=True, slots=True)
class EngineConfig:
    """The engine as a whole. `max_queue` requests may wait beyond those that run.

    Prefixes of all models are kept below `cache_dir` (None: where caches are kept on this system),
    in at most `cache_disk` bytes; 0 keeps none on disk. Those that lose their place in the context
    are kept in at most `cache_memory` bytes. A checkpoint is exported to `export_type` (None: what
    fits its size); exports are kept there, too, in at most `export_disk` bytes, at any moment.
    With `engine` "auto" the model's format decides.
    """

    model: ModelConfig
    max_queue: int = 64
    cache_dir: Path | None = None
    cache_disk: int = 4 * 1024**3
    cache_memory: int = 1024**3
    export_type: str | None = None
    export_disk: int = 64 * 1024**3
    engine: EngineChoice = "auto"


@dataclass(frozen=True, slots=True)
class DiskCache:
    """What a worker is told of the prefixes on disk: the cache's folder, its limit in bytes, and
    what tells these weights from others."""

    folder: str
    limit: int
    weights: str
