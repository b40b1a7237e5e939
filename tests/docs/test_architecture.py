"""docs/architecture.md names every module, and none that is not there."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = ("server/hubserve_server", "engine/hubserve_engine", "exporters/hubserve_exporters")


def modules() -> set[str]:
    """Every module, as the document names it: its path in its package, without `.py`. Formats of
    tool calls are one entry, since one may be added without touching another file."""
    return {
        re.sub("^tool_formats/known/.*", "tool_formats/known/*", str(name.with_suffix("")))
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
        if not path.stem.startswith("__")
        for name in [path.relative_to(ROOT / package)]
    }


def named() -> set[str]:
    """What the first column of the document's tables names; `.../x` is beside the one before."""
    found: list[str] = []
    text = (ROOT / "docs/architecture.md").read_text()
    for row in re.findall(r"^\| (`[^|]*) \|", text, re.MULTILINE):
        for name in re.findall(r"`([^`]+)`", row):
            folder = found[-1].rpartition("/")[0] if found else ""
            found.append(name.replace("...", folder))
    return set(found)


def test_the_document_names_every_module() -> None:
    assert modules() - named() == set()


def test_the_document_names_no_module_that_is_not_there() -> None:
    assert named() - modules() == set()
