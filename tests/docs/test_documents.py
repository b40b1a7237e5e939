"""The documents agree with the project and with one another."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
DECISIONS = sorted((ROOT / "docs/decisions").glob("*.md"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(path: Path) -> None:
    for link in re.findall(r"\]\(([^)#]+)[^)]*\)", path.read_text()):
        assert link.startswith("https://") or (path.parent / link).exists(), link


def test_the_tree_in_the_readme_is_the_real_one() -> None:
    section = (ROOT / "README.md").read_text().partition("\n## What is where\n")[2]
    tree = section.split("```")[1]
    for folder in re.findall(r"^([\w/]+/) ", tree, re.MULTILINE):
        assert (ROOT / folder).is_dir(), folder
    for name in re.findall(r"(\w+\.md)", tree):
        assert (ROOT / "docs" / name).exists(), name


def test_decisions_are_numbered_and_short() -> None:
    assert [path.name[:4] for path in DECISIONS] == [
        f"{number:04}" for number in range(1, len(DECISIONS) + 1)
    ]
    for path in DECISIONS:
        text = path.read_text()
        assert text.startswith(f"# {int(path.name[:4])}. "), path.name
        assert "\nDate: " in text, path.name
        assert len(text.splitlines()) <= 40, path.name


def test_the_changelog_knows_this_version() -> None:
    headings = re.findall(r"^## \[(.+?)\]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert headings[0] == "Unreleased"
    assert len(headings) == 1 or headings[1] == PROJECT["version"]


def test_the_licence_is_the_one_that_is_declared() -> None:
    assert PROJECT["license"] == "Apache-2.0"
    assert "Apache License\n" in (ROOT / "LICENSE").read_text()
