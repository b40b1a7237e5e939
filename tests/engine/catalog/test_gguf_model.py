from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from gguf import LlamaFileType
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.gguf_builder import Value, write_gguf

from hubserve_engine.catalog.gguf_model import read_model
from hubserve_engine.errors import ResolveError
from hubserve_engine.types import Sampling

FIXTURES = Path(__file__).parents[2] / "fixtures"


def test_the_facts_of_a_hybrid() -> None:
    path = FIXTURES / "tiny-qwen35.gguf"
    model = read_model([path])
    assert model.architecture == "qwen35"
    assert model.name == "Tiny Qwen3.5"
    assert model.quantization == "F16"
    assert model.size == path.stat().st_size
    assert model.vocabulary == 288
    assert model.embedding_length == 64
    assert model.context_trained == 65536
    assert model.layers == 4
    assert model.chat_template is not None and "enable_thinking" in model.chat_template
    assert model.sampling == Sampling(temperature=0.6, top_k=20, top_p=0.9, min_p=0.0)


def test_a_model_without_recommendations_gets_the_usual_settings() -> None:
    assert read_model([FIXTURES / "tiny-llama.gguf"]).sampling == Sampling()


def test_recommended_settings_of_odd_types(tmp_path: Path) -> None:
    metadata: dict[str, Value] = {
        "general.sampling.temp": 1,
        "general.sampling.top_k": 20.0,
        "general.sampling.top_p": float("nan"),
        "general.sampling.min_p": "0.1",
        "general.sampling.penalty_repeat": 1.1,
        "general.sampling.penalty_last_n": -1,
    }
    sampling = read_model([write_gguf(tmp_path / "m.gguf", metadata)]).sampling
    assert sampling == Sampling(temperature=1.0, top_k=20, repeat_penalty=1.1, repeat_last_n=-1)
    assert isinstance(sampling.top_k, int)


def test_parameters_are_counted_over_all_parts(tmp_path: Path) -> None:
    parts = _split(tmp_path, 3)
    model = read_model(parts)
    assert model.parameters == 3 * 32 * 16
    assert model.size == sum(part.stat().st_size for part in parts)
    assert model.vocabulary == 32


def test_a_first_part_without_tensors_is_no_vocabulary_file(tmp_path: Path) -> None:
    parts = _split(tmp_path, 2, tensors_in_first=False)
    assert read_model(parts).parameters == 32 * 16


def test_part_of_a_model_alone_is_told_so(tmp_path: Path) -> None:
    first = _split(tmp_path, 3)[0].rename(tmp_path / "renamed.gguf")
    with pytest.raises(ResolveError, match=r"in 3 files and 1 is there.*NAME-00001-of-00003"):
        read_model([first])


def test_parts_under_each_others_names_are_told_so(tmp_path: Path) -> None:
    first, second = _split(tmp_path, 2)
    with pytest.raises(ResolveError, match="says that it is part 2 of 2, and its name says 1"):
        read_model([second, first])


def test_a_model_without_layers_is_refused(tmp_path: Path) -> None:
    """llama.cpp would end the process over it."""
    path = write_gguf(tmp_path / "m.gguf", {"llama.block_count": 0})
    with pytest.raises(ResolveError, match=r"'llama\.block_count' is 0"):
        read_model([path])


@pytest.mark.parametrize("number", [t.value for t in LlamaFileType if t.name != "GUESSED"])
def test_the_file_type_is_named_as_llama_cpp_names_it(tmp_path: Path, number: int) -> None:
    path = write_gguf(tmp_path / "m.gguf", {"general.file_type": number})
    name = LlamaFileType(number).name.removeprefix("MOSTLY_").removeprefix("ALL_")
    assert read_model([path]).quantization == name.removesuffix("_MOE")


@pytest.mark.parametrize(
    ("name", "metadata", "label"),
    [
        ("m-Q5_K_M.gguf", {"general.file_type": 1024 + 15}, "Q4_K_M"),
        ("m-Q5_K_M.gguf", {"general.file_type": 999}, "Q5_K_M"),
        ("m-Q5_K_M.gguf", {}, "Q5_K_M"),
        ("m.gguf", {}, "F32"),
    ],
)
def test_the_quantization_comes_from_key_then_name_then_tensors(
    tmp_path: Path, name: str, metadata: dict[str, Value], label: str
) -> None:
    assert read_model([write_gguf(tmp_path / name, metadata)]).quantization == label


