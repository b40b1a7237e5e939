"""What is asked of an export."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from hubserve_exporters.errors import ExportError
from hubserve_exporters.types import AUTO

CheckLevel = Literal["none", "fast", "full"]
"""How a file is checked before it has its name; see `checks`."""
Vocabulary = Literal["auto", "none"]


@dataclass(frozen=True, slots=True)
class GGUFExportConfig:
    """`out_path` ends in .gguf; a file that is there is replaced. Paths may be texts. Raises
    ExportError for what nothing can be.

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
    tokenizer: Vocabulary = "auto"
    pre: str | None = None
    split_max_size: int | None = None
    keep_mtp: bool = False
    strict: bool = False
    vocab_only: bool = False
    allow_pickle: bool = False
    check: CheckLevel = "fast"

    def __post_init__(self) -> None:
        object.__setattr__(self, "out_path", Path(self.out_path))
        if self.importance is not None:
            object.__setattr__(self, "importance", Path(self.importance))
        if self.out_path.suffix != ".gguf":
            raise ExportError(f"{self.out_path} has to end in .gguf.")
        for name, kinds in (("check", CheckLevel), ("tokenizer", Vocabulary)):
            if (value := getattr(self, name)) not in get_args(kinds):
                raise ExportError(
                    f"{name}={value!r} is not known; {', '.join(get_args(kinds))} are."
                )
        if self.split_max_size is not None and self.split_max_size < 1:
            raise ExportError(
                f"split_max_size={self.split_max_size} leaves room for nothing; None is one file."
            )
