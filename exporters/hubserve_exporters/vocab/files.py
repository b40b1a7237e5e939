"""What a checkpoint says of its tokenizer, as it stands in its files.

The names are those that transformers writes (5.22, `tokenization_utils_base`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hubserve_exporters.checkpoint import Checkpoint
from hubserve_exporters.errors import ExportError

TOKENIZER = "tokenizer.json"
SENTENCEPIECE = "tokenizer.model"
TOKENIZER_CONFIG = "tokenizer_config.json"
GENERATION_CONFIG = "generation_config.json"
CHAT_TEMPLATE = "chat_template.jinja"
MORE_TEMPLATES = "additional_chat_templates"
DEFAULT_TEMPLATE = "default"

_MAX_SENTENCEPIECE_BYTES = 2**25
"""Gemma's, the largest of those in use, has 5 MB."""

JsonObject = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenizerFiles:
    """Each file by its content. What is not there is empty, or None where that makes a difference.

    `config` is config.json with its `text_config` over it. `templates` are the chat templates by
    name, the main one as `default`.
    """

    tokenizer: JsonObject | None = field(default=None, repr=False)
    sentencepiece: bytes | None = field(default=None, repr=False)
    tokenizer_config: JsonObject = field(default_factory=dict)
    special_tokens: JsonObject = field(default_factory=dict)
    added_tokens: JsonObject = field(default_factory=dict)
    generation: JsonObject = field(default_factory=dict)
    config: JsonObject = field(default_factory=dict)
    templates: Mapping[str, str] = field(default_factory=dict)


def read_tokenizer_files(checkpoint: Checkpoint) -> TokenizerFiles:
    """Raises ExportError, with the file's name, where one is damaged or of absurd size."""
    tokenizer_config = checkpoint.json(TOKENIZER_CONFIG) or {}
    return TokenizerFiles(
        tokenizer=checkpoint.json(TOKENIZER),
        sentencepiece=_sentencepiece(checkpoint),
        tokenizer_config=tokenizer_config,
        special_tokens=checkpoint.json("special_tokens_map.json") or {},
        added_tokens=checkpoint.json("added_tokens.json") or {},
        generation=checkpoint.json(GENERATION_CONFIG) or {},
        config=checkpoint.config.values,
        templates=_templates(checkpoint, tokenizer_config.get("chat_template")),
    )


def _sentencepiece(checkpoint: Checkpoint) -> bytes | None:
    path = checkpoint.file(SENTENCEPIECE)
    if path is None:
        return None
    if (size := path.stat().st_size) > _MAX_SENTENCEPIECE_BYTES:
        raise ExportError(
            f"{SENTENCEPIECE} has {size} bytes; no tokenizer is larger than"
            f" {_MAX_SENTENCEPIECE_BYTES >> 20} MiB."
        )
    try:
        return path.read_bytes()
    except OSError as error:
        raise ExportError(f"{SENTENCEPIECE} cannot be read: {error.strerror}.") from error


def _templates(checkpoint: Checkpoint, configured: object) -> dict[str, str]:
    """Files of their own win over what tokenizer_config.json says, as in transformers."""
    found: dict[str, str] = {}
    if isinstance(configured, str):
        found[DEFAULT_TEMPLATE] = configured
    elif isinstance(configured, list):
        for entry in configured:
            match entry:
                case {"name": str(name), "template": str(template)}:
                    found[name] = template
                case _:
                    raise ExportError(
                        f"{TOKENIZER_CONFIG}: 'chat_template' has the entry {entry!r:.60}; each has"
                        " to have a 'name' and a 'template'."
                    )
    elif configured is not None:
        raise ExportError(f"{TOKENIZER_CONFIG}: 'chat_template' is neither a text nor a list.")
    old = (checkpoint.json("chat_template.json") or {}).get("chat_template")
    if isinstance(old, str):
        found[DEFAULT_TEMPLATE] = old
    if (text := checkpoint.text(CHAT_TEMPLATE)) is not None:
        found[DEFAULT_TEMPLATE] = text
    for path in sorted((checkpoint.folder / MORE_TEMPLATES).glob("*.jinja")):
        if (text := checkpoint.text(f"{MORE_TEMPLATES}/{path.name}")) is not None:
            found[path.stem] = text
    return found
