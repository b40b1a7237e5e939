"""The architectures that can be exported: a table, and a module for each family.

A family is a class below `base.Architecture`, in the module that the table names; only that one is
imported. To add one, write what is different from a family that is there, and add its line.
"""

from difflib import get_close_matches
from importlib import import_module

from hubserve_exporters.architectures.base import Architecture
from hubserve_exporters.errors import AS_IT_IS, ExportError

TABLE: dict[str, str] = {
    "Gemma2ForCausalLM": "gemma2.Gemma2",
    "Gemma3ForCausalLM": "gemma3.Gemma3",
    "Gemma3ForConditionalGeneration": "gemma3.Gemma3",
    "GptOssForCausalLM": "gpt_oss.GptOss",
    "GraniteForCausalLM": "granite.Granite",
    "Lfm2ForCausalLM": "lfm2.Lfm2",
    "LlamaForCausalLM": "llama.Llama",
    "MistralForCausalLM": "llama.Mistral",
    "MixtralForCausalLM": "mixtral.Mixtral",
    "Olmo2ForCausalLM": "olmo2.Olmo2",
    "Phi3ForCausalLM": "phi3.Phi3",
    "Qwen2ForCausalLM": "qwen2.Qwen2",
    "Qwen2MoeForCausalLM": "qwen2_moe.Qwen2Moe",
    "Qwen3ForCausalLM": "qwen3.Qwen3",
    "Qwen3MoeForCausalLM": "qwen3_moe.Qwen3Moe",
    "Qwen3_5ForCausalLM": "qwen3_5.Qwen35",
    "Qwen3_5ForConditionalGeneration": "qwen3_5.Qwen35",
    "Qwen3_5MoeForCausalLM": "qwen3_5_moe.Qwen35Moe",
    "Qwen3_5MoeForConditionalGeneration": "qwen3_5_moe.Qwen35Moe",
    "SmolLM3ForCausalLM": "smollm3.SmolLM3",
}
"""The class of transformers that a checkpoint is made for -> module and class here, sorted."""


def find(name: str) -> type[Architecture]:
    """The family of a class of transformers. Raises ExportError, with what is near, for none."""
    entry = TABLE.get(name)
    if entry is None:
        near = get_close_matches(name, TABLE, n=3)
        raise ExportError(
            f"The architecture {name!r} cannot be exported"
            + (f" (did you mean {' or '.join(near)}?)" if near else "")
            + f"; {len(TABLE)} can, such as LlamaForCausalLM."
            f" docs/adding-an-architecture.md says how one is added. {AS_IT_IS}"
        )
    module, _, family = entry.partition(".")
    found: type[Architecture] = getattr(import_module(f"{__name__}.{module}"), family)
    return found
