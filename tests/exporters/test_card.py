"""Model cards: what is copied, what is left out, and what a text in them cannot do."""

import os
import warnings
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from hubserve_exporters.card import CardWarning, generate_model_card, read_card

CARD = """---
license: other
license_name: gemma
license_link: https://example.com/terms
language: [en, de]
pipeline_tag: text-generation
base_model: first/Ancestor
tags: [chat, safetensors, gguf]
widget: [{text: hi}]
---
# Some model
license: mit
"""
MERGED = "".join(f"a{n + 1}: &a{n + 1} {{<<: [*a{n}, *a{n}]}}\n" for n in range(60))
BOMB = f"---\na0: &a0 {{x: 1}}\n{MERGED}---\n"
"""Each line is twice as long as the one before it, once it is merged."""
RECIPE = {"Type": "q4_k_m", "Converter": "hubserve 0.1.0"}
RESULTS = {"structure": "as the format has it", "tokenizer": "500 texts | the same"}


def heading(card: str) -> dict[str, object]:
    start, text, body = card.split("---\n", 2)
    assert start == "" and body
    found = yaml.safe_load(text)
    assert isinstance(found, dict)
    return found


def written(tmp_path: Path, text: str) -> Path:
    (tmp_path / "README.md").write_text(text, encoding="utf-8")
    return tmp_path


@pytest.mark.filterwarnings("error")
def test_facts_are_copied_from_the_checkpoints_card(tmp_path: Path) -> None:
    card = generate_model_card("owner/Model", RECIPE, RESULTS, source=written(tmp_path, CARD))
    assert heading(card) == {
        "license": "other",
        "license_name": "gemma",
        "license_link": "https://example.com/terms",
        "language": ["en", "de"],
        "pipeline_tag": "text-generation",
        "base_model": "owner/Model",
        "base_model_relation": "quantized",
        "library_name": "gguf",
        "tags": ["gguf", "chat"],
    }
    assert "\n# Model\n" in card
    assert r"| Type | q4\_k\_m |" in card
    assert r"| tokenizer | 500 texts \| the same |" in card


@pytest.mark.parametrize("base", [None, "/home/me/model", "model", "../x/y"])
def test_a_folder_is_no_base_model(tmp_path: Path, base: str | None) -> None:
    card = generate_model_card(base, RECIPE, {}, source=written(tmp_path, CARD))
    assert heading(card)["base_model"] == "first/Ancestor"
    assert "base_model_relation" not in heading(card)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no heading",
        "---\nlicense: [\n---\n",
        "---\n- a\n---\n",
        "---\nlicense: 1\nbase_model: {}\n---\n",
        "---\nlicense: ''\n---\n",
        "---\na: 2020-13-45\n---\n",
        f"---\n{'[' * 290}\n---\n",
        f"---\n{'[' * 60000}\n---\n",
        f"---\n{'- ' * 2000}\n---\n",
        BOMB,
        "---\nlicense: !!python/object/apply:os.system ['touch owned']\n---\n",
    ],
)
def test_what_nobody_says_is_left_out_with_a_warning(tmp_path: Path, text: str) -> None:
    with pytest.warns(CardWarning) as caught:
        card = generate_model_card(None, RECIPE, {}, name="M", source=written(tmp_path, text))
    said = [str(warning.message) for warning in caught]
    assert ["licence" in said[0], "base model" in said[1]] == [True, True]
    assert heading(card) == {"library_name": "gguf", "tags": ["gguf"]}
    assert not Path("owned").exists()


def test_a_card_that_is_not_there_says_nothing(tmp_path: Path) -> None:
    assert read_card(tmp_path) == read_card(tmp_path / "x") == {}
    os.mkfifo(tmp_path / "README.md")
    assert read_card(tmp_path) == {}


@given(st.text(), st.text(max_size=30), st.text(max_size=30))
@settings(max_examples=40, deadline=None)
def test_no_text_breaks_out_of_its_place(name: str, key: str, value: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CardWarning)
        card = generate_model_card("a/b", {key: value}, {key: value}, name=name)
    assert heading(card)["base_model"] == "a/b"
    rows = [line for line in card.splitlines() if line.startswith("|")]
    assert len(rows) == 6
