"""What is asked of an export."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from hubserve_exporters.types import AUTO

CheckLevel = Literal["none", "fast", "full"]
"""How a file is checked before it has its name; see `checks`."""


@dataclass(frozen=True, slots=True)
class GGUFExportConfig:
    """`out_path` ends in .gguf; a file that is there is replaced.

    `dtype` is a tensor type or a scheme of `quantize`, in any case, or "auto": what most of the
    checkpoint has. `architecture` replaces the class that config.json names, `name` what the model
    is called. `importance` is a file of llama-imatrix, for schemes. `tokenizer` "none" leaves the
    vocabulary out, so that tokens have numbers only. `pre` names the pre-tokenizer where it cannot
    be told. `split_max_size` is in bytes: a larger file is written in parts. `keep_mtp` keeps the
    layers that guess further tokens. `strict` refuses what is suspicious in a chat template, which
    is a warning otherwise. `vocab_only` leaves out the weights. `allow_pickle` takes weights that
    are pickles, where there are no others.
    """

    out_path: Path
    dtype: str = AUTO
    architecture: str | None = None
    name: str | None = None
    importance: Path | None = None
    tokenizer: Literal["auto", "none"] = "auto"
    pre: str | None = None
    split_max_size: int | None = None
    keep_mtp: bool = False
    strict: bool = False
    vocab_only: bool = False
    allow_pickle: bool = False
    check: CheckLevel = "fast"
