"""What the writer writes, gguf's own reader reads, and ours."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gguf import GGUFReader, GGUFValueType
from hypothesis import given
from hypothesis import strategies as st

from hubserve_exporters.gguf.reader import open_gguf
from hubserve_exporters.gguf.tensor_types import TensorType
from hubserve_exporters.gguf.writer import ALIGNMENT, Value, encode_header, padding

TYPES = GGUFValueType
VALUES: list[tuple[Value, list[GGUFValueType], Any]] = [
    ("text ü", [TYPES.STRING], "text ü"),
    ("", [TYPES.STRING], ""),
    (True, [TYPES.BOOL], True),
    (7, [TYPES.UINT32], 7),
    (2**32, [TYPES.UINT64], 2**32),
    (-7, [TYPES.INT32], -7),
    (-(2**40), [TYPES.INT64], -(2**40)),
    (0.5, [TYPES.FLOAT32], 0.5),
    (np.uint16(3), [TYPES.UINT16], 3),
    (["a", "b"], [TYPES.ARRAY, TYPES.STRING], ["a", "b"]),
    ([True, False], [TYPES.ARRAY, TYPES.BOOL], [True, False]),
    ([1, -2], [TYPES.ARRAY, TYPES.INT32], [1, -2]),
    ([0.5, 1.0], [TYPES.ARRAY, TYPES.FLOAT32], [0.5, 1.0]),
    (np.arange(3, dtype=np.uint8), [TYPES.ARRAY, TYPES.UINT8], [0, 1, 2]),
    (np.arange(3, dtype=np.uint32), [TYPES.ARRAY, TYPES.UINT32], [0, 1, 2]),
]


def write(path: Path, metadata: dict[str, Value], tensors: dict[str, Any]) -> Path:
    entries = [(name, TensorType.F32, array.shape[::-1]) for name, array in tensors.items()]
    data = encode_header(metadata, entries)
    for array in tensors.values():
        data += array.tobytes() + padding(array.nbytes)
    path.write_bytes(data)
    return path


@pytest.mark.parametrize(("value", "types", "read"), VALUES, ids=str)
def test_gguf_reads_each_type_of_value(
    value: Value, types: list[GGUFValueType], read: Any, tmp_path: Path
) -> None:
    path = write(tmp_path / "it.gguf", {"general.architecture": "llama", "key": value}, {})
    field = GGUFReader(path).get_field("key")
    assert field is not None
    assert field.types == types
    assert field.contents() == read


def test_both_readers_find_the_tensors(tmp_path: Path) -> None:
    arrays = {
        "vector": np.arange(5, dtype=np.float32),
        "matrix": np.arange(6, dtype=np.float32).reshape(2, 3),
        "cube": np.arange(24, dtype=np.float32).reshape(2, 3, 4),
    }
    path = write(tmp_path / "it.gguf", {"general.architecture": "llama"}, arrays)
    theirs = {tensor.name: tensor.data for tensor in GGUFReader(path).tensors}
    with open_gguf(path) as file:
        assert file.alignment == ALIGNMENT
        for name, array in arrays.items():
            np.testing.assert_array_equal(theirs[name], array)
            assert file.tensors[name].shape == array.shape[::-1]
            assert file.tensor(name).tobytes() == array.tobytes()


@given(values=st.dictionaries(st.text("abc.", min_size=1), st.lists(st.text(), min_size=1)))
def test_any_text_comes_back(values: dict[str, list[str]], tmp_path_factory: Any) -> None:
    values = {key: value for key, value in values.items() if key != "general.alignment"}
    path = tmp_path_factory.getbasetemp() / "texts.gguf"
    with open_gguf(write(path, dict(values), {})) as file:
        assert {key: list(file.metadata.strings(key) or ()) for key in values} == values


def test_tokens_that_are_parts_of_characters_keep_their_bytes(tmp_path: Path) -> None:
    tokens = [b"\xe2\x82".decode("utf-8", "surrogateescape"), "whole"]
    with open_gguf(write(tmp_path / "it.gguf", {"tokens": tokens}, {})) as file:
        assert list(file.metadata.strings("tokens") or ()) == tokens
