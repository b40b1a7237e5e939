"""Importance matrices in both their forms, and what is none."""

import struct
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from gguf import GGUFWriter
from hypothesis import given
from hypothesis import strategies as st

from hubserve_exporters.errors import ExportError
from hubserve_exporters.gguf.tensor_types import TensorType
from hubserve_exporters.gguf.tensors import TensorInfo
from hubserve_exporters.importance import check_importance, read_importance

Entry = tuple[list[float], int]


def old_form(entries: Mapping[str, Entry], end: bytes = b"") -> bytes:
    parts = [struct.pack("<i", len(entries))]
    for name, (sums, calls) in entries.items():
        text = name.encode()
        parts.append(struct.pack("<i", len(text)) + text)
        parts.append(struct.pack(f"<ii{len(sums)}f", calls, len(sums), *sums))
    return b"".join(parts) + end


def new_form(
    path: Path, entries: Mapping[str, tuple[list[list[float]], list[float]]], kind: str = "imatrix"
) -> Path:
    writer = GGUFWriter(path, "")
    writer.add_type(kind)
    for name, (sums, counts) in entries.items():
        writer.add_tensor(f"{name}.in_sum2", np.array(sums, np.float32))
        if counts:
            writer.add_tensor(f"{name}.counts", np.array(counts, np.float32).reshape(-1, 1))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


@pytest.mark.parametrize("end", [b"", struct.pack("<i", 7), struct.pack("<ii", 7, 3) + b"a.b"])
def test_the_older_form_is_a_sum_over_calls(tmp_path: Path, end: bytes) -> None:
    path = tmp_path / "m.dat"
    path.write_bytes(old_form({"a.weight": ([2.0, 4.0], 2), "b.weight": ([3.0], 0)}, end))
    read = read_importance(path)
    assert {name: values.tolist() for name, values in read.items()} == {
        "a.weight": [1.0, 2.0],
        "b.weight": [3.0],
    }


def test_the_newer_form_counts_each_expert(tmp_path: Path) -> None:
    sums = [[2.0, 4.0], [0.0, 0.0], [9.0, 3.0]]
    path = new_form(tmp_path / "m.gguf", {"a.weight": (sums, [2, 0, 3])})
    assert read_importance(path)["a.weight"].tolist() == [1, 2, 1, 1, 3, 1]


ONE_CALL = struct.pack("<ii", 1, 1) + b"a" + struct.pack("<i", 1)
GOOD = old_form({"a": ([1.0, 2.0], 1)})


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "ends before the number of entries"),
        (struct.pack("<i", 0), "the number of entries is 0"),
        (struct.pack("<i", -1), "the number of entries is -1"),
        (GOOD[:-1], "it ends after 24 bytes, and has to go on"),
        (struct.pack("<ii", 1, 2**30), "a name's length is 1073741824"),
        (struct.pack("<ii", 1, 1) + b"\xff" + bytes(12), "is not UTF-8"),
        (
            struct.pack("<ii", 1, 1) + b"a" + struct.pack("<ii", 1, 0),
            "number of values of 'a' is 0",
        ),
        (struct.pack("<ii", 1, 1) + b"a" + struct.pack("<ii", 1, 2**31 - 1), "has to go on"),
        (struct.pack("<i", 2) + GOOD[4:] * 2, "'a' is there twice"),
        (GOOD + struct.pack("<ii", 1, 0) + b"more", "4 bytes follow"),
        (old_form({"a": ([float("nan")], 1)}), "no mean of squares"),
        (old_form({"a": ([-1.0], 1)}), "no mean of squares"),
        (b"PK\x03\x04" + bytes(40), "a name's length is 0"),
    ],
)
def test_what_is_none_is_refused_with_its_fault(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "m.dat"
    path.write_bytes(content)
    with pytest.raises(ExportError, match="make one with llama-imatrix") as caught:
        read_importance(path)
    assert said in str(caught.value) and str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("sums", "counts", "kind", "said"),
    [
        ([[1.0]], [1], "model", "general.type is 'model'"),
        ([[1.0]], [], "imatrix", "no tensor 'a.counts'"),
        ([[1.0, 2.0, 3.0]], [1, 1], "imatrix", "3 sums and 2 counts"),
        ([[float("inf")]], [1], "imatrix", "no mean of squares"),
    ],
)
def test_a_gguf_file_that_is_none_is_refused(
    tmp_path: Path, sums: list[list[float]], counts: list[float], kind: str, said: str
) -> None:
    path = new_form(tmp_path / "m.gguf", {"a": (sums, counts)}, kind)
    with pytest.raises(ExportError) as caught:
        read_importance(path)
    assert said in str(caught.value)


def test_a_file_that_is_not_there_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(ExportError, match="cannot be read: No such file"):
        read_importance(tmp_path / "m.dat")


@given(st.binary(max_size=80))
def test_any_bytes_are_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, end: bytes
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.dat"
    for content in (end, GOOD[:12] + end, b"GGUF" + end):
        path.write_bytes(content)
        try:
            assert read_importance(path)
        except ExportError as error:
            assert str(path) in str(error)


def test_a_matrix_of_another_model_is_refused() -> None:
    tensors = [
        TensorInfo("a", TensorType.BF16, (4, 8), 0, 64),
        TensorInfo("experts", TensorType.BF16, (4, 8, 3), 64, 192),
    ]
    check_importance({"a": np.ones(4), "experts": np.ones(12)}, tensors)
    with pytest.raises(ExportError, match="'b', which this model has not"):
        check_importance({"b": np.ones(4)}, tensors)
    with pytest.raises(ExportError, match="4 values for 'experts', which has 12 inputs"):
        check_importance({"experts": np.ones(4)}, tensors)
