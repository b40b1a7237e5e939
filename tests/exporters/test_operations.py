"""Whatever an operation does, its inverse undoes, however many rows are read at a time."""

from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hubserve_exporters.errors import ExportError
from hubserve_exporters.operations import (
    NegExp,
    Operation,
    PackMxfp4,
    Permute,
    PlusOne,
    Reorder,
    Split,
    Squeeze,
    Stack,
    Transpose,
    apply,
    undo,
)
from hubserve_exporters.tensor import Array, Tensor, tensor_of

EXACT: list[tuple[tuple[Operation, ...], list[tuple[int, ...]]]] = [
    ((Permute(4),), [(48, 3)]),
    ((Permute(4),), [(48,)]),
    ((Reorder(2, 3, 4),), [(24, 5)]),
    ((Reorder(2, 3, 4, start=7),), [(31,)]),
    ((Reorder(3, 2, 1, axis=-1),), [(4, 6)]),
    ((Stack(),), [(4, 3)] * 5),
    ((Split(2, axis=-2),), [(3, 8, 5)]),
    ((Split(2),), [(8, 5)]),
    ((Split(2, interleaved=True),), [(8, 5)]),
    ((Split(2, axis=-1, interleaved=True),), [(3, 4, 8)]),
    ((Split(3, axis=1),), [(3, 6)]),
    ((Squeeze(1),), [(6, 1, 4)]),
    ((Squeeze(0),), [(1, 7)]),
    ((Transpose(),), [(3, 4, 5)]),
    ((Stack(), Transpose(), Split(2, axis=-2)), [(4, 6)] * 3),
    ((Squeeze(1), Reorder(2, 2, 3, start=4)), [(16, 1, 4)]),
]
DTYPES = [np.float32, np.float16, ml_dtypes.bfloat16]


def numbered(shape: tuple[int, ...], start: int, dtype: Any) -> Array:
    """Every element is another number."""
    return np.arange(start, start + np.prod(shape)).reshape(shape).astype(dtype)


def made(operations: Sequence[Operation], arrays: Sequence[Array]) -> list[Tensor]:
    return apply(operations, [tensor_of(array) for array in arrays])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("operations", "shapes"), EXACT, ids=lambda value: str(value)[:60])
@given(step=st.integers(1, 7))
def test_what_moves_numbers_gives_all_of_them_back(
    operations: tuple[Operation, ...], shapes: list[tuple[int, ...]], dtype: Any, step: int
) -> None:
    arrays = [numbered(shape, 100 * place, dtype) for place, shape in enumerate(shapes)]
    forward = made(operations, arrays)
    back = undo(operations, [tensor_of(tensor.array()) for tensor in forward])
    for array, tensor in zip(arrays, back, strict=True):
        assert tensor.shape == array.shape
        assert tensor.dtype == array.dtype
        np.testing.assert_array_equal(tensor.array(), array)
    for tensor in (*forward, *back):
        pieces = [
            tensor.read(start, min(start + step, tensor.shape[0]))
            for start in range(0, tensor.shape[0], step)
        ]
        np.testing.assert_array_equal(np.concatenate(pieces), tensor.array())
        assert tensor.array().shape == tensor.shape


def test_permuted_rows_are_pairs() -> None:
    rows = made([Permute(2)], [np.arange(8)])[0].array()
    assert rows.tolist() == [0, 2, 1, 3, 4, 6, 5, 7]


def test_reordered_groups_are_tiles() -> None:
    rows = made([Reorder(2, 3, 1)], [np.arange(6)])[0].array()
    assert rows.tolist() == [0, 3, 1, 4, 2, 5]


def test_a_split_takes_one_behind_the_other_or_every_second() -> None:
    whole = np.arange(6)
    assert [part.array().tolist() for part in made([Split(2)], [whole])] == [[0, 1, 2], [3, 4, 5]]
    every = made([Split(2, interleaved=True)], [whole])
    assert [part.array().tolist() for part in every] == [[0, 2, 4], [1, 3, 5]]


@given(st.data(), st.integers(1, 7))
def test_blocks_of_mxfp4_keep_every_bit(data: st.DataObject, step: int) -> None:
    rows, columns = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 3))
    random = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    codes = random.integers(0, 256, (rows, 4, columns, 16), np.uint8)
    scales = random.integers(0, 256, (rows, 4, columns), np.uint8)
    parts = made([PackMxfp4(), Split(2, axis=1, interleaved=True)], [codes, scales])
    back = undo([PackMxfp4(), Split(2, axis=1, interleaved=True)], parts)
    for array, tensor in zip((codes, scales), back, strict=True):
        pieces = [tensor.read(start, min(start + step, rows)) for start in range(0, rows, step)]
        np.testing.assert_array_equal(np.concatenate(pieces), array)


def test_a_block_of_mxfp4_has_its_halves_beside_each_other() -> None:
    codes = np.arange(16, dtype=np.uint8)[np.newaxis] * 16 + 1  # 1, 0, 1, 1, 1, 2, 1, 3 ...
    (blocks,) = made([PackMxfp4()], [codes, np.array([7], np.uint8)])
    (block,) = blocks.array()
    assert block["scale"] == 7
    assert (block["codes"] & 15).tolist() == [1, 0, 1, 1, 1, 2, 1, 3, 1, 4, 1, 5, 1, 6, 1, 7]
    assert (block["codes"] >> 4).tolist() == [1, 8, 1, 9, 1, 10, 1, 11, 1, 12, 1, 13, 1, 14, 1, 15]


@given(st.lists(st.floats(-8, 8, width=16), min_size=1))
def test_arithmetic_is_in_32_bits_whatever_the_source(values: list[float]) -> None:
    halves = np.array(values, np.float16)
    (moved,) = made([PlusOne()], [halves])
    assert moved.dtype == np.float32
    np.testing.assert_array_equal(moved.array(), halves.astype(np.float32) + 1)
    (decayed,) = made([NegExp()], [halves])
    np.testing.assert_array_equal(decayed.array(), -np.exp(halves.astype(np.float32)))


@given(st.lists(st.floats(-8, 8, width=16), min_size=1))
def test_arithmetic_comes_back_but_for_rounding(values: list[float]) -> None:
    halves = np.array(values, np.float16)
    for operation in (PlusOne(), NegExp()):
        (back,) = undo([operation], made([operation], [halves]))
        np.testing.assert_allclose(back.array(), halves.astype(np.float32), atol=1e-6)


@pytest.mark.parametrize(
    ("operation", "shapes", "message"),
    [
        (Permute(4), [(20, 3)], "20 rows do not divide into 8 halves of heads"),
        (Reorder(2, 3, 4), [(25,)], "not 24 to reorder"),
        (Reorder(2**20, 2**20, 2**20), [(25,)], f"not {2**60} to reorder"),
        (Stack(), [(4, 3), (3, 4)], "not all have the shape"),
        (Split(2, axis=-2), [(3, 7, 5)], "7 rows do not divide into 2 parts"),
        (Squeeze(1), [(6, 2, 4)], "dimension 1 has to be 1"),
        (Transpose(), [(3, 4)], "three dimensions are needed"),
        (PackMxfp4(), [(3, 2, 16), (3, 2)], "16 bytes for each scale are needed"),
    ],
)
def test_shapes_that_do_not_fit_are_refused(
    operation: Operation, shapes: list[tuple[int, ...]], message: str
) -> None:
    with pytest.raises(ExportError, match=message):
        made([operation], [np.zeros(shape) for shape in shapes])
