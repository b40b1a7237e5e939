"""The table of tensor types, held against two others."""

import ctypes
from importlib.util import find_spec
from pathlib import Path

import pytest
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType

from hubserve_exporters.gguf.errors import GGUFError
from hubserve_exporters.gguf.tensor_types import TENSOR_TYPES, TensorType


def test_the_gguf_package_has_the_same_sizes() -> None:
    for theirs in GGMLQuantizationType:
        ours = TENSOR_TYPES[theirs.value]
        assert ours.name == theirs.name
        if theirs is GGMLQuantizationType.Q8_1:
            # gguf 0.19 counts its two scales as 32 bits each; in ggml they have 16.
            continue
        assert (ours.block_elements, ours.block_bytes) == GGML_QUANT_SIZES[theirs]


def test_the_ggml_that_serves_has_the_same_types() -> None:
    package = find_spec("llama_cpp")
    assert package is not None
    assert package.origin is not None
    libraries = sorted((Path(package.origin).parent / "lib").glob("*ggml-base.*"))
    ggml = ctypes.CDLL(str(libraries[0]))
    ggml.ggml_type_size.restype = ctypes.c_size_t
    ggml.ggml_blck_size.restype = ctypes.c_int64
    for number in range(max(TENSOR_TYPES) + 1):
        block = (ggml.ggml_blck_size(number), ggml.ggml_type_size(number))
        if number in TENSOR_TYPES:
            ours = TENSOR_TYPES[number]
            assert (ours.block_elements, ours.block_bytes) == block
        else:
            assert block == (0, 0)


def test_a_size_counts_whole_blocks() -> None:
    assert TensorType.F16.size((3, 5)) == 30
    assert TensorType.Q6_K.size((512, 2)) == 4 * 210
    with pytest.raises(GGUFError, match="rows of 255 elements do not divide into Q6_K blocks"):
        TensorType.Q6_K.size((255, 256))
