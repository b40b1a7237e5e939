"""What every architecture has in common, and what a family has to say.

A family is a class with `gguf` and `rules`, and whatever else differs from here:

    class Qwen2(Architecture):
        gguf = "qwen2"

        def rules(self) -> list[Rule]:
            return [*self.ends(), *self.attention(), *self.feed_forward()]

What it computes depends on the configuration and on the names and shapes of the tensors alone, so
that restoring a file can ask it again.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from hubserve_exporters.architectures.findings import Finding, Refuse
from hubserve_exporters.architectures.rope import (
    Rope,
    frequency_factors,
    read_rope,
    rope_guards,
    rope_metadata,
)
from hubserve_exporters.architectures.rules import Rule, rule
from hubserve_exporters.config import Config
from hubserve_exporters.errors import ExportError
from hubserve_exporters.gguf.writer import Value
from hubserve_exporters.operations import Operation

LAYER = "model.layers.{layer}"
BLOCK = "blk.{layer}"
Shapes = Mapping[str, tuple[int, ...]]

_PREFIXES = (
    ("model.language_model.", "model."),
    ("language_model.model.", "model."),
    ("language_model.lm_head.", "lm_head."),
)
_OTHER_SENSES = re.compile(
    r"^(?:model\.)?(?:visual|vision_tower|vision_model|multi_modal_projector|embed_vision|"
    r"audio_tower|embed_audio)\."
)
_BUFFER = re.compile(r"\.rotary_emb\.inv_freq$")


class Architecture(ABC):
    """A checkpoint, as its family sees it.

    `shapes` has every tensor that counts, by its canonical name: as the text-only class of the
    family names it. `keep_mtp` asks for the layers that guess further tokens, where there are any.
    """

    gguf: ClassVar[str]
    """llama.cpp's name, and the prefix of the keys."""
    rope_base: ClassVar[float] = 10000.0
    """The rope_theta that the class of transformers takes where config.json has none."""
    activations: ClassVar[tuple[str, ...]] = ("silu", "swish")
    """The values of `hidden_act` that llama.cpp computes for this architecture."""

    def __init__(self, config: Config, shapes: Shapes, *, keep_mtp: bool = False) -> None:
        self.config = config
        self.shapes = shapes
        self.keep_mtp = keep_mtp

    @classmethod
    def canonical(cls, name: str) -> str | None:
        """The name of a tensor, without what a multimodal checkpoint puts before it.

        None for what is left out: buffers that can be computed, and the other senses of a
        multimodal model, whose language model is exported alone.
        """
        if _BUFFER.search(name) or _OTHER_SENSES.search(name):
            return None
        for prefix, plain in _PREFIXES:
            if name.startswith(prefix):
                return plain + name.removeprefix(prefix)
        return name

    @abstractmethod
    def rules(self) -> list[Rule]:
        """Which tensors become which. What no rule takes is refused, by name."""

    def metadata(self) -> dict[str, Value]:
        """The keys, without the prefix. None of them says what the tensors' type is."""
        keys: dict[str, Value] = {
            "block_count": self.layers,
            "context_length": self.config.positive("max_position_embeddings"),
            "embedding_length": self.config.positive("hidden_size"),
            "feed_forward_length": self.config.positive("intermediate_size"),
            "attention.head_count": self.heads,
            "attention.head_count_kv": self.kv_heads,
            "attention.layer_norm_rms_epsilon": self.config.number("rms_norm_eps", 1e-6),
        }
        if "head_dim" in self.config:
            keys |= {
                "attention.key_length": self.head_size,
                "attention.value_length": self.head_size,
            }
        return keys | rope_metadata(self.rope)

    def extra_tensors(self) -> dict[str, NDArray[np.float32]]:
        """Tensors that no tensor of the checkpoint becomes, by their name in the file."""
        factors = frequency_factors(self.rope, self.head_size)
        return {} if factors is None else {"rope_freqs.weight": factors}

    def guards(self) -> Iterator[Finding]:
        """What would make llama.cpp compute something else; keys that prevent it."""
        activation = self.config.text("hidden_act", self.activations[0])
        if activation not in self.activations:
            yield Refuse(
                f"config.json: 'hidden_act' is {activation!r}; llama.cpp computes"
                f" {self.activations[0]!r} for {self.gguf}, whatever the file says."
            )
        yield from rope_guards(self.rope)
        if self.rope.kind == "longrope":
            yield Refuse(f"The rope type 'longrope' is not part of {self.gguf} in llama.cpp.")

    @cached_property
    def layers(self) -> int:
        """Their number, without those that guess further tokens."""
        return self.config.positive("num_hidden_layers")

    @cached_property
    def heads(self) -> int:
        return self.config.positive("num_attention_heads")

    @cached_property
    def kv_heads(self) -> int:
        return self.config.positive("num_key_value_heads", self.heads)

    @cached_property
    def head_size(self) -> int:
        """The elements of a head."""
        hidden = self.config.positive("hidden_size")
        if "head_dim" not in self.config and hidden % self.heads:
            raise ExportError(
                f"config.json: 'hidden_size' is {hidden}, which {self.heads} heads do not divide."
            )
        return self.config.positive("head_dim", hidden // self.heads)

    @cached_property
    def rope(self) -> Rope:
        return read_rope(self.config, self.rope_base)

    def ends(self) -> list[Rule]:
        """The embedding, the last norm, and the output matrix, where it is one of its own."""
        return [
            rule("model.embed_tokens.weight", "token_embd.weight"),
            rule("model.norm.weight", "output_norm.weight"),
            rule("lm_head.weight", "output.weight", required=not self.tied),
        ]

    @cached_property
    def tied(self) -> bool:
        """Whether the embedding is the output matrix as well."""
        return self.config.flag("tie_word_embeddings", False)

    def attention(
        self,
        *,
        query: tuple[Operation, ...] = (),
        key: tuple[Operation, ...] = (),
        norm: str = "input_layernorm",
    ) -> list[Rule]:
        """Norm, the four matrices, and their biases where the checkpoint has them.

        `query` and `key` are what happens to the rows of these two.
        """
        rules = [rule(f"{LAYER}.{norm}.weight", f"{BLOCK}.attn_norm.weight")]
        for source, target, operations in (
            ("q_proj", "attn_q", query),
            ("k_proj", "attn_k", key),
            ("v_proj", "attn_v", ()),
            ("o_proj", "attn_output", ()),
        ):
            names = f"{LAYER}.self_attn.{source}", f"{BLOCK}.{target}"
            rules += [
                rule(f"{names[0]}.weight", f"{names[1]}.weight", *operations),
                rule(f"{names[0]}.bias", f"{names[1]}.bias", *operations, required=False),
            ]
        return rules

    def feed_forward(self, *, norm: str = "post_attention_layernorm") -> list[Rule]:
        """Norm, gate, up and down, and their biases where the checkpoint has them."""
        rules = [rule(f"{LAYER}.{norm}.weight", f"{BLOCK}.ffn_norm.weight")]
        for part in ("gate", "up", "down"):
            names = f"{LAYER}.mlp.{part}_proj", f"{BLOCK}.ffn_{part}"
            rules += [
                rule(f"{names[0]}.weight", f"{names[1]}.weight"),
                rule(f"{names[0]}.bias", f"{names[1]}.bias", required=False),
            ]
        return rules
