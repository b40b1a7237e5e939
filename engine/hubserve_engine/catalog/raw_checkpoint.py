"""Checkpoints as transformers saves them: which files of a repository or a folder belong to one."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from hubserve_engine.errors import ResolveError

CONFIG = "config.json"
_BESIDE = re.compile(
    r"(config|generation_config|tokenizer|tokenizer_config|special_tokens_map|added_tokens|vocab"
    r"|chat_template|model\.safetensors\.index)\.json"
    r"|tokenizer\.model|merges\.txt|chat_template\.jinja|additional_chat_templates/[^/]+\.jinja"
    r"|README\.md|(LICENSE|NOTICE)[^/]*"
)
_WEIGHTS = re.compile(r"model[^/]*\.safetensors")
_PICKLES = re.compile(r"pytorch_model[^/]*\.bin(\.index\.json)?|[^/]+\.(pt|pth|ckpt)")
_ANY_WEIGHTS = (".safetensors", ".bin", ".pt", ".pth")


@dataclass(frozen=True, slots=True)
class RawCheckpoint:
    """A checkpoint whose files are on this machine, in `folder`.

    `id` and `aliases` are its names; `wanted` is the type to export it to, such as "q4_k_m", if one
    was named. `notices` are sentences to show.
    """

    id: str
    aliases: tuple[str, ...]
    folder: Path
    wanted: str | None = None
    notices: tuple[str, ...] = ()


def is_weights(path: str) -> bool:
    """Whether a file holds weights in some form that is not GGUF."""
    return path.lower().endswith(_ANY_WEIGHTS)


def is_checkpoint(paths: Iterable[str]) -> bool:
    """Whether files with these paths are a checkpoint, whatever form its weights have."""
    paths = list(paths)
    return CONFIG in paths and any(map(is_weights, paths))


def checkpoint_files(paths: Iterable[str], place: str, *, pickles: bool = False) -> list[str]:
    """The files that are needed, out of all of a repository, or of a folder.

    Weights are safetensors; with `pickles`, others will do where there are none. Raises
    ResolveError, which begins with the `place`, where there is no checkpoint.
    """
    paths = sorted(paths)
    weights = [path for path in paths if _WEIGHTS.fullmatch(path)]
    others = [path for path in paths if _PICKLES.fullmatch(path)]
    if not weights and pickles:
        weights = others
    if CONFIG in paths and weights:
        return [path for path in paths if _BESIDE.fullmatch(path)] + weights
    if CONFIG in paths and others:
        raise ResolveError(
            f"{place!r} has its weights in {others[0]!r}, a pickle, which can hold code: choose a"
            " revision with safetensors, or, if you trust its author, make a GGUF file of it with"
            " `hubserve export --allow-pickle`.",
            param="model",
        )
    raise ResolveError(
        f"{place!r} is no checkpoint that can be exported, which has {CONFIG} and"
        f" model*.safetensors; there is: {', '.join(paths[:8]) or 'nothing'}.",
        param="model",
    )
