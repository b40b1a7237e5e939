"""What llama.cpp takes for granted of every architecture, and what of it a checkpoint can break."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from hubserve_exporters.architectures.findings import Finding, Refuse, Warn

if TYPE_CHECKING:
    from hubserve_exporters.architectures.base import Architecture


def common_guards(family: "Architecture") -> Iterator[Finding]:
    """By what the class says that llama.cpp can do."""
    key, known = family.activation_key, family.activations
    activation = family.config.text(key, known[0])
    if activation not in known:
        yield Refuse(
            f"config.json: {key!r} is {activation!r}; llama.cpp computes {known[0]!r} for"
            f" {family.gguf}, whatever the file says."
        )
    yield from _rope_guards(family)
    hidden = family.config.positive("hidden_size")
    if family.filled and family.heads * family.head_size != hidden:
        yield Refuse(
            f"config.json: {family.heads} heads of {family.head_size} are not the hidden size"
            f" {hidden}, as llama.cpp needs it for {family.gguf}."
        )
    biased = any(name.endswith(".self_attn.o_proj.bias") for name in family.shapes)
    if biased and not family.biases:
        yield Refuse(
            "config.json: 'attention_bias' is true; llama.cpp adds no bias to the output of"
            f" attention for {family.gguf}, and would not load the file."
        )


def _rope_guards(family: "Architecture") -> Iterator[Finding]:
    rope = family.rope
    if rope.kind not in family.ropes:
        yield Refuse(
            f"config.json: the rope type {rope.kind!r} is not part of {family.gguf} in llama.cpp;"
            f" {', '.join(family.ropes)} are."
        )
    if rope.share != 1 and not family.partial_rope:
        yield Refuse(
            f"config.json: 'partial_rotary_factor' is {rope.share}; llama.cpp rotates whole heads"
            f" for {family.gguf}."
        )
    if rope.kind == "dynamic":
        yield Warn(
            "The rope type 'dynamic' has no counterpart in llama.cpp: texts up to"
            f" {rope.length} tokens are as they should be, longer ones are not."
        )
    elif rope.kind == "longrope":
        yield Warn(
            "llama.cpp takes the long factors of longrope where its context is larger than"
            f" {rope.original_length} tokens, transformers where the text is: for short texts serve"
            " it with a context of that size."
        )
    elif rope.kind == "yarn" and not (rope.usual or family.by_factors):
        yield from family.unusual_yarn()
