"""The README of a repository with GGUF files: where they come from, how they were made.

What the Hub reads stands in a heading of YAML. Facts in it are copied from the card of the
checkpoint, or left out; a licence above all is never made up.
"""

import re
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

_HEADING = re.compile(r"\A\ufeff?---[ \t]*\r?\n(.*?)\r?\n---[ \t]*(\r?\n|\Z)", re.DOTALL)
_LONGEST_CARD = 2**16
_MOST_BRACKETS = 300
"""PyYAML takes a time that grows with the square of how many are open: 5000 take seven seconds."""
_LONGEST_TEXT = 200
_COPIED = ("license", "license_name", "license_link", "language", "pipeline_tag")
_REPOSITORY = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*", re.ASCII)


class CardWarning(UserWarning):
    """A fact that the card leaves out, as nobody has told it."""


class _Loader(yaml.SafeLoader):
    """Refuses to merge mappings into others (`<<`), which can double them with every line."""

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        """Leaves it as it is."""


def generate_model_card(
    base_model: str | None,
    recipe: Mapping[str, object],
    results: Mapping[str, object],
    *,
    name: str | None = None,
    source: Path | None = None,
) -> str:
    """The text of a README.md.

    `base_model` is the checkpoint's repository on the Hub; None, or what is no such name, takes
    the one that the checkpoint's own card names. `recipe` and `results` are shown as tables.
    `source` is the checkpoint's folder, or its README.md. Warns with CardWarning where there is
    no licence or no base model to copy.
    """
    facts = read_card(source) if source is not None else {}
    heading: dict[str, Any] = {key: facts[key] for key in _COPIED if key in facts}
    if "license" not in heading:
        _warn("licence", "license")
    if base_model is not None and _REPOSITORY.fullmatch(base_model):
        heading |= {"base_model": base_model, "base_model_relation": "quantized"}
    elif "base_model" in facts:
        heading["base_model"] = facts["base_model"]
    else:
        _warn("base model", "base_model")
    heading |= {"library_name": "gguf", "tags": ["gguf", *_other_tags(facts)]}
    title = name or (base_model or "Model").rpartition("/")[2]
    parts = [
        f"---\n{yaml.safe_dump(heading, sort_keys=False, allow_unicode=True)}---\n",
        f"# {_line(title)}\n",
        "## How it was made\n",
        *_table("Setting", recipe),
    ]
    if results:
        parts += ["## What was checked\n", *_table("Check", results)]
    return "\n".join(parts)


def read_card(source: Path) -> dict[str, Any]:
    """What a card's heading says, as far as it is of use here: texts, and lists of texts.

    A card that is not there, or that cannot be read, says nothing.
    """
    path = source / "README.md" if source.is_dir() else source
    if not path.is_file():
        return {}
    try:
        with path.open("rb") as file:
            text = file.read(_LONGEST_CARD).decode("utf-8", "replace")
        found = _HEADING.match(text)
        if found is None or len(re.findall(r"[\[{]", found[1])) > _MOST_BRACKETS:
            return {}
        heading = yaml.load(found[1], _Loader)
    except (OSError, ValueError, RecursionError, yaml.YAMLError):
        return {}
    if not isinstance(heading, dict):
        return {}
    return {str(key): value for key, value in heading.items() if _is_plain(value)}


def _is_plain(value: object) -> bool:
    if isinstance(value, list):
        return 0 < len(value) <= 100 and all(isinstance(v, str) and _is_plain(v) for v in value)
    return isinstance(value, str) and 0 < len(value) <= _LONGEST_TEXT and value.isprintable()


def _other_tags(facts: Mapping[str, Any]) -> list[str]:
    tags = facts.get("tags", [])
    own = ("gguf", "safetensors", "pytorch", "transformers")
    return [tag for tag in tags if tag not in own] if isinstance(tags, list) else []


def _warn(what: str, key: str) -> None:
    warnings.warn(
        f"The checkpoint's card names no {what}, so the model card has none; add {key!r} to its"
        " heading before you publish it.",
        CardWarning,
        stacklevel=3,
    )


def _table(head: str, rows: Mapping[str, object]) -> Iterator[str]:
    lines = [f"| {head} | |", "|---|---|"]
    lines += [f"| {_cell(key)} | {_cell(value)} |" for key, value in rows.items()]
    yield "\n".join(lines) + "\n"


def _cell(value: object) -> str:
    """A text that stays in its cell, and is shown as it is."""
    return re.sub(r"([\\|`*_<>\[\]])", r"\\\1", _line(value))


def _line(value: object) -> str:
    return " ".join(str(value).split())
