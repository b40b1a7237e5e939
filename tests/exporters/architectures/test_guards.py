"""What would load and be wrong is refused, said, or mended by a key."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest
from tests.exporters.architectures.cases import FULL, LINEAR, LLAMA3, SLIDING, YARN

from hubserve_exporters.architectures import find
from hubserve_exporters.architectures.findings import Refuse, Warn, Write
from hubserve_exporters.config import Config
from hubserve_exporters.errors import ExportError

SIZES: Mapping[str, Any] = {
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 256,
    "num_experts": 4,
    "num_experts_per_tok": 2,
    "query_pre_attn_scalar": 256,
}
WINDOW: Mapping[str, Any] = {"sliding_window": 32, "use_sliding_window": True}
BIAS = {"model.layers.3.self_attn.o_proj.bias": (64,)}


@dataclass(frozen=True)
class Looked:
    """What a look at a configuration brought up; `keys` are as the file has them."""

    refusals: list[str]
    warnings: list[str]
    keys: Mapping[str, Any]
    extra: set[str]


def look(name: str, shapes: Mapping[str, tuple[int, ...]] | None = None, **values: Any) -> Looked:
    family = find(name)(Config({**SIZES, **values}), shapes or {})
    findings = list(family.guards())
    written = {found.key: found.value for found in findings if isinstance(found, Write)}
    return Looked(
        [found.message for found in findings if isinstance(found, Refuse)],
        [found.message for found in findings if isinstance(found, Warn)],
        {**family.metadata(), **written},
        set(family.extra_tensors()) if not any(isinstance(f, Refuse) for f in findings) else set(),
    )


REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("Gemma2ForCausalLM", {"query_pre_attn_scalar": 144}, "'query_pre_attn_scalar' is 144"),
    ("Gemma3ForCausalLM", {"query_pre_attn_scalar": 168}, "'query_pre_attn_scalar' is 168"),
    ("Gemma3ForCausalLM", {"attn_logit_softcapping": 50.0}, "'attn_logit_softcapping'"),
    ("Gemma3ForCausalLM", {"hidden_activation": "silu"}, "'hidden_activation' is 'silu'"),
    ("Gemma3ForCausalLM", {"use_bidirectional_attention": True}, "bidirectional"),
    ("Gemma3ForCausalLM", {"rope_parameters": {FULL: dict(YARN)}}, "rope type 'yarn'"),
    ("Gemma3ForCausalLM", {"rope_parameters": {SLIDING: dict(LINEAR)}}, "rope type 'linear'"),
    ("Gemma2ForCausalLM", {"tie_word_embeddings": False}, "'tie_word_embeddings' is false"),
    ("Qwen3MoeForCausalLM", {"norm_topk_prob": False}, "'norm_topk_prob' is false"),
    ("Qwen3MoeForCausalLM", {}, "'norm_topk_prob' is false"),
    ("Qwen2MoeForCausalLM", {"norm_topk_prob": True}, "'norm_topk_prob' is true"),
    ("Qwen2MoeForCausalLM", {"num_experts_per_tok": 5}, "5 experts are to be chosen"),
    ("LlamaForCausalLM", {"hidden_act": "gelu"}, "'hidden_act' is 'gelu'"),
    ("LlamaForCausalLM", {"partial_rotary_factor": 0.5}, "'partial_rotary_factor' is 0.5"),
    ("Qwen3ForCausalLM", {"rope_scaling": {**YARN, "beta_fast": 16.0}}, "'beta_fast'"),
    ("Qwen3ForCausalLM", {"rope_scaling": {**YARN, "truncate": False}}, "'truncate'"),
    ("Qwen3ForCausalLM", {"rope_scaling": dict(LLAMA3)}, "rope type 'llama3'"),
    ("GptOssForCausalLM", {"rope_scaling": {**YARN, "beta_slow": 2.0}}, "'beta_slow'"),
    ("GptOssForCausalLM", {"swiglu_limit": 5.0}, "'swiglu_limit' is 5.0"),
    ("SmolLM3ForCausalLM", {"no_rope_layers": [1, 0, 1, 0]}, "'no_rope_layers'"),
    ("SmolLM3ForCausalLM", {"no_rope_layer_interval": 2}, "'no_rope_layers'"),
    ("SmolLM3ForCausalLM", {"rope_scaling": dict(LLAMA3)}, "rope type 'llama3'"),
    ("Qwen2ForCausalLM", {"head_dim": 32}, "4 heads of 32 are not the hidden size 64"),
    ("Olmo2ForCausalLM", {"head_dim": 32}, "4 heads of 32 are not the hidden size 64"),
    ("Qwen3_5ForCausalLM", {"linear_value_head_dim": 64}, "'linear_value_head_dim' 64"),
    ("Qwen3_5ForCausalLM", {"layer_types": [FULL] * 4}, f"all layers are {FULL!r}"),
    ("Lfm2ForCausalLM", {"layer_types": ["conv"] * 4}, "all layers are 'conv'"),
]


@pytest.mark.parametrize(("name", "values", "message"), REFUSED)
def test_what_llama_cpp_would_compute_otherwise_is_refused(
    name: str, values: dict[str, Any], message: str
) -> None:
    assert any(message in refusal for refusal in look(name, **values).refusals)


@pytest.mark.parametrize("share", [10**30, -0.5, 1.5, 0.01, 0.2])
def test_a_share_of_heads_that_cannot_be_rotated_is_refused(share: float) -> None:
    with pytest.raises(ExportError, match=r"'partial_rotary_factor' is .*; of heads of 16 an even"):
        look("Phi3ForCausalLM", partial_rotary_factor=share)


@pytest.mark.parametrize(
    "name", ["Qwen3ForCausalLM", "Qwen3_5ForCausalLM", "SmolLM3ForCausalLM", "Gemma2ForCausalLM"]
)
def test_a_bias_without_a_place_is_refused(name: str) -> None:
    assert any("'attention_bias'" in refusal for refusal in look(name, BIAS).refusals)
    assert not look("LlamaForCausalLM", BIAS).refusals


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("MistralForCausalLM", {"sliding_window": 32}),
        ("MixtralForCausalLM", {"sliding_window": 32}),
        ("Phi3ForCausalLM", {"sliding_window": 32}),
        ("Qwen2ForCausalLM", {**WINDOW, "max_window_layers": 3}),
        ("Qwen3ForCausalLM", {**WINDOW, "max_window_layers": 0}),
        ("Qwen2ForCausalLM", {**WINDOW, "layer_types": [FULL, SLIDING, FULL, FULL]}),
        ("Qwen2MoeForCausalLM", {**WINDOW, "max_window_layers": 1}),
        # transformers gives all layers a window here, whatever else is said.
        ("Qwen3MoeForCausalLM", {**WINDOW, "layer_types": [FULL] * 4}),
        ("MistralForCausalLM", {"sliding_window": 32, "layer_types": [FULL] * 4}),
        ("SmolLM3ForCausalLM", WINDOW),
    ],
)
def test_a_window_that_llama_cpp_has_not_cuts_the_context(
    name: str, values: Mapping[str, Any]
) -> None:
    looked = look(name, **values)
    assert looked.keys["context_length"] == 32
    assert "cut to 32 tokens" in looked.warnings[0]


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("MistralForCausalLM", {"sliding_window": None}),
        ("MistralForCausalLM", {}),  # 4096, longer than the context
        ("Qwen2ForCausalLM", {"sliding_window": 32}),
        ("Qwen3ForCausalLM", {**WINDOW, "max_window_layers": 0, "layer_types": [FULL] * 4}),
        ("Qwen2ForCausalLM", {**WINDOW, "max_window_layers": 4}),
        ("Qwen2ForCausalLM", WINDOW),  # 28 layers without one, before any that has
        ("Qwen2MoeForCausalLM", {**WINDOW, "max_window_layers": 0}),
        ("SmolLM3ForCausalLM", {**WINDOW, "num_hidden_layers": 3}),
    ],
)
def test_a_window_that_no_layer_has_changes_nothing(name: str, values: Mapping[str, Any]) -> None:
    looked = look(name, **values)
    assert looked.keys["context_length"] == 256
    assert not looked.warnings


@pytest.mark.parametrize("name", ["Gemma2ForCausalLM", "Gemma3ForCausalLM", "GptOssForCausalLM"])
def test_the_file_says_which_layers_have_a_window(name: str) -> None:
    kinds = [FULL, SLIDING, SLIDING, FULL]
    keys = look(name, layer_types=kinds, sliding_window=32).keys
    assert keys["attention.sliding_window"] == 32
    assert keys["attention.sliding_window_pattern"] == [False, True, True, False]


def test_older_configurations_name_the_period_of_windows() -> None:
    keys = look("Gemma3ForCausalLM", sliding_window_pattern=2).keys
    assert keys["attention.sliding_window_pattern"] == [True, False, True, False]


def test_without_windows_llama_cpp_is_told_so_in_a_way_that_it_takes() -> None:
    windowless: dict[str, Any] = {"layer_types": [FULL] * 4}
    keys = look("Gemma2ForCausalLM", **windowless).keys
    assert keys["attention.sliding_window"] == 256
    assert keys["attention.sliding_window_pattern"] == [True] * 4
    assert "attention.sliding_window" not in look("Gemma3ForCausalLM", **windowless).keys


@pytest.mark.parametrize(("name", "layers"), [("Gemma2", 46), ("Gemma3", 62)])
def test_the_gemma_of_27b_scales_by_its_width(name: str, layers: int) -> None:
    assert not look(
        f"{name}ForCausalLM", num_hidden_layers=layers, query_pre_attn_scalar=16
    ).refusals


def test_no_caps_are_caps_that_nothing_reaches() -> None:
    keys = look("Gemma2ForCausalLM", attn_logit_softcapping=None, final_logit_softcapping=None).keys
    assert keys["attn_logit_softcapping"] == keys["final_logit_softcapping"] == 2**30


def test_yarn_says_what_llama_cpp_multiplies_its_own_factor_by() -> None:
    keys = look("Qwen3ForCausalLM", rope_scaling={**YARN, "attention_factor": 1.5}).keys
    assert keys["rope.scaling.attn_factor"] == pytest.approx(1.5 / 1.138629, rel=1e-5)
    assert "rope.scaling.attn_factor" not in look("Qwen3ForCausalLM", rope_scaling=YARN).keys


@pytest.mark.parametrize("name", ["LlamaForCausalLM", "GraniteForCausalLM"])
def test_any_yarn_fits_where_each_frequency_has_a_factor(name: str) -> None:
    looked = look(name, rope_scaling={**YARN, "beta_fast": 16.0})
    assert not looked.refusals
    assert looked.extra == {"rope_freqs.weight"}
    assert "rope.scaling.type" not in looked.keys
    assert look(name, rope_scaling=YARN).extra == set()


def test_gpt_oss_is_exported_though_llama_cpp_rounds() -> None:
    looked = look("GptOssForCausalLM")
    assert not looked.refusals
    assert "'truncate' is false" in looked.warnings[0]
    assert looked.keys["rope.scaling.type"] == "yarn"


def test_dynamic_rope_is_right_within_the_context() -> None:
    looked = look("LlamaForCausalLM", rope_scaling={"type": "dynamic", "factor": 2.0})
    assert "up to 256 tokens" in looked.warnings[0]
    assert not looked.refusals


def test_longrope_depends_on_the_context() -> None:
    factors = {"short_factor": [1.0] * 8, "long_factor": [2.0] * 8}
    looked = look(
        "Phi3ForCausalLM",
        original_max_position_embeddings=64,
        rope_scaling={"type": "su", **factors},
    )
    assert "64 tokens" in looked.warnings[0]
    assert looked.extra == {"rope_factors_long.weight", "rope_factors_short.weight"}
    assert looked.keys["rope.scaling.original_context_length"] == 64


def test_both_places_of_rope_are_read() -> None:
    inside = look("LlamaForCausalLM", rope_parameters={"rope_theta": 5e5})
    beside = look("LlamaForCausalLM", rope_theta=5e5)
    assert inside.keys["rope.freq_base"] == beside.keys["rope.freq_base"] == 5e5


def test_lfm2_has_another_key_for_a_tied_output() -> None:
    family = find("Lfm2ForCausalLM")
    assert family(Config(SIZES), {}).tied
    assert not family(Config({**SIZES, "tie_embedding": False}), {}).tied


def test_gemma3_has_two_bases_in_either_notation() -> None:
    new = {
        FULL: {"rope_type": "linear", "factor": 8.0, "rope_theta": 1e6},
        SLIDING: {"rope_theta": 2e4},
    }
    old: dict[str, Any] = {
        "rope_scaling": {"rope_type": "linear", "factor": 8.0},
        "rope_theta": 1e6,
        "rope_local_base_freq": 2e4,
    }
    for keys in (
        look("Gemma3ForCausalLM", rope_parameters=new).keys,
        look("Gemma3ForCausalLM", **old).keys,
    ):
        assert keys["rope.freq_base"] == 1e6
        assert keys["rope.freq_base_swa"] == 2e4
        assert keys["rope.scaling.factor"] == 8.0
