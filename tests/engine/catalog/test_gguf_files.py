import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hubserve_engine.catalog.gguf_files import candidates, pick, quantization_of
from hubserve_engine.errors import ResolveError

UNSLOTH = [
    ".gitattributes",
    "README.md",
    "BF16/Model-4B-BF16-00001-of-00002.gguf",
    "BF16/Model-4B-BF16-00002-of-00002.gguf",
    "Model-4B-IQ4_XS.gguf",
    "Model-4B-Q4_K_M.gguf",
    "Model-4B-Q4_K_S.gguf",
    "Model-4B-Q8_0.gguf",
    "Model-4B-UD-Q4_K_XL.gguf",
    "imatrix_unsloth.gguf",
    "mmproj-F16.gguf",
]


@pytest.mark.parametrize(
    ("path", "label"),
    [
        ("Qwen3.5-4B-Q4_K_M.gguf", "Q4_K_M"),
        ("Qwen3.5-4B-UD-Q4_K_XL.gguf", "UD-Q4_K_XL"),
        ("SmolLM2-135M-Instruct.Q4_1.gguf", "Q4_1"),
        ("gemma-3-270m-q4_k_m.gguf", "Q4_K_M"),
        ("model-fp16.gguf", "F16"),
        ("ggml-model-f32.gguf", "F32"),
        ("m-IQ3_XXS.gguf", "IQ3_XXS"),
        ("m-Q4_K_M_v2.gguf", "Q4_K_M"),
        ("m.i1-IQ4_NL.gguf", "IQ4_NL"),
        ("m-Q6_K_L.gguf", "Q6_K_L"),
        ("gpt-oss-20b-MXFP4.gguf", "MXFP4"),
        ("m-TQ1_0.gguf", "TQ1_0"),
        ("BF16/model-00001-of-00002.gguf", "BF16"),
        ("Q8_0/model-Q4_0.gguf", "Q4_0"),
        ("Qwen3.5-4B.gguf", None),
        ("Q3-is-a-quarter.gguf", None),
    ],
)
def test_the_quantization_that_a_name_tells(path: str, label: str | None) -> None:
    assert quantization_of(path) == label


@pytest.mark.parametrize(
    ("wanted", "files"),
    [
        (None, ["Model-4B-Q4_K_M.gguf"]),
        ("Q4_K_M", ["Model-4B-Q4_K_M.gguf"]),
        ("q8_0", ["Model-4B-Q8_0.gguf"]),
        ("UD-Q4_K_XL", ["Model-4B-UD-Q4_K_XL.gguf"]),
        ("q4_k_xl", ["Model-4B-UD-Q4_K_XL.gguf"]),
        ("bf16", UNSLOTH[2:4]),
        ("BF16/Model-4B-BF16-00001-of-00002.gguf", UNSLOTH[2:4]),
        ("BF16/Model-4B-BF16-00002-of-00002.gguf", UNSLOTH[2:4]),
        ("Model-4B-IQ4_XS.gguf", ["Model-4B-IQ4_XS.gguf"]),
        # The file itself will say that it is a projector.
        ("mmproj-F16.gguf", ["mmproj-F16.gguf"]),
    ],
)
def test_what_is_meant_is_picked(wanted: str | None, files: list[str]) -> None:
    assert list(pick(UNSLOTH, wanted, "o/r").files) == files


@pytest.mark.parametrize(
    ("there", "picked"),
    [
        (["Q8_0", "Q4_K_M", "Q4_0"], "Q4_K_M"),
        (["UD-Q4_K_M", "Q4_K_M"], "Q4_K_M"),
        (["UD-Q4_K_XL", "Q4_K_S", "Q5_K_M"], "UD-Q4_K_XL"),
        (["Q4_0", "IQ4_XS", "Q5_K_M"], "Q4_0"),
        (["Q3_K_M", "Q5_K_M"], "Q5_K_M"),
        (["Q2_K", "Q8_0", "Q6_K"], "Q6_K"),
        (["BF16", "Q8_0"], "Q8_0"),
        (["F32", "F16"], "F16"),
        (["F16"], "F16"),
    ],
)
def test_without_a_wish_the_usual_or_the_nearest(there: list[str], picked: str) -> None:
    files = [f"m-{label}.gguf" for label in there]
    assert pick(files, None, "o/r").name == f"m-{picked}.gguf"


