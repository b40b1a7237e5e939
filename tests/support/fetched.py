"""What the scripts whose names begin with fetch- have put on this machine.

A test that needs what is not there is skipped. Where HUBSERVE_REQUIRE_MODELS is set, as in CI, it
fails instead, if it is of what CI fetches: models of `IN_CI`, the templates and the vocabularies.
"""

import os
from pathlib import Path
from typing import NoReturn

import pytest
from scripts.fetch import (
    MODELS,
    models_directory,
    templates_directory,
    vocabularies_directory,
)

IN_CI = ("smollm2", "qwen2.5-coder")


def real_model(name: str) -> Path:
    """The GGUF file of a model that `scripts/fetch-models --help` names."""
    path = models_directory() / MODELS[name].file
    if not path.exists():
        _missing(f"scripts/fetch-models {name}", required=name in IN_CI)
    return path


def real_templates() -> list[Path]:
    """The chat templates of llama.cpp's collection, by name."""
    found = sorted(templates_directory().glob("*.jinja"))
    if not found:
        _missing("scripts/fetch-templates", required=True)
    return found


def real_vocabulary(name: str) -> Path:
    """A GGUF file with a tokenizer of llama.cpp's collection and nothing else. Beside it are texts,
    ending in .inp, and the tokens that transformers makes of them, ending in .out."""
    path = vocabularies_directory() / f"{name}.gguf"
    if not path.exists():
        _missing("scripts/fetch-vocabularies", required=True)
    return path


def _missing(script: str, *, required: bool) -> NoReturn:
    reason = f"not fetched; {script} does that"
    if required and os.environ.get("HUBSERVE_REQUIRE_MODELS"):
        pytest.fail(reason)
    pytest.skip(reason)
