"""A model in GGUF as numbers, whether it is in one file or in parts."""

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from gguf import GGMLQuantizationType
from gguf.quants import dequantize, quantize
from tests.support.gguf_builder import write_gguf
from tests.support.weights import TINY_LLAMA

from hubserve_exporters import ExportError, GGUFReader
from hubserve_exporters.gguf.errors import GGUFError
from hubserve_exporters.gguf.tensor_types import TensorType
from hubserve_exporters.gguf.writer import encode_header


def test_tensors_are_numbers_with_the_length_of_a_row_last() -> None:
    with GGUFReader(TINY_LLAMA) as reader:
        assert reader.metadata["general.architecture"] == "llama"
        assert reader.tensors["token_embd.weight"].shape == (64, 288)
        embedding = reader.tensor("token_embd.weight")
        assert embedding.shape == (288, 64)
        assert embedding.dtype == np.float16
        assert reader.tensor("output_norm.weight").dtype == np.float32
        with pytest.raises(KeyError):
            reader.tensor("no such tensor")
    # What was taken stays.
    assert np.isfinite(embedding).all()


def one_tensor(path: Path, type_: TensorType, data: bytes) -> Path:
    path.write_bytes(encode_header({}, [("it", type_, (256, 2))]) + data)
    return path


def test_blocks_are_what_they_stand_for(tmp_path: Path) -> None:
    values = np.random.default_rng(0).normal(0, 1, (2, 256)).astype(np.float32)
    for type_ in (TensorType.Q8_0, TensorType.Q4_0, TensorType.MXFP4, TensorType.BF16):
        theirs = GGMLQuantizationType(type_.number)
        blocks = quantize(values, theirs)
        with GGUFReader(one_tensor(tmp_path / "it.gguf", type_, blocks.tobytes())) as reader:
            found = reader.tensor("it").astype(np.float32)
        np.testing.assert_array_equal(found, dequantize(blocks, theirs))
    assert blocks.dtype != ml_dtypes.bfloat16


def test_k_quants_are_read_as_well(tmp_path: Path) -> None:
    data = np.random.default_rng(0).integers(0, 60, 2 * 210, np.uint8)
    theirs = dequantize(data.reshape(2, 210), GGMLQuantizationType.Q6_K)
    with GGUFReader(one_tensor(tmp_path / "it.gguf", TensorType.Q6_K, data.tobytes())) as reader:
        np.testing.assert_array_equal(reader.tensor("it"), theirs)


def test_a_type_without_numbers_is_named(tmp_path: Path) -> None:
    size = TensorType.Q8_K.size((256, 2))
    path = one_tensor(tmp_path / "it.gguf", TensorType.Q8_K, bytes(size))
    with GGUFReader(path) as reader, pytest.raises(ExportError, match=r"'it'.*type Q8_K cannot"):
        reader.tensor("it")


def test_any_part_stands_for_the_whole(tmp_path: Path) -> None:
    first = write_gguf(tmp_path / "it-00001-of-00002.gguf", {"a": 1}, tensors={"one": (2, 3)})
    second = write_gguf(tmp_path / "it-00002-of-00002.gguf", {"b": 1}, tensors={"two": (3, 4)})
    for path in (first, second):
        with GGUFReader(path) as reader:
            assert list(reader.tensors) == ["one", "two"]
            assert reader.metadata["a"] == 1
            assert reader.tensor("two").shape == (3, 4)


def test_a_part_that_is_missing_is_named(tmp_path: Path) -> None:
    write_gguf(tmp_path / "m-00003-of-00003.gguf")
    write_gguf(tmp_path / "m-00001-of-00003.gguf")
    said = r"m-00002-of-00003\.gguf: this part of the model is missing; put all 3 into one folder"
    with pytest.raises(GGUFError, match=said):
        GGUFReader(tmp_path / "m-00003-of-00003.gguf")
    with pytest.raises(FileNotFoundError):
        GGUFReader(tmp_path / "n-00001-of-00002.gguf")


def test_a_tensor_is_in_one_part(tmp_path: Path) -> None:
    for number in (1, 2):
        write_gguf(tmp_path / f"it-0000{number}-of-00002.gguf", tensors={"one": (2, 3)})
    with pytest.raises(GGUFError, match="'one' is in two parts"):
        GGUFReader(tmp_path / "it-00001-of-00002.gguf")
