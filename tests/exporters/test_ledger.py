"""What arithmetic loses is written down, and given back."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from hubserve_exporters.encoding import rounded
from hubserve_exporters.errors import ExportError
from hubserve_exporters.gguf.cursor import Cursor
from hubserve_exporters.gguf.metadata import Metadata, read_metadata
from hubserve_exporters.gguf.writer import Value, encode_header
from hubserve_exporters.ledger import corrected, ledger_of
from hubserve_exporters.mapping import Group
from hubserve_exporters.operations import NegExp, Operation, PlusOne, apply, undo
from hubserve_exporters.tensor import Array, tensor_of


def as_read(keys: dict[str, Value]) -> Metadata:
    """The keys, after they have been in a file."""
    header = encode_header(keys, [])
    return read_metadata(Cursor(memoryview(header), 24, len(header)), len(keys))


def there_and_back(operation: Operation, values: Array) -> tuple[Array, dict[str, Value]]:
    group = Group(("x",), ("y",), (operation,), False)
    keys = ledger_of(group, {"x": tensor_of(values)})
    stored = [tensor_of(tensor.array()) for tensor in apply([operation], [tensor_of(values)])]
    (back,) = undo([operation], stored)
    return corrected("x", rounded(back.array(), values.dtype), as_read(keys)), keys


@pytest.mark.parametrize("operation", [PlusOne(), NegExp()], ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16])
@given(bits=arrays(np.uint32, st.integers(1, 40)))
def test_every_finite_number_comes_back(operation: Operation, dtype: Any, bits: Array) -> None:
    values = bits.view(np.float32)
    values = np.where(np.isfinite(values), values, np.float32(1))
    with np.errstate(over="ignore"):
        values = values.astype(dtype)
    found, _ = there_and_back(operation, values)
    assert found.tobytes() == values.tobytes()


def test_few_misses_are_kept_by_place_and_many_as_a_whole() -> None:
    halves = np.ones(1000, np.float16)
    assert there_and_back(PlusOne(), halves)[1] == {}
    halves[7] = 6e-8
    keys = there_and_back(PlusOne(), halves)[1]
    assert keys["hubserve.ledger.x.index"] == [7]
    assert len(np.asarray(keys["hubserve.ledger.x.bits"])) == 1
    noise = np.random.default_rng(0).normal(0, 0.1, 1000).astype(np.float32)
    keys = there_and_back(PlusOne(), noise)[1]
    assert keys.keys() == {"hubserve.ledger.x.bits"}


def test_a_matrix_is_no_norm() -> None:
    with pytest.raises(ExportError, match="no norm or decay has"):
        there_and_back(PlusOne(), np.ones((2048, 1024), np.float16))


@pytest.mark.parametrize(
    "keys",
    [
        {"bits": np.ones(3, np.uint16)},
        {"bits": np.ones(3, np.uint32)},
        {"bits": "text"},
        {"bits": np.ones(1, np.uint32), "index": np.full(1, 9, np.uint32)},
        {"bits": np.ones(2, np.uint32), "index": np.ones(1, np.uint32)},
        {"bits": np.ones(1, np.uint32), "index": np.ones(1, np.float32)},
    ],
)
def test_a_damaged_ledger_is_refused(keys: dict[str, Value]) -> None:
    metadata = as_read({f"hubserve.ledger.x.{key}": value for key, value in keys.items()})
    with pytest.raises(ExportError, match="'x' is damaged"):
        corrected("x", np.ones(4, np.float32), metadata)
