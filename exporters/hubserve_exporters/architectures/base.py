"""What every architecture has in common, and what a family has to say.

A family is a class with `gguf` and `rules`, and whatever else differs from here:

    class Qwen2(Architecture):
        gguf = "qwen2"

        def rules(self) -> list[Rule]:
            return [*self.ends(), *self.attention(), *self.feed_forward()]

What it computes depends on the configuration and on the names and shapes of the tensors alone, so
that restoring a file can ask it again.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hubserve_exporters.architectures.findings import Finding, Refuse
from hubserve_exporters.architectures.guards import common_guards
from hubserve_exporters.architectures.rope import (
    Rope,
    frequency_factors,
    long_factors,
    read_rope,
    rope_metadata,
)
from hubserve_exporters.architectures.rules import Rule, rule
from hubserve_exporters.config import Config
from hubserve_exporters.errors import ExportError
from hubserve_exporters.gguf.writer import Value
from hubserve_exporters.operations import Operation

LAYER = "model.layers.{layer}"
BLOCK = "blk.{layer}"
_LARGEST_HEAD = 2**14
_MOST_LAYERS = 2**12
Shapes = Mapping[str, tuple[int, ...]]
Defaults = Mapping[str, Any]

_PREFIXES = (
    ("model.language_model.", "model."),
    ("language_model.model.", "model."),
    ("language_model.lm_head.", "lm_head."),
)


class Architecture(ABC):
    """A checkpoint, as its family sees it.

    `shapes` has every tensor that counts, by its canonical name: as the text-only class of the
    family names it. `keep_mtp` asks for the layers that guess further tokens, where there are any.
    """

    gguf: ClassVar[str]
    """llama.cpp's name, and the prefix of the keys."""
    defaults: ClassVar[Defaults] = {}
    """What the class of transformers takes where config.json has nothing, unless it is as here."""
    activation_key: ClassVar[str] = "hidden_act"
    activations: ClassVar[tuple[str, ...]] = ("silu", "swish")
    """The values of `activation_key` that llama.cpp computes for this architecture."""
    norm_operations: ClassVar[tuple[Operation, ...]] = ()
    """What happens to the weights of all norms."""
    ropes: ClassVar[tuple[str, ...]] = ("default", "linear", "dynamic", "yarn")
    """The kinds of rotary embedding that llama.cpp computes for this architecture."""
    frequency_factors: ClassVar[bool] = False
    """Whether llama.cpp takes a factor for each frequency, with which it can do any embedding."""
    partial_rope: ClassVar[bool] = False
    """Whether llama.cpp can rotate a part of each head."""
    filled: ClassVar[bool] = False
    """Whether llama.cpp takes it that the heads together are as wide as the hidden size."""
    needs_output: ClassVar[bool] = False
    """Whether llama.cpp wants an output matrix where the embedding is used for it, too."""
    biases: ClassVar[bool] = True
    """Whether llama.cpp adds a bias to the output of attention."""

    def __init__(self, config: Config, shapes: Shapes, *, keep_mtp: bool = False) -> None:
        self.config = config.over(self.defaults)
        self.shapes = shapes
        self.keep_mtp = keep_mtp

    @classmethod
    def canonical(cls, name: str) -> str:
        """The name of a tensor, without what a multimodal checkpoint puts before it."""
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
            "attention.head_count": self.heads,
            "attention.head_count_kv": self.kv_heads,
            "attention.key_length": self.head_size,
            "attention.value_length": self.head_size,
            "attention.layer_norm_rms_epsilon": self.config.number("rms_norm_eps", 1e-6),
        }
        if self.feed_forward_length is not None:
            keys["feed_forward_length"] = self.feed_forward_length
        if self.partial_rope:
            keys["rope.dimension_count"] = self.rotated
        return keys | rope_metadata(self.rope, by_factors=self.by_factors)

    def extra_tensors(self) -> dict[str, NDArray[np.float32]]:
        """Tensors that no tensor of the checkpoint becomes, by their name in the file."""
        if self.rope.kind == "longrope":
            return long_factors(self.rope, self.rotated)
        if self.by_factors:
            return {"rope_freqs.weight": frequency_factors(self.rope, self.rotated)}
        return {}

    def guards(self) -> Iterator[Finding]:
        """What would make llama.cpp compute something else; keys that prevent it."""
        yield from common_guards(self)

    @property
    def known_error(self) -> float:
        """By how much llama.cpp's logits differ from those of transformers where a warning says so:
        the mean square of that over the variance of the logits."""
        return 0.0

    def unusual_yarn(self) -> Iterator[Finding]:
        """What is said of betas that llama.cpp does not know, or ends that it would round."""
        yield Refuse(
            "config.json: yarn has a 'beta_fast', 'beta_slow' or 'truncate' of its own; llama.cpp"
            f" computes with 32, 1 and true for {self.gguf}, whatever the file says."
        )

    @cached_property
    def layers(self) -> int:
        """Their number, without those that guess further tokens."""
        count = self.config.positive("num_hidden_layers")
        if count > _MOST_LAYERS:
            raise ExportError(
                f"config.json: 'num_hidden_layers' is {count}; {_MOST_LAYERS} is the most that a"
                " model has."
            )
        return count

    @property
    def feed_forward_length(self) -> int | None:
        """The elements between up and down; None if no layer has that beside its experts."""
        return self.config.positive("intermediate_size")

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
        size = self.config.positive("head_dim", hidden // self.heads)
        if size > _LARGEST_HEAD:
            raise ExportError(
                f"config.json: a head has {size} elements ('head_dim', or 'hidden_size' over"
                f" 'num_attention_heads'); {_LARGEST_HEAD} is the most that a model has."
            )
        return size

    @cached_property
    def rotated(self) -> int:
        """Those of them that are rotated. Raises ExportError if that is no number of pairs."""
        share, size = self.rope.share, self.head_size
        rotated = int(size * share) if 0 < share <= 1 else 0
        if not rotated or rotated % 2:
            raise ExportError(
                f"config.json: 'partial_rotary_factor' is {share:g}; of heads of {size} an even"
                " number has to be rotated, from 2 on."
            )
        return rotated

    @cached_property
    def rope(self) -> Rope:
        return read_rope(self.config, self.config.number("rope_theta", 10000.0))

    @property
    def by_factors(self) -> bool:
        """Whether the frequencies stand in a tensor."""
        if self.rope.kind == "llama3":
            return True
        return self.frequency_factors and self.rope.kind == "yarn" and not self.rope.usual

    @cached_property
    def tied(self) -> bool:
        """Whether the embedding is the output matrix as well."""
        return self.config.flag("tie_word_embeddings", False)

    def ends(self, *, norm: str = "model.norm", target: str = "output_norm") -> list[Rule]:
        """The embedding, the last norm, and the output matrix, where it is one of its own."""
        rules = [
            rule("model.embed_tokens.weight", "token_embd.weight"),
            rule(f"{norm}.weight", f"{target}.weight", *self.norm_operations),
            rule("lm_head.weight", "output.weight", required=not self.tied),
        ]
        if self.tied and self.needs_output and "lm_head.weight" not in self.shapes:
            rules.append(rule("model.embed_tokens.weight", "output.weight"))
        return rules

    def norms(self, names: Mapping[str, str]) -> list[Rule]:
        """Norms of each layer, by their names in the checkpoint and in the file."""
        return self.matrices(names, *self.norm_operations)

    def matrices(self, names: Mapping[str, str], *operations: Operation) -> list[Rule]:
        """Weights of each layer, by their names in the checkpoint and in the file."""
        return [
            rule(f"{LAYER}.{source}.weight", f"{BLOCK}.{target}.weight", *operations)
            for source, target in names.items()
        ]

    def attention(
        self, *, query: tuple[Operation, ...] = (), key: tuple[Operation, ...] = ()
    ) -> list[Rule]:
        """The four matrices, and their biases where the checkpoint has them.

        `query` and `key` are what happens to the rows of these two.
        """
        operations = {"self_attn.q_proj": query, "self_attn.k_proj": key}
        names = {
            "self_attn.q_proj": "attn_q",
            "self_attn.k_proj": "attn_k",
            "self_attn.v_proj": "attn_v",
            "self_attn.o_proj": "attn_output",
        }
        return [
            one
            for source, target in names.items()
            for one in self.linear(source, target, *operations.get(source, ()))
        ]

    def feed_forward(self) -> list[Rule]:
        """Gate, up and down, and their biases where the checkpoint has them."""
        return [
            one
            for part in ("gate", "up", "down")
            for one in self.linear(f"mlp.{part}_proj", f"ffn_{part}")
        ]

    def linear(self, source: str, target: str, *operations: Operation) -> list[Rule]:
        """A matrix of each layer, and its bias where the checkpoint has one."""
        return [
            rule(f"{LAYER}.{source}.weight", f"{BLOCK}.{target}.weight", *operations),
            rule(f"{LAYER}.{source}.bias", f"{BLOCK}.{target}.bias", *operations, required=False),
        ]