@pytest.mark.parametrize(
    ("architecture", "metadata", "tensors", "reason"),
    [
        ("llama", {}, {}, "vocabulary only"),
        ("clip", {}, None, r"projector \(mmproj\)"),
        ("llama", {"general.type": "mmproj"}, None, r"projector \(mmproj\)"),
        ("llama", {"general.type": "adapter"}, None, r"adapter \(LoRA\)"),
        ("llama", {"adapter.type": "lora"}, None, r"adapter \(LoRA\)"),
        ("llama", {"general.type": "imatrix"}, None, "importance matrix"),
        ("llama", {"imatrix.datasets": ["a.txt"]}, None, "importance matrix"),
        ("controlvector", {}, None, "control vector"),
        ("bert", {"bert.attention.causal": False}, None, "encoder"),
    ],
)
def test_what_is_no_model_is_refused_and_named(
    tmp_path: Path,
    architecture: str,
    metadata: dict[str, Value],
    tensors: dict[str, tuple[int, ...]] | None,
    reason: str,
) -> None:
    path = write_gguf(tmp_path / "m.gguf", metadata, architecture=architecture, tensors=tensors)
    with pytest.raises(ResolveError, match=reason) as caught:
        read_model([path])
    assert str(path) in caught.value.message
    assert "name" in caught.value.message


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n", "Git LFS pointer"),
        (b"<!DOCTYPE html><html><body>Not found</body></html>", "web page"),
        (b"PK\x03\x04" + bytes(40), "zip archive"),
        (b"just some text, and enough of it", "not a GGUF file"),
        (b"GGUF", "4 bytes"),
        (b"", "0 bytes"),
    ],
)
def test_what_is_no_gguf_file_is_described(tmp_path: Path, content: bytes, reason: str) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(content)
    with pytest.raises(ResolveError, match=reason) as caught:
        read_model([path])
    assert str(path) in caught.value.message


def test_a_file_that_was_cut_short_is_told_so(tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes((FIXTURES / "tiny-llama.gguf").read_bytes()[:-1000])
    with pytest.raises(ResolveError, match="not downloaded to the end"):
        read_model([path])


def test_a_key_of_a_wrong_type_is_named(tmp_path: Path) -> None:
    path = write_gguf(tmp_path / "m.gguf", {"llama.context_length": "long"})
    with pytest.raises(ResolveError, match=r"'llama\.context_length'"):
        read_model([path])


def test_a_file_that_may_not_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(ResolveError, match=r"m\.gguf cannot be read: No such file"):
        read_model([tmp_path / "m.gguf"])


def test_a_name_cannot_command_the_terminal(tmp_path: Path) -> None:
    path = write_gguf(tmp_path / "m.gguf", {"general.name": "A\x1b[2J\nmodel" + "x" * 500})
    name = read_model([path]).name
    assert name is not None and name.startswith("A[2Jmodelxxx") and len(name) == 200


_VALUES: st.SearchStrategy[Value] = (
    st.integers(-(2**31), 2**32 - 1)
    | st.floats(width=32)
    | st.booleans()
    | st.text(max_size=5)
    | st.lists(st.integers(0, 2**31 - 1), min_size=1, max_size=8)
    | st.lists(st.booleans(), min_size=1, max_size=8)
)
_KEYS = st.sampled_from(
    [
        "general.file_type",
        "general.name",
        "general.type",
        "general.sampling.temp",
        "general.sampling.top_k",
        "split.count",
        "split.no",
        "tokenizer.chat_template",
        "tokenizer.ggml.tokens",
        *(
            f"qwen35.{key}"
            for key in (
                "attention.head_count",
                "attention.head_count_kv",
                "attention.key_length",
                "attention.recurrent_layers",
                "attention.shared_kv_layers",
                "attention.sliding_window_pattern",
                "block_count",
                "context_length",
                "embedding_length",
                "full_attention_interval",
                "shortconv.l_cache",
                "ssm.conv_kernel",
                "ssm.inner_size",
                "ssm.state_size",
            )
        ),
    ]
)


@settings(deadline=None)
@given(st.dictionaries(_KEYS, _VALUES, max_size=8))
def test_whatever_the_metadata_says_it_is_facts_or_an_error(metadata: dict[str, Value]) -> None:
    with TemporaryDirectory() as folder:
        path = write_gguf(Path(folder) / "m.gguf", metadata, architecture="qwen35")
        try:
            model = read_model([path])
        except ResolveError:
            return
    assert model.state.per_token() >= 0 and model.state.per_sequence >= 0


def _split(folder: Path, count: int, *, tensors_in_first: bool = True) -> list[Path]:
    parts = []
    for index in range(count):
        metadata: dict[str, Value] = {"split.count": count, "split.no": index}
        name = "token_embd.weight" if index == 0 else f"blk.{index}.attn_q.weight"
        tensors = {name: (32, 16)} if index or tensors_in_first else {}
        path = folder / f"m-{index + 1:05}-of-{count:05}.gguf"
        parts.append(write_gguf(path, metadata, tensors=tensors))
    return parts
