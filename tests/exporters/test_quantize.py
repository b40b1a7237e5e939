"""K- and I-quants, written by llama.cpp in a process of its own."""

import ctypes
from pathlib import Path

import llama_cpp.llama_cpp as llama
import numpy as np
import pytest
from gguf import GGMLQuantizationType, GGUFWriter, LlamaFileType
from gguf.quants import dequantize
from gguf.quants import quantize as encode
from tests.exporters.test_importance import new_form, old_form

from hubserve_exporters.errors import ExportError
from hubserve_exporters.gguf.reader import open_gguf
from hubserve_exporters.gguf.tensor_types import TensorType
from hubserve_exporters.gguf.tensors import TensorInfo
from hubserve_exporters.quantize import SCHEMES, file_type, quantize

ROWS = 64
DOWN = "blk.0.ffn_down.weight"


def model(path: Path, *, width: int = 256, kind: str = "BF16") -> Path:
    """A llama of one layer; `width` is the length of a row."""
    type_ = GGMLQuantizationType[kind]
    random = np.random.default_rng(5)
    writer = GGUFWriter(path, "llama")
    writer.add_block_count(1)
    writer.add_context_length(64)
    writer.add_embedding_length(width)
    writer.add_feed_forward_length(width)
    writer.add_head_count(4)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_file_type(LlamaFileType.MOSTLY_BF16)
    writer.add_tokenizer_model("none")
    writer.add_vocab_size(ROWS)
    writer.add_string("made.up", "kept")
    names = ["token_embd.weight", "output_norm.weight", "blk.0.attn_norm.weight", DOWN]
    names += [f"blk.0.{name}.weight" for name in ("attn_q", "attn_k", "attn_v", "attn_output")]
    names += [f"blk.0.{name}.weight" for name in ("ffn_norm", "ffn_gate", "ffn_up")]
    for name in names:
        rows = ROWS if name.startswith("token") else width
        shape = (width,) if "norm" in name else (rows, width)
        values = random.standard_normal(shape).astype(np.float32)
        if "norm" in name:
            writer.add_tensor(name, values)
        else:
            writer.add_tensor(name, encode(values, type_), raw_dtype=type_)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def types(path: Path) -> set[TensorType]:
    with open_gguf(path) as file:
        return {tensor.type for tensor in file.tensors.values()}


def test_matrices_are_quantized_and_the_rest_of_the_file_is_kept(tmp_path: Path) -> None:
    source, target = model(tmp_path / "a.gguf"), tmp_path / "b.gguf"
    shares: list[float] = []
    quantize([source], [target], "q4_k_m", report=shares.append)
    assert types(target) == {TensorType.Q4_K, TensorType.Q6_K, TensorType.F32}
    assert shares == sorted(shares) and shares[-1] == 1
    with open_gguf(source) as before, open_gguf(target) as after:
        assert after.metadata["general.file_type"] == LlamaFileType.MOSTLY_Q4_K_M
        assert after.metadata["made.up"] == "kept"
        norm = "blk.0.attn_norm.weight"
        assert bytes(after.tensor(norm)) == bytes(before.tensor(norm))
        assert set(after.tensors) == set(before.tensors)


def test_rows_that_do_not_divide_make_another_file_type(tmp_path: Path) -> None:
    target = tmp_path / "b.gguf"
    quantize([model(tmp_path / "a.gguf", width=96)], [target], "q4_k_m")
    assert types(target) == {TensorType.Q5_0, TensorType.Q8_0, TensorType.F32}
    with open_gguf(target) as file:
        assert file.metadata["general.file_type"] == LlamaFileType.MOSTLY_Q5_0


