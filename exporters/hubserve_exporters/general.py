"""What a file says about itself under `general.`: its name, where it comes from, how to sample.

Copied from the checkpoint's card and its generation_config.json, or left out; nothing is made up.
Keys: gguf-py/gguf/constants.py of llama.cpp (llama-cpp-python 0.3.36).
"""

from collections.abc import Mapping
from typing import Any

from hubserve_exporters.card import read_card
from hubserve_exporters.checkpoint import Checkpoint
from hubserve_exporters.config import is_number
from hubserve_exporters.gguf.writer import Value

_SNAPSHOTS = "snapshots"
_CACHED = "models--"
_LICENSE = {
    "license": "general.license",
    "license_name": "general.license.name",
    "license_link": "general.license.link",
}
_SAMPLING = {
    "temperature": ("temp", 0.0, 100.0),
    "top_p": ("top_p", 0.0, 1.0),
    "min_p": ("min_p", 0.0, 1.0),
    "repetition_penalty": ("penalty_repeat", 0.01, 100.0),
}
"""Names in generation_config.json -> keys, and the range in which they mean something."""
_MOST_TOP_K = 2**31 - 1
_STEPS = ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "K"))


def repository(checkpoint: Checkpoint) -> tuple[str | None, str]:
    """Owner and name of the checkpoint, as far as its folder tells: the Hub's cache has them in
    the name of a folder above."""
    folder = checkpoint.folder.resolve()
    if folder.parent.name == _SNAPSHOTS and (cached := folder.parent.parent.name).startswith(
        _CACHED
    ):
        owner, _, name = cached.removeprefix(_CACHED).rpartition("--")
        return owner or None, name
    return None, folder.name


def general_metadata(
    checkpoint: Checkpoint, *, name: str | None = None, parameters: int = 0
) -> dict[str, Value]:
    """The keys. `name` is one that the user gave; `parameters` counts all weights."""
    owner, repo = repository(checkpoint)
    keys: dict[str, Value] = {"general.type": "model", "general.name": name or repo}
    if owner:
        keys["general.organization"] = owner
    if parameters:
        keys["general.size_label"] = size_label(parameters)
    readme = checkpoint.file("README.md")
    card = read_card(readme) if readme else {}
    keys |= {
        key: card[field] for field, key in _LICENSE.items() if isinstance(card.get(field), str)
    }
    keys |= _origins("base_model", card.get("base_model")) | _origins(
        "dataset", card.get("datasets")
    )
    tags = [*_texts(card.get("tags")), *_texts(card.get("pipeline_tag"))]
    if tags:
        keys["general.tags"] = list(dict.fromkeys(tags))
    if languages := _texts(card.get("language")):
        keys["general.languages"] = languages
    return keys | _sampling(checkpoint.json("generation_config.json") or {})


def size_label(parameters: int) -> str:
    """As in the names of models: 135M, 1.5B."""
    for step, letter in _STEPS:
        if parameters >= 0.9995 * step:
            number = parameters / step
            return (
                f"{number:.0f}{letter}"
                if number >= 9.95
                else f"{number:.1f}".removesuffix(".0") + letter
            )
    return str(parameters)


def _origins(kind: str, value: object) -> dict[str, Value]:
    """Repositories by number, each with its name and who it belongs to."""
    keys: dict[str, Value] = {}
    names = _texts(value)
    for index, text in enumerate(names):
        owner, _, name = text.rpartition("/")
        keys[f"general.{kind}.{index}.name"] = name
        if owner:
            keys[f"general.{kind}.{index}.organization"] = owner
    return {f"general.{kind}.count": len(names), **keys} if names else {}


def _texts(value: object) -> list[str]:
    """The card has one text, or a list of them."""
    if isinstance(value, str):
        return [value]
    return list(value) if isinstance(value, list) else []


def _sampling(generation: Mapping[str, Any]) -> dict[str, Value]:
    """What the model's makers recommend; nothing where they do not sample at all."""
    if generation.get("do_sample") is False:
        return {}
    keys: dict[str, Value] = {}
    for field, (key, least, most) in _SAMPLING.items():
        value = generation.get(field)
        if is_number(value) and least <= value <= most:
            keys[f"general.sampling.{key}"] = float(value)
    top_k = generation.get("top_k")
    if type(top_k) is int and 0 <= top_k <= _MOST_TOP_K:
        keys["general.sampling.top_k"] = top_k
    return keys
