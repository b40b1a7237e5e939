"""Rotary position embedding: how a checkpoint describes it, and how llama.cpp is told.

`rope_parameters` (transformers 5) and `rope_scaling` are the same object; the base frequency and
the share of the head may stand in it or beside it. Formulas: transformers 5.22,
modeling_rope_utils.py; ggml_rope_ext and llama-context.cpp, llama.cpp 0.5.0-dev.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil, floor, log, pi, sqrt

import numpy as np
from numpy.typing import NDArray

from hubserve_exporters.config import Config
from hubserve_exporters.errors import ExportError
from hubserve_exporters.gguf.writer import Value

KINDS = ("default", "linear", "dynamic", "yarn", "llama3", "longrope")
BETAS: Mapping[str, float] = {"beta_fast": 32.0, "beta_slow": 1.0}
"""Where yarn begins and ends to interpolate, in turns: what llama.cpp takes, whatever is said."""


@dataclass(frozen=True, slots=True)
class Rope:
    """`base` is rope_theta, `share` the part of a head that is rotated, `parameters` the rest.

    `original_length` is the context before scaling, `length` that with it, in tokens.
    """

    kind: str
    base: float
    share: float
    original_length: int
    length: int
    parameters: Config

    @property
    def factor(self) -> float:
        """How much longer the context becomes."""
        usual = self.length / self.original_length if self.kind == "longrope" else None
        value = self.parameters.number("factor", usual)
        if value < 1:
            raise ExportError(
                f"config.json: the factor of rope scaling is {value}, it is 1 or more."
            )
        return value

    @property
    def magnitude(self) -> float:
        """What the rotated vectors are multiplied by."""
        if self.kind not in ("yarn", "longrope"):
            return 1.0
        if "attention_factor" in self.parameters:
            return self.parameters.number("attention_factor")
        if self.kind == "longrope":
            return sqrt(1 + log(self.factor) / log(self.original_length))
        one, all_ = (self.parameters.number(key, 0.0) for key in ("mscale", "mscale_all_dim"))
        if one and all_:
            return _yarn_magnitude(self.factor, one) / _yarn_magnitude(self.factor, all_)
        return _yarn_magnitude(self.factor)

    @property
    def usual_betas(self) -> bool:
        """Whether yarn interpolates where llama.cpp does, for every architecture."""
        return all(self.parameters.number(key, value) == value for key, value in BETAS.items())

    @property
    def usual(self) -> bool:
        """Whether yarn is as llama.cpp computes it, in all."""
        return self.usual_betas and self.parameters.flag("truncate", True)


def read_rope(config: Config, default_base: float) -> Rope:
    """The rotary embedding of a model whose layers all have the same.

    `default_base` is what the class of transformers takes where nothing is said.
    """
    parameters = config.part("rope_scaling") or config.part("rope_parameters")
    return rope_of(config, parameters, config.number("rope_theta", default_base))


def rope_of(config: Config, parameters: Config | None, default_base: float) -> Rope:
    """A rotary embedding by its own parameters, over what the configuration says for all."""
    parameters = parameters or Config({}, "config.json: rope_parameters")
    kind = parameters.text("rope_type", parameters.text("type", "default"))
    kind = {"su": "longrope", "mrope": "default"}.get(kind, kind)
    if kind not in KINDS:
        raise ExportError(
            f"config.json: the rope type {kind!r} is not known; {', '.join(KINDS)} are."
        )
    base = parameters.number("rope_theta", default_base)
    share = (parameters if "partial_rotary_factor" in parameters else config).number(
        "partial_rotary_factor", 1.0
    )
    length = config.positive("max_position_embeddings")
    outer = config if "original_max_position_embeddings" in config else parameters
    original = outer.positive("original_max_position_embeddings", length)
    return Rope(kind, base, share, original, length, parameters)


def rope_metadata(rope: Rope, *, by_factors: bool = False) -> dict[str, Value]:
    """The keys of a file, without the architecture's prefix.

    `by_factors`: the frequencies are in a tensor, so that only the magnitude is left to say.
    """
    keys: dict[str, Value] = {"rope.freq_base": rope.base}
    if rope.kind == "linear":
        keys |= {"rope.scaling.type": "linear", "rope.scaling.factor": rope.factor}
    elif rope.kind in ("yarn", "longrope") and by_factors:
        keys["rope.scaling.attn_factor"] = rope.magnitude
    elif rope.kind == "longrope":
        keys |= {
            "rope.scaling.type": "longrope",
            "rope.scaling.original_context_length": rope.original_length,
            "rope.scaling.attn_factor": rope.magnitude,
        }
    elif rope.kind == "yarn":
        keys |= {
            "rope.scaling.type": "yarn",
            "rope.scaling.factor": rope.factor,
            "rope.scaling.original_context_length": rope.original_length,
        }
        # llama.cpp multiplies this by what it computes from the factor; the key that says the
        # whole of it, yarn_attn_factor, is read for few architectures.
        if (share := rope.magnitude / _yarn_magnitude(rope.factor)) != 1:
            keys["rope.scaling.attn_factor"] = share
    return keys


def frequency_factors(rope: Rope, rotated: int) -> NDArray[np.float32]:
    """What llama3 or yarn divide each frequency by.

    `rotated` is the number of rotated elements of a head; the result has half as many.
    """
    if rope.kind == "yarn":
        return _yarn_factors(rope, rotated)
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


def long_factors(rope: Rope, rotated: int) -> dict[str, NDArray[np.float32]]:
    """What longrope divides each frequency by: beyond the original length, and within it."""
    tensors = {}
    for kind in ("long", "short"):
        values = rope.parameters.numbers(f"{kind}_factor")
        if len(values) != rotated // 2 or min(values) <= 0:
            raise ExportError(
                f"config.json: '{kind}_factor' has {len(values)} numbers; {rotated // 2} above zero"
                " are needed, one for two rotated elements of a head."
            )
        tensors[f"rope_factors_{kind}.weight"] = np.array(values, np.float32)
    return tensors


def _yarn_magnitude(factor: float, scale: float = 1.0) -> float:
    return 0.1 * scale * log(factor) + 1


def _yarn_factors(rope: Rope, rotated: int) -> NDArray[np.float32]:
    fast, slow = (
        rotated
        * log(rope.original_length / (rope.parameters.number(key, usual) * 2 * pi))
        / (2 * log(rope.base))
        for key, usual in BETAS.items()
    )
    if rope.parameters.flag("truncate", True):
        fast, slow = floor(fast), ceil(slow)
    low, high = max(fast, 0), min(slow, rotated - 1)
    high += 0.001 if low == high else 0
    ramp = np.clip((np.arange(rotated // 2, dtype=np.float32) - low) / (high - low), 0, 1)
    factors: NDArray[np.float32] = (1 / (ramp / rope.factor + 1 - ramp)).astype(np.float32)
    return factors
