"""Rules brought together with tensors: what is taken, and what is refused by name."""

from typing import Any

import pytest

from hubserve_exporters.architectures import find
from hubserve_exporters.architectures.base import Architecture
from hubserve_exporters.architectures.rules import Rule, rule
from hubserve_exporters.config import Config
from hubserve_exporters.errors import ExportError
from hubserve_exporters.mapping import Group, map_tensors
from hubserve_exporters.operations import PlusOne, Split, Stack


class Small(Architecture):
    gguf = "small"

    def rules(self) -> list[Rule]:
        layer = "model.layers.{layer}"
        return [
            rule("model.embed_tokens.weight", "token_embd.weight"),
            rule(f"{layer}.norm.weight", "blk.{layer}.norm.weight", PlusOne()),
            rule(f"{layer}.bias", "blk.{layer}.bias", required=False),
            rule(f"{layer}.experts.{{expert}}.up.weight", "blk.{layer}.up.weight", required=False),
            rule(
                f"{layer}.both.weight",
                ("blk.{layer}.one.weight", "blk.{layer}.two.weight"),
                Split(2),
                layers=(1,),
            ),
            rule("mtp.{layer}.norm.weight", "blk.{layer}.norm.weight", layers=(0,), offset=2),
        ]


NAMES = (
    "model.embed_tokens.weight",
    "model.layers.0.norm.weight",
    "model.layers.1.norm.weight",
    "model.layers.1.both.weight",
    "mtp.0.norm.weight",
)


def mapped(*more: str, without: str = "", prefix: str = "model.") -> dict[str, Group]:
    """What the names become, by the first target."""
    names = [name for name in (*NAMES, *more) if name != without]
    shapes = {name.replace("model.", prefix, 1): (4, 4) for name in names}
    found = map_tensors(Small, Config({"num_hidden_layers": 2}), shapes, keep_mtp=True)
    return {group.targets[0]: group for group in found.groups}


def test_every_tensor_has_its_place() -> None:
    found = mapped()
    assert list(found) == [
        "token_embd.weight",
        "blk.0.norm.weight",
        "blk.2.norm.weight",
        "blk.1.norm.weight",
        "blk.1.one.weight",
    ]
    assert found["blk.0.norm.weight"].operations == (PlusOne(),)
    assert found["blk.1.one.weight"].targets == ("blk.1.one.weight", "blk.1.two.weight")
    assert found["blk.2.norm.weight"].sources == ("mtp.0.norm.weight",)


def test_names_of_a_multimodal_checkpoint_are_kept_as_sources() -> None:
    found = mapped(prefix="model.language_model.")
    assert found["token_embd.weight"].sources == ("model.language_model.embed_tokens.weight",)


def test_experts_are_gathered_in_their_order() -> None:
    experts = [f"model.layers.0.experts.{number}.up.weight" for number in range(12)]
    group = mapped(*reversed(experts))["blk.0.up.weight"]
    assert group.sources == tuple(experts)
    assert group.operations == (Stack(),)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"without": "model.layers.1.norm.weight"}, "lacks 'model.layers.1.norm.weight'"),
        ({"without": "model.layers.1.both.weight"}, "lacks 'model.layers.1.both.weight'"),
        ({"without": "model.embed_tokens.weight"}, "lacks 'model.embed_tokens.weight'"),
        ({"more": "model.layers.0.strange.weight"}, "'model.layers.0.strange.weight' has no place"),
        ({"more": "model.layers.2.norm.weight"}, "'model.layers.2.norm.weight' has no place"),
        ({"more": "model.layers.0.both.weight"}, "'model.layers.0.both.weight' has no place"),
        ({"more": "model.layers.0.experts.1.up.weight"}, "one is missing; there are 1 up to"),
        (
            {"more": "model.language_model.embed_tokens.weight"},
            "'model.embed_tokens.weight' and 'model.language_model.embed_tokens.weight' are the",
        ),
    ],
)
def test_what_does_not_fit_is_refused_by_name(arguments: dict[str, Any], message: str) -> None:
    more = (arguments["more"],) if "more" in arguments else ()
    with pytest.raises(ExportError, match=message):
        mapped(*more, without=arguments.get("without", ""))


def test_a_layer_without_experts_among_those_that_have_them_is_refused() -> None:
    """`mlp_only_layers` of Qwen3-MoE: llama.cpp has experts in every layer."""
    name = "model.layers.0.mlp.gate_proj.weight"
    with pytest.raises(ExportError, match=f"{name!r} has no place in the architecture 'qwen3moe'"):
        map_tensors(find("Qwen3MoeForCausalLM"), Config({"num_hidden_layers": 1}), {name: (4, 4)})
