"""What a file says about itself."""

import json
from pathlib import Path

import pytest

from hubserve_exporters.checkpoint import open_checkpoint
from hubserve_exporters.errors import ExportError
from hubserve_exporters.general import general_metadata, repository, size_label

CARD = """---
license: other
license_name: a-licence
license_link: LICENSE.md
language: [de, en]
base_model: some/base
datasets: [one/data, two]
tags: [chat, chat]
pipeline_tag: text-generation
---
# A model
"""


def general(folder: Path, **files: object) -> dict[str, object]:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text("{}")
    for name, content in files.items():
        text = content if isinstance(content, str) else json.dumps(content)
        (folder / {"card": "README.md"}.get(name, f"{name}.json")).write_text(text)
    return dict(general_metadata(open_checkpoint(folder), parameters=135_000_000))


def test_the_card_is_copied(tmp_path: Path) -> None:
    assert general(tmp_path / "a-model", card=CARD) == {
        "general.type": "model",
        "general.name": "a-model",
        "general.size_label": "135M",
        "general.license": "other",
        "general.license.name": "a-licence",
        "general.license.link": "LICENSE.md",
        "general.base_model.count": 1,
        "general.base_model.0.name": "base",
        "general.base_model.0.organization": "some",
        "general.dataset.count": 2,
        "general.dataset.0.name": "data",
        "general.dataset.0.organization": "one",
        "general.dataset.1.name": "two",
        "general.tags": ["chat", "text-generation"],
        "general.languages": ["de", "en"],
    }


@pytest.mark.parametrize(
    "card", ["", "no heading", "---\nlicense: [1, {\n---\n", "---\n- a\n---\n"]
)
def test_without_a_card_nothing_is_made_up(card: str, tmp_path: Path) -> None:
    found = general(tmp_path / "m", card=card)
    assert found.keys() == {"general.type", "general.name", "general.size_label"}


def test_a_card_elsewhere_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "notes").write_text(CARD)
    folder = tmp_path / "m"
    folder.mkdir()
    (folder / "README.md").symlink_to(tmp_path / "notes")
    with pytest.raises(ExportError, match="outside of the checkpoint"):
        general(folder)


def test_a_folder_of_the_hubs_cache_tells_the_repository(tmp_path: Path) -> None:
    found = general(tmp_path / "models--an-owner--a-repo/snapshots/0123abcd")
    assert (found["general.name"], found["general.organization"]) == ("a-repo", "an-owner")
    folder = tmp_path / "models--gpt2/snapshots/0123"
    general(folder)
    assert repository(open_checkpoint(folder)) == (None, "gpt2")


def test_a_name_that_is_given_counts(tmp_path: Path) -> None:
    general(tmp_path)
    assert general_metadata(open_checkpoint(tmp_path), name="Mine")["general.name"] == "Mine"


def test_what_the_makers_recommend_is_kept(tmp_path: Path) -> None:
    recommended = {
        "do_sample": True,
        "temperature": 0.6,
        "top_p": 0.95,
        "top_k": 20,
        "min_p": 0,
        "repetition_penalty": 1.05,
    }
    found = general(tmp_path, generation_config=recommended)
    prefix = "general.sampling."
    assert {k.removeprefix(prefix): v for k, v in found.items() if k.startswith(prefix)} == {
        "temp": 0.6,
        "top_p": 0.95,
        "min_p": 0.0,
        "penalty_repeat": 1.05,
        "top_k": 20,
    }


@pytest.mark.parametrize(
    "generation",
    [
        {"do_sample": False, "temperature": 0.6, "top_k": 5},
        {"temperature": "hot", "top_p": 7, "top_k": -1, "min_p": None},
        {"temperature": 1e999, "top_k": 2.5, "repetition_penalty": 0},
        {"top_k": 2**31, "top_p": True},
        {"temperature": 10**400, "min_p": -(10**400)},
    ],
)
def test_settings_that_say_nothing_are_left_out(generation: object, tmp_path: Path) -> None:
    found = general(tmp_path, generation_config=generation)
    assert not [key for key in found if key.startswith("general.sampling.")]


def test_sizes_are_said_as_in_names() -> None:
    sizes = (999, 1_000, 134_515_008, 999_700_000, 1_540_000_000, 7_615_616_512, 235_000_000_000)
    assert [*map(size_label, sizes)] == ["999", "1K", "135M", "1B", "1.5B", "7.6B", "235B"]
    assert size_label(9_960_000_000) == "10B"
