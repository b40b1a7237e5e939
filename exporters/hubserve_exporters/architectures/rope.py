"""Rotary position embedding: how a checkpoint describes it, and how llama.cpp is told.

`rope_parameters` (transformers 5) and `rope_scaling` are the same object; the base frequency and
the share of the head may stand in it or beside it. Formulas: transformers 5.22,
modeling_rope_utils.py; ggml_rope_ext and llama-context.cpp, llama.cpp 0.5.0-dev.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import log, pi

import numpy as np
from numpy.typing import NDArray

from hubserve_exporters.architectures.findings import Finding, Refuse, Warn
from hubserve_exporters.config import Config
from hubserve_exporters.errors import ExportError
from hubserve_exporters.gguf.writer import Value

KINDS = ("default", "linear", "dynamic", "yarn", "llama3", "longrope")
_YARN_BETAS = {"beta_fast": 32.0, "beta_slow": 1.0}


@dataclass(frozen=True, slots=True)
class Rope:
    """`base` is rope_theta, `share` the part of a head that is rotated, `parameters` the rest.

    `original_length` is the context before scaling, in tokens.
    """

    kind: str
    base: float
    share: float
    original_length: int
    parameters: Config

    @property
    def factor(self) -> float:
        """How much longer the context becomes."""
        value = self.parameters.number("factor")
        if value < 1:
            raise ExportError(
                f"config.json: the factor of rope scaling is {value}, it is 1 or more."
            )
        return value


def read_rope(config: Config, default_base: float) -> Rope:
    """The one rotary embedding of a model whose layers all have the same.

    `default_base` is what the class of transformers takes where nothing is said.
    """
    parameters = config.part("rope_parameters") or config.part("rope_scaling")
    parameters = parameters or Config({}, "config.json: rope_parameters")
    kind = parameters.text("rope_type", parameters.text("type", "default"))
    kind = {"su": "longrope"}.get(kind, kind)
    if kind not in KINDS:
        raise ExportError(
            f"config.json: the rope type {kind!r} is not known; {', '.join(KINDS)} are."
        )
    base = (parameters if "rope_theta" in parameters else config).number("rope_theta", default_base)
    share = (parameters if "partial_rotary_factor" in parameters else config).number(
        "partial_rotary_factor", 1.0
    )
    longest = config.positive("max_position_embeddings")
    outer = config if "original_max_position_embeddings" in config else parameters
    original = outer.positive("original_max_position_embeddings", longest)
    return Rope(kind, base, share, original, parameters)


def rope_metadata(rope: Rope) -> dict[str, Value]:
    """The keys, without the architecture's prefix. llama3 has none, see `frequency_factors`."""
    keys: dict[str, Value] = {"rope.freq_base": rope.base}
    if rope.kind == "linear":
        keys |= {"rope.scaling.type": "linear", "rope.scaling.factor": rope.factor}
    elif rope.kind == "yarn":
        keys |= {
            "rope.scaling.type": "yarn",
            "rope.scaling.factor": rope.factor,
            "rope.scaling.original_context_length": rope.original_length,
        }
        if "attention_factor" in rope.parameters:
            # llama.cpp multiplies this by 0.1 ln(factor) + 1; the key that says the whole of it,
            # yarn_attn_factor, is read for few architectures.
            magnitude = rope.parameters.number("attention_factor")
            keys["rope.scaling.attn_factor"] = magnitude / (0.1 * log(rope.factor) + 1)
    return keys


def rope_guards(rope: Rope) -> Iterator[Finding]:
    """What llama.cpp cannot be told."""
    if rope.kind == "dynamic":
        yield Warn(
            "The rope type 'dynamic' has no counterpart in llama.cpp: texts up to"
            f" {rope.original_length} tokens are as they should be, longer ones are not."
        )
    if rope.kind != "yarn":
        return
    for key, usual in _YARN_BETAS.items():
        if (value := rope.parameters.number(key, usual)) != usual:
            yield Refuse(
                f"config.json: {key!r} of yarn is {value}; llama.cpp computes with {usual} for this"
                " architecture, whatever the file says."
            )
    if not rope.parameters.flag("truncate", True):
        yield Refuse(
            "config.json: 'truncate' of yarn is false; llama.cpp rounds the correction range always"
            " for this architecture."
        )
    if "mscale" in rope.parameters and "mscale_all_dim" in rope.parameters:
        yield Refuse(
            "config.json: yarn has 'mscale' and 'mscale_all_dim', which llama.cpp reads for"
            " DeepSeek alone; state 'attention_factor' in their place."
        )


def frequency_factors(rope: Rope, rotated: int) -> NDArray[np.float32] | None:
    """What llama3 divides each frequency by; None for other kinds.

    `rotated` is the number of rotated elements of a head; the result has half as many.
    """
    if rope.kind != "llama3":
        return None
    low = rope.parameters.number("low_freq_factor")
    high = rope.parameters.number("high_freq_factor")
    if not 0 < low < high:
        raise ExportError(
            f"config.json: low_freq_factor is {low} and high_freq_factor {high}; the first has to"
            " be the smaller one."
        )
    exponents = np.arange(0, rotated, 2, dtype=np.float32) / np.float32(rotated)
    wavelengths = 2 * pi * np.float32(rope.base) ** exponents
    turns = rope.original_length / wavelengths
    smooth = np.clip((turns - low) / (high - low), 0, 1)
    return (1 / ((1 - smooth) / rope.factor + smooth)).astype(np.float32)