@pytest.mark.parametrize("form", ["dat", "gguf"])
def test_an_importance_matrix_makes_the_inputs_that_matter_more_exact(
    tmp_path: Path, form: str
) -> None:
    source, weights = model(tmp_path / "a.gguf"), ([1e6] + [1e-6] * 15) * 16
    with open_gguf(source) as file:
        matrices = [name for name in file.tensors if name.startswith("blk") and "norm" not in name]
    matrix = tmp_path / f"m.{form}"
    if form == "dat":
        matrix.write_bytes(old_form({name: (weights, 1) for name in matrices}))
    else:
        new_form(matrix, {name: ([weights], [1.0]) for name in matrices})
    plain, weighed = tmp_path / "plain.gguf", tmp_path / "weighed.gguf"
    quantize([source], [plain], "q3_k_s")
    quantize([source], [weighed], "q3_k_s", importance=matrix)

    def wrong(path: Path) -> float:
        with open_gguf(source) as before, open_gguf(path) as after:
            stored = np.frombuffer(before.tensor(DOWN), np.uint8).reshape(256, -1)
            exact = dequantize(stored, GGMLQuantizationType.BF16)
            info = after.tensors[DOWN]
            stored = np.frombuffer(after.tensor(DOWN), np.uint8).reshape(256, -1)
            given = dequantize(stored, GGMLQuantizationType(info.type.number))
        return float(np.square(given - exact)[:, ::16].mean())

    assert wrong(weighed) < wrong(plain) / 2
    # Some types cannot do without.
    quantize([source], [weighed], "iq2_xxs", importance=matrix)
    assert TensorType.IQ2_XXS in types(weighed)
    with pytest.raises(ExportError, match="iq2_xxs needs an importance matrix"):
        quantize([source], [weighed], "iq2_xxs")


@pytest.mark.parametrize(
    ("entries", "said"),
    [({"other.weight": ([1.0], 1)}, "'other.weight'"), ({DOWN: ([1.0] * 7, 1)}, "7 values")],
)
def test_an_importance_matrix_of_another_model_stops_it(
    tmp_path: Path, entries: dict[str, tuple[list[float], int]], said: str
) -> None:
    matrix, target = tmp_path / "m.dat", tmp_path / "b.gguf"
    matrix.write_bytes(old_form(entries))
    with pytest.raises(ExportError, match="another") as caught:
        quantize([model(tmp_path / "a.gguf")], [target], "q4_k_m", importance=matrix)
    assert said in str(caught.value)
    assert not target.exists()


def test_what_llama_cpp_refuses_is_a_sentence_and_leaves_no_file(tmp_path: Path) -> None:
    source, target = model(tmp_path / "a.gguf", kind="Q8_0"), tmp_path / "b.gguf"
    with pytest.raises(ExportError, match=r"requantizing from type q8_0 is disabled\.$"):
        quantize([source], [target], "q4_k_m")
    assert not target.exists()


def test_the_structure_of_the_call_is_the_librarys() -> None:
    """Its fields move from one release to the next; wrong ones would be read as others."""
    params = llama.llama_model_quantize_default_params()
    assert ctypes.sizeof(params) == 64
    assert params.ftype == LlamaFileType.MOSTLY_Q8_0 and params.quantize_output_tensor
    assert not (params.allow_requantize or params.only_copy or params.pure or params.keep_split)
    assert not (params.imatrix or params.kv_overrides or params.prune_layers)
    assert params.max_buf_size == 8 * 1024**3


@pytest.mark.parametrize("scheme", SCHEMES)
def test_schemes_are_what_llama_cpp_takes_them_for(scheme: str) -> None:
    chosen = SCHEMES[scheme]
    assert chosen.file_type.name == f"MOSTLY_{scheme.upper()}"
    block = [TensorInfo("blk.0.a.weight", chosen.base, (256, 1), 0, 1)]
    assert file_type(chosen, block) == chosen.file_type
    embedding = TensorInfo("token_embd.weight", TensorType.Q8_0, (256, 99), 0, 1)
    assert file_type(chosen, [*block, embedding]) == chosen.file_type
    half = [TensorInfo("blk.0.a.weight", TensorType.F16, (7, 9), 0, 1)]
    assert file_type(chosen, half) == LlamaFileType.MOSTLY_F16
