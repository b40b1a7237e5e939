"""The architectures that can be exported: a table, and a module for each family.

A family is a class below `base.Architecture`, in the module that the table names; only that one is
imported. To add one, write what is different from a family that is there, and add its line.
"""

from difflib import get_close_matches
from importlib import import_module

from hubserve_exporters.architectures.base import Architecture
from hubserve_exporters.errors import ExportError

TABLE: dict[str, str] = {
    "LlamaForCausalLM": "llama.Llama",
    "MistralForCausalLM": "llama.Mistral",
    "Qwen2ForCausalLM": "qwen2.Qwen2",
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
            + f"; {len(TABLE)} can, such as LlamaForCausalLM. docs/architectures.md says how one"
            " is added."
        )
    module, _, family = entry.partition(".")
    found: type[Architecture] = getattr(import_module(f"{__name__}.{module}"), family)
    return found
