"""Which tensor is kept in which type, and what a file says of itself."""

import pytest
from gguf import LlamaFileType

from hubserve_exporters.errors import ExportError
from hubserve_exporters.gguf.tensor_types import TensorType
from hubserve_exporters.types import Types, file_type, main_type

MATRIX = (64, 256)


def test_vectors_and_what_is_no_weight_keep_32_bits() -> None:
    types = Types(TensorType.Q8_0)
    assert types.of("blk.0.attn_norm.weight", (256,), float32=False) is TensorType.F32
    assert types.of("blk.0.ffn_gate_exps.bias", MATRIX, float32=False) is TensorType.F32
    assert types.of("blk.0.ffn_gate_inp.weight", MATRIX, float32=True) is TensorType.F32
    assert types.of("blk.0.ffn_up.weight", MATRIX, float32=False) is TensorType.Q8_0


def test_the_ends_of_a_small_model_have_8_bits() -> None:
    types = Types(TensorType.Q4_0)
    assert types.of("token_embd.weight", MATRIX, float32=False) is TensorType.Q8_0
    assert types.of("output.weight", MATRIX, float32=False) is TensorType.Q8_0
    assert types.of("blk.0.ffn_up.weight", MATRIX, float32=False) is TensorType.Q4_0


def test_mxfp4_is_for_experts_where_there_are_any() -> None:
    types = Types(TensorType.MXFP4, experts=True)
    assert types.of("blk.0.ffn_up_exps.weight", MATRIX, float32=False) is TensorType.MXFP4
    assert types.of("blk.0.attn_q.weight", MATRIX, float32=False) is TensorType.Q8_0
    alone = Types(TensorType.MXFP4)
    assert alone.of("blk.0.attn_q.weight", MATRIX, float32=False) is TensorType.MXFP4


def test_rows_that_do_not_divide_into_blocks_have_16_bits() -> None:
    types = Types(TensorType.Q8_0)
    assert types.of("blk.0.ffn_up.weight", (64, 100), float32=False) is TensorType.F16


@pytest.mark.parametrize(
    ("wanted", "sources", "found"),
    [
        ("auto", [("BF16", 9), ("F32", 1)], TensorType.BF16),
        ("auto", [("F16", 9), ("F32", 1)], TensorType.F16),
        ("auto", [("F32", 9), ("F16", 1)], TensorType.F32),
        ("AUTO", [("F64", 9)], TensorType.F32),
        ("Q8_0", [("F32", 9)], TensorType.Q8_0),
        ("q5_0", [("F32", 9)], TensorType.Q5_0),
    ],
)
def test_the_type_that_is_asked_for(
    wanted: str, sources: list[tuple[str, int]], found: TensorType
) -> None:
    assert main_type(wanted, sources) is found


def test_a_type_that_is_not_known() -> None:
    with pytest.raises(ExportError, match="'q9' is not known; auto, f32, f16, bf16"):
        main_type("q9", [])


def test_the_file_says_what_most_of_it_is() -> None:
    assert file_type([(TensorType.F32, 5), (TensorType.Q8_0, 90)]) == LlamaFileType.MOSTLY_Q8_0
    assert file_type([(TensorType.F32, 5)]) == LlamaFileType.ALL_F32
    assert file_type([(TensorType.BF16, 5)]) == LlamaFileType.MOSTLY_BF16
    for type_ in ("Q4_0", "Q4_1", "Q5_0", "Q5_1", "F16"):
        assert file_type([(TensorType[type_], 1)]) == LlamaFileType[f"MOSTLY_{type_}"]
