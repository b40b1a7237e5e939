"""Numbers as tensor types keep them, held against gguf's own code and numpy's."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from gguf import GGMLQuantizationType
from gguf.quants import quantize
from hypothesis import given
from hypothesis.extra.numpy import arrays

from hubserve_exporters.encoding import ENCODED, decode, encode, rounded, stored_dtype, widened
from hubserve_exporters.errors import ExportError
from hubserve_exporters.gguf.tensor_types import TensorType

EVERY_BFLOAT16 = np.arange(2**16, dtype=np.uint16).view(ml_dtypes.bfloat16)


def finite(values: Any) -> Any:
    return values[np.isfinite(values.astype(np.float32))]


def test_every_bfloat16_becomes_the_nearest_half_up_to_the_largest() -> None:
    values = finite(EVERY_BFLOAT16)
    nearest = np.clip(values.astype(np.float32), -65504, 65504).astype(np.float16)
    assert rounded(values, np.dtype(np.float16)).tobytes() == nearest.tobytes()
    grid = values[: len(values) // 3 * 3].reshape(-1, 3)
    assert rounded(grid, np.dtype(np.float16)).shape == grid.shape


def test_many_numbers_become_the_nearest_halves_up_to_the_largest() -> None:
    values = np.random.default_rng(0).normal(0, 3e4, (3, 2**16 + 5)).astype(np.float32)
    nearest = np.clip(values, -65504, 65504).astype(np.float16)
    assert rounded(values, np.dtype(np.float16)).tobytes() == nearest.tobytes()
    assert rounded(values.T, np.dtype(np.float16)).tobytes() == nearest.T.tobytes()


def test_every_bfloat16_is_the_same_number_in_32_bits() -> None:
    values = finite(EVERY_BFLOAT16)
    assert widened(values).tobytes() == values.astype(np.float32).tobytes()


@pytest.mark.parametrize("source", [np.float32, np.float16, ml_dtypes.bfloat16, np.float64])
@pytest.mark.parametrize("type_", ENCODED)
def test_the_bytes_are_those_of_gguf(type_: TensorType, source: Any) -> None:
    values = np.random.default_rng(0).normal(0, 1, (4, 64)).astype(source)
    expected = quantize(values.astype(np.float32), GGMLQuantizationType(type_.number))
    data = encode(values, type_)
    assert data.tobytes() == expected.tobytes()
    assert len(data) == type_.size((64, 4))
    back = decode(data, type_, (4, 64))
    assert back.shape == (4, 64)
    assert back.dtype == stored_dtype(type_)


@given(arrays(np.uint32, (1, 32)))
def test_plain_types_come_back_bit_for_bit(bits: Any) -> None:
    values = bits.view(np.float32)
    values = np.where(np.isfinite(values), values, np.float32(0))
    for type_ in (TensorType.F32, TensorType.F16, TensorType.BF16):
        with np.errstate(over="ignore"):
            kept = rounded(values, stored_dtype(type_))
        if np.isfinite(kept.astype(np.float32)).all():
            assert decode(encode(kept, type_), type_, (1, 32)).tobytes() == kept.tobytes()


@pytest.mark.parametrize("source", [np.float32, np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_what_is_no_number_is_refused(source: Any, wrong: float) -> None:
    values = np.zeros((2, 2**17), source)
    values[1, -7] = wrong
    for type_ in (TensorType.F32, TensorType.BF16, TensorType.Q8_0):
        with pytest.raises(ExportError, match="infinite or none at all"):
            encode(values, type_)
