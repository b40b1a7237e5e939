"""What the safetensors library writes is read; what it refuses is refused."""

import json
from pathlib import Path
from struct import pack
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from hubserve_exporters.errors import ExportError
from hubserve_exporters.safetensors_file import (
    dtype_name,
    encode_directory,
    numpy_dtype,
    open_tensor,
    read_directory,
)


def write(path: Path, header: Any, data: bytes = b"") -> Path:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(pack("<Q", len(text)) + text + data)
    return path


def entry(dtype: str = "F32", shape: Any = (2,), offsets: Any = (0, 8)) -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": offsets}


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16, np.int64, np.bool_])
def test_tensors_come_back_whole_and_by_rows(dtype: Any, tmp_path: Path) -> None:
    arrays = {
        "a": np.arange(24).reshape(4, 3, 2).astype(dtype),
        "b": np.arange(5).astype(dtype),
    }
    save_file(arrays, tmp_path / "it.safetensors")
    directory = read_directory(tmp_path / "it.safetensors")
    assert directory.keys() == arrays.keys()
    for name, array in arrays.items():
        tensor = open_tensor(directory[name])
        assert tensor.dtype == array.dtype
        np.testing.assert_array_equal(tensor.array(), array)
        np.testing.assert_array_equal(tensor.read(1, 3), array[1:3])
        np.testing.assert_array_equal(np.concatenate(list(tensor.chunks(7))), array)


def test_what_is_written_the_library_reads(tmp_path: Path) -> None:
    path = tmp_path / "it.safetensors"
    data = np.arange(6, dtype=np.float32)
    path.write_bytes(encode_directory({"a": ("F32", (2, 3))}) + data.tobytes())
    with safe_open(path, "np") as file:
        np.testing.assert_array_equal(file.get_tensor("a"), data.reshape(2, 3))
        assert file.metadata() == {"format": "pt"}


def test_the_words_for_types_and_back() -> None:
    for name in ("F64", "F32", "F16", "BF16", "I64", "U8", "BOOL", "F8_E4M3"):
        assert dtype_name(numpy_dtype(name)) == name


@pytest.mark.parametrize(
    ("header", "message"),
    [
        (b"{", "no sound safetensors file"),
        (b"\xff\xfe", "no sound safetensors file"),
        (b"[1]", "not an object"),
        (b"[" * 100_000, "no sound safetensors file"),
        ({"a": 1}, "the entry of 'a' lacks"),
        ({"a": entry("F33")}, "the type 'F33'"),
        ({"a": entry(shape=(-2,))}, "a number that is none, or negative"),
        ({"a": entry(shape=(1.5,))}, "a number that is none, or negative"),
        ({"a": entry(shape=(2**40, 2**40))}, "takes 8 bytes; its shape needs"),
        ({"a": entry(shape=(3,))}, "takes 8 bytes; its shape needs 12"),
        ({"a": entry(offsets=(8, 0))}, "takes -8 bytes"),
        ({"a": entry(offsets=(4, 12))}, "does not begin where"),
        ({"a": entry(), "b": entry()}, "does not begin where"),
        ({"a": entry(), "b": entry(offsets=(8, 16))}, "end at byte"),
        (
            b'{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"a":{}}',
            "it has 'a' twice",
        ),
    ],
)
def test_what_is_wrong_is_named(header: Any, message: str, tmp_path: Path) -> None:
    path = write(tmp_path / "it.safetensors", header, bytes(8))
    with pytest.raises(ExportError, match=message):
        read_directory(path)
    with pytest.raises(SafetensorError), safe_open(path, "np"):
        pass


@pytest.mark.parametrize("size", [0, 7, 8, 20])
def test_a_file_that_ends_too_early(size: int, tmp_path: Path) -> None:
    path = write(tmp_path / "it.safetensors", {"a": entry()}, bytes(8))
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(ExportError, match="not downloaded to the end"):
        read_directory(path)


def test_a_file_that_shrinks_meanwhile(tmp_path: Path) -> None:
    path = write(tmp_path / "it.safetensors", {"a": entry()}, bytes(8))
    tensor = open_tensor(read_directory(path)["a"])
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(ExportError, match="became shorter"):
        tensor.array()


@given(data=st.data())
def test_any_bytes_are_read_or_refused(data: st.DataObject, tmp_path_factory: Any) -> None:
    path = tmp_path_factory.getbasetemp() / "any.safetensors"
    write(path, {"a": entry(), "b": entry("BF16", (2, 2), (8, 16))}, bytes(16))
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(content)
    try:
        directory = read_directory(path)
    except ExportError:
        return
    for stored in directory.values():
        assert open_tensor(stored).array().shape == stored.shape
