"""Qwen3.5: the language model, also out of a checkpoint that can see."""

import re
from collections.abc import Container, Iterator
from functools import cached_property
from typing import ClassVar

from hubserve_exporters.architectures.base import BLOCK, LAYER, Architecture, Defaults, Shapes
from hubserve_exporters.architectures.findings import Finding, Refuse, Warn
from hubserve_exporters.architectures.layers import FULL, both_kinds, layer_kinds, layers_of
from hubserve_exporters.architectures.rules import Rule, rule
from hubserve_exporters.config import Config
from hubserve_exporters.errors import ExportError
from hubserve_exporters.gguf.writer import Value
from hubserve_exporters.operations import NegExp, Operation, PlusOne, Reorder, Squeeze

LINEAR = "linear_attention"
_MTP_LAYER = re.compile(r"mtp\.layers\.(\d+)\.")


class Qwen35(Architecture):
    """Three of four layers have linear attention, a gated delta net; the others full attention.

    What such a net has for each value head stands in groups of those that share a key head; in
    llama.cpp the key heads follow one another within each repetition. Layers that guess further
    tokens (MTP) are taken from the tensors: configurations name some that are not there, and leave
    out some that are.
    """

    gguf = "qwen35"
    norm_operations = (PlusOne(),)
    partial_rope = True
    biases = False
    defaults: ClassVar[Defaults] = {
        "num_key_value_heads": 4,
        "head_dim": 256,
        "partial_rotary_factor": 0.25,
        "linear_conv_kernel_dim": 4,
        "linear_key_head_dim": 128,
        "linear_value_head_dim": 128,
        "linear_num_key_heads": 16,
        "linear_num_value_heads": 32,
    }

    def __init__(self, config: Config, shapes: Shapes, *, keep_mtp: bool = False) -> None:
        super().__init__(config, shapes, keep_mtp=keep_mtp)
        self.key_heads, self.value_heads, self.key_size, self.value_size = (
            self.config.positive(f"linear_{name}")
            for name in ("num_key_heads", "num_value_heads", "key_head_dim", "value_head_dim")
        )
        if self.value_heads % self.key_heads:
            raise ExportError(
                f"config.json: 'linear_num_value_heads' is {self.value_heads}, which"
                f" {self.key_heads} key heads do not divide."
            )

    def rules(self) -> list[Rule]:
        linear = layers_of(self.kinds, LINEAR)
        full = [one.within(layers_of(self.kinds, FULL)) for one in self.full_attention()]
        every = [*self.block_norms(), *self.feed_forward()]
        return [*self.ends(), *every, *full, *self.linear_attention(linear), *self.mtp()]

    def block_norms(self) -> list[Rule]:
        names = {"input_layernorm": "attn_norm", "post_attention_layernorm": "post_attention_norm"}
        return self.norms(names)

    def full_attention(self) -> list[Rule]:
        """The query matrix has the gate of each head behind its rows, and so it stays."""
        norms = {"self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm"}
        return [*self.attention(), *self.norms(norms)]

    def linear_attention(self, layers: Container[int]) -> list[Rule]:
        keys = 2 * self.key_heads * self.key_size
        heads, values = self._tiled(1), self._tiled(self.value_size)
        after_keys = self._tiled(self.value_size, start=keys)
        columns = self._tiled(self.value_size, axis=-1)
        named: tuple[tuple[str, str, tuple[Operation, ...], bool], ...] = (
            ("in_proj_qkv.weight", "attn_qkv.weight", after_keys, False),
            ("in_proj_z.weight", "attn_gate.weight", values, False),
            ("in_proj_a.weight", "ssm_alpha.weight", heads, False),
            ("in_proj_b.weight", "ssm_beta.weight", heads, False),
            ("A_log", "ssm_a", (NegExp(), *heads), True),
            ("dt_bias", "ssm_dt.bias", heads, True),
            ("conv1d.weight", "ssm_conv1d.weight", (Squeeze(1), *after_keys), True),
            # The one norm here that is no offset from one.
            ("norm.weight", "ssm_norm.weight", (), True),
            ("out_proj.weight", "ssm_out.weight", columns, False),
        )
        return [
            rule(
                f"{LAYER}.linear_attn.{source}",
                f"{BLOCK}.{target}",
                *operations,
                float32=float32,
                layers=layers,
            )
            for source, target, operations, float32 in named
        ]

    def mtp(self) -> list[Rule]:
        """A layer with full attention behind the others, and what joins it to them."""
        if not self.mtp_layers:
            return []
        block = [*self.block_norms(), *self.full_attention(), *self.feed_forward()]
        joints = {"enorm": "pre_fc_norm_embedding", "hnorm": "pre_fc_norm_hidden"}
        joints["shared_head_norm"] = "norm"
        behind = f"blk.{self.layers}.nextn"
        return [
            *(
                one.moved(LAYER, "mtp.layers.{layer}", self.mtp_layers, self.layers)
                for one in block
            ),
            rule("mtp.fc.weight", f"{behind}.eh_proj.weight"),
            *(
                rule(f"mtp.{source}.weight", f"{behind}.{target}.weight", *self.norm_operations)
                for target, source in joints.items()
            ),
        ]

    def metadata(self) -> dict[str, Value]:
        recurrent = [kind == LINEAR for kind in self.kinds] + [False] * self.mtp_layers
        sections = list(self.rope.parameters.integers("mrope_section", (11, 11, 10)))
        keys: dict[str, Value] = {
            "block_count": self.layers + self.mtp_layers,
            "attention.recurrent_layers": recurrent,
            "full_attention_interval": self._interval,
            "rope.dimension_sections": [*sections, 0, 0, 0, 0][:4],
            "ssm.conv_kernel": self.config.positive("linear_conv_kernel_dim"),
            "ssm.state_size": self.key_size,
            "ssm.group_count": self.key_heads,
            "ssm.time_step_rank": self.value_heads,
            "ssm.inner_size": self.value_heads * self.value_size,
        }
        if self.mtp_layers:
            keys["nextn_predict_layers"] = self.mtp_layers
        return super().metadata() | keys

    def guards(self) -> Iterator[Finding]:
        yield from super().guards()
        if self.key_size != self.value_size:
            yield Refuse(
                f"config.json: 'linear_key_head_dim' is {self.key_size} and 'linear_value_head_dim'"
                f" {self.value_size}; llama.cpp needs them to be equal for {self.gguf}."
            )
        yield from both_kinds(self.kinds, self.gguf)
        if self.mtp_layers > 1:
            yield Refuse(
                f"The checkpoint has {self.mtp_layers} layers that guess further tokens (MTP);"
                " llama.cpp runs one. Export it without them."
            )
        if self.keep_mtp and not self.mtp_layers:
            yield Warn(
                "The checkpoint has no layers that guess further tokens (MTP): none is kept."
            )

    @cached_property
    def kinds(self) -> list[str]:
        """What each layer is: linear or full attention."""
        step = self.config.positive("full_attention_interval", 4)
        usual = [LINEAR if (layer + 1) % step else FULL for layer in range(self.layers)]
        return layer_kinds(self.config, usual, (LINEAR, FULL))

    @cached_property
    def mtp_layers(self) -> int:
        """How many layers that guess further tokens are in the file."""
        numbers = [int(found[1]) for name in self.shapes if (found := _MTP_LAYER.match(name))]
        return max(numbers, default=-1) + 1 if self.keep_mtp else 0

    @property
    def _interval(self) -> int:
        """Read by transformers, which knows no other pattern, and by llama.cpp where it has no
        `recurrent_layers`."""
        return self.kinds.index(FULL) + 1 if FULL in self.kinds else self.layers + 1

    def _tiled(self, size: int, *, start: int = 0, axis: int = 0) -> tuple[Operation, ...]:
        repeats = self.value_heads // self.key_heads
        return (Reorder(self.key_heads, repeats, size, start, axis),) if repeats > 1 else ()