def test_a_single_file_needs_no_label() -> None:
    assert pick(["mmproj.gguf", "model.gguf"], None, "o/r").name == "model.gguf"


@pytest.mark.parametrize(
    ("wanted", "named"),
    [
        ("Q5_K_M", ["'Q5_K_M'", "Q4_K_M", "Q8_0", "BF16", "UD-Q4_K_XL"]),
        ("Q4_K", ["did you mean 'Q4_K_", "Q8_0"]),
        ("Model-4b-Q4_K_M.gguf", ["did you mean 'Model-4B-Q4_K_M.gguf'?", "Model-4B-Q8_0.gguf"]),
        ("F16", ["'F16'", "BF16"]),
    ],
)
def test_a_miss_names_what_is_there(wanted: str, named: list[str]) -> None:
    with pytest.raises(ResolveError) as caught:
        pick(UNSLOTH, wanted, "o/r")
    for text in ["'o/r'", *named]:
        assert text in caught.value.message
    assert "imatrix" not in caught.value.message


@pytest.mark.parametrize("wanted", [None, "Q4_0"])
def test_two_models_of_one_quantization_have_to_be_told_apart(wanted: str | None) -> None:
    files = ["base-Q4_0.gguf", "chat-Q4_0.gguf", "chat-Q8_0.gguf"]
    with pytest.raises(ResolveError, match=r"base-Q4_0\.gguf, chat-Q4_0\.gguf"):
        pick(files, wanted, "o/r")
    assert pick(files, "Q8_0", "o/r").name == "chat-Q8_0.gguf"
    with pytest.raises(ResolveError, match="has 2 models in Q4_0 to choose from"):
        pick(["base-Q4_0.gguf", "chat-Q4_0.gguf", "chat-Q2_K.gguf"], None, "o/r")


@pytest.mark.parametrize(
    "wanted", ["Q4_0", "m-Q4_0-00001-of-00003.gguf", "m-Q4_0-00002-of-00003.gguf", None]
)
def test_a_part_that_is_missing_is_named(wanted: str | None) -> None:
    files = ["m-Q4_0-00001-of-00003.gguf", "m-Q4_0-00003-of-00003.gguf"]
    with pytest.raises(ResolveError, match=r"m-Q4_0-00002-of-00003\.gguf is missing"):
        pick(files, wanted, "o/r")


def test_a_whole_model_goes_before_a_part_of_the_usual_one() -> None:
    files = ["m-Q4_K_M-00001-of-00002.gguf", "m-Q8_0.gguf"]
    assert pick(files, None, "o/r").name == "m-Q8_0.gguf"


def test_many_files_are_not_all_listed() -> None:
    files = [f"model{i}-Q4_0.gguf" for i in range(40)]
    with pytest.raises(ResolveError, match="and 28 more"):
        pick(files, None, "o/r")


def test_names_cannot_command_the_terminal() -> None:
    with pytest.raises(ResolveError) as caught:
        pick(["a\x1b[2J.gguf", "b.gguf"], "Q4_0", "o/r")
    assert caught.value.message.isprintable()


@settings(deadline=None)
@given(st.lists(st.text("Qq4_KM-.of012ggufmprj/", max_size=30).map(lambda t: t + ".gguf")))
def test_every_model_is_one_candidate_once(files: list[str]) -> None:
    found = [name for model in candidates(files) for name in model.files]
    assert set(found) <= set(files)
    assert len(found) == len(set(found))
    for name in found:
        try:
            chosen = pick(files, name, "o/r")
        except ResolveError as error:
            assert "missing" in error.message
        else:
            assert name in chosen.files


@settings(deadline=None)
@given(st.text())
def test_any_name_has_a_quantization_or_none(text: str) -> None:
    label = quantization_of(text)
    assert label is None or label == label.upper()
