"""Whether two answers are the same, as far as llama.cpp's numbers are: see decision 7."""

from typing import Any

TINY, QUANTIZED = 0.05, 1.0
"""How far log probabilities of likely tokens may lie apart in models of 16 bits, and of fewer."""


def is_near(one: list[Any], other: list[Any], tolerance: float = TINY) -> bool:
    """Whether two texts are equal; as far as they are, so are their log probabilities, nearly."""
    for mine, its in zip(one, other, strict=True):
        likely = _by_bytes(mine), _by_bytes(its)
        for token in likely[0].keys() & likely[1].keys():
            assert abs(likely[0][token] - likely[1][token]) < tolerance
        if mine["bytes"] != its["bytes"]:
            return False
    return True


def _by_bytes(token: Any) -> dict[bytes, float]:
    return {bytes(each["bytes"]): each["logprob"] for each in token["top_logprobs"]}
