"""gpt-oss."""

from collections.abc import Iterator
from typing import ClassVar

from hubserve_exporters.architectures.base import BLOCK, LAYER, Defaults
from hubserve_exporters.architectures.experts import Experts
from hubserve_exporters.architectures.findings import Finding, Refuse, Warn
from hubserve_exporters.architectures.layers import window_metadata
from hubserve_exporters.architectures.rules import Rule, rule
from hubserve_exporters.gguf.writer import Value
from hubserve_exporters.operations import PackMxfp4, Split, Transpose

_SWIGLU = {"swiglu_alpha": 1.702, "swiglu_limit": 7.0}


class GptOss(Experts):
    """Every second layer has a sliding window, every head a sink, every matrix a bias.

    The experts are kept in MXFP4 where the checkpoint has them so: the same bits in another order.
    Where they are numbers, rows and columns are exchanged, and gate and up take turns.
    """

    gguf = "gpt-oss"
    ropes = ("default", "linear", "yarn")
    needs_output = True
    defaults: ClassVar[Defaults] = {
        "num_attention_heads": 64,
        "num_key_value_heads": 8,
        "head_dim": 64,
        "rms_norm_eps": 1e-5,
        "sliding_window": 128,
        "max_position_embeddings": 131072,
        "num_local_experts": 128,
        "num_experts_per_tok": 4,
        "rope_theta": 150000.0,
        "rope_parameters": {
            "rope_type": "yarn",
            "factor": 32.0,
            "original_max_position_embeddings": 4096,
            "truncate": False,
        },
    }

    def rules(self) -> list[Rule]:
        norms = {"input_layernorm": "attn_norm", "post_attention_layernorm": "post_attention_norm"}
        sinks = rule(f"{LAYER}.self_attn.sinks", f"{BLOCK}.attn_sinks.weight")
        return [*self.ends(), *self.norms(norms), *self.attention(), sinks, *self._experts()]

    def _experts(self) -> list[Rule]:
        source, target = f"{LAYER}.mlp.experts", f"{BLOCK}.ffn"
        alternating = Split(2, axis=1, interleaved=True)
        rules = [
            rule(f"{LAYER}.mlp.router.{kind}", f"{target}_gate_inp.{kind}", float32=True)
            for kind in ("weight", "bias")
        ]
        for name, parts, operations in (
            ("gate_up_proj", ("gate", "up"), (alternating,)),
            ("down_proj", ("down",), ()),
        ):
            weights = tuple(f"{target}_{part}_exps.weight" for part in parts)
            biases = tuple(f"{target}_{part}_exps.bias" for part in parts)
            packed = f"{source}.{name}_blocks", f"{source}.{name}_scales"
            rules += [
                rule(packed, weights, PackMxfp4(), *operations),
                rule(f"{source}.{name}", weights, Transpose(), *operations),
                rule(f"{source}.{name}_bias", biases, *operations),
            ]
        return rules

    def metadata(self) -> dict[str, Value]:
        length = self.config.positive("intermediate_size")
        keys = super().metadata() | {"expert_feed_forward_length": length}
        return keys | window_metadata(self.config, 2, self.layers)

    def guards(self) -> Iterator[Finding]:
        yield from super().guards()
        for key, value in _SWIGLU.items():
            if (given := self.config.number(key, value)) != value:
                yield Refuse(
                    f"config.json: {key!r} is {given}; llama.cpp computes with {value} for gpt-oss,"
                    " whatever the file says."
                )

    @property
    def known_error(self) -> float:
        # A tiny model has 4e-6; without any yarn it would be 3e-2.
        return 1e-4 if self.rope.kind == "yarn" and not self.rope.usual else 0.0

    def unusual_yarn(self) -> Iterator[Finding]:
        # All checkpoints of gpt-oss have it; llama.cpp is off by about 1e-5 of the logits.
        if not self.rope.usual_betas:
            yield from super().unusual_yarn()
        else:
            yield Warn(
                "llama.cpp rounds the ends of yarn's correction range, where gpt-oss does not"
                " ('truncate' is false): logits differ a little from those of transformers."
            )
