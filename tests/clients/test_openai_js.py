"""The OpenAI SDK for JavaScript, on Node, against the server with a real model."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import NoReturn

import pytest
from tests.support.fetched import real_model
from tests.support.process import SAFETY
from tests.support.weights import serving

pytestmark = pytest.mark.model

FOLDER = Path(__file__).parent / "js"
CONTEXT = 1024
KEY = "sesame"


def test_the_sdk() -> None:
    """Each of its own tests; what they print shows which one failed."""
    node = installed()
    options = ("-c", str(CONTEXT), "--api-key", KEY, "--alias")
    name = "acme/Sea.Tales-GGUF:small/sea-1.5.gguf"
    with serving(real_model("smollm2"), *options, name) as server:
        environment = {"BASE_URL": f"{server.url}/v1", "API_KEY": KEY, "CONTEXT": str(CONTEXT)}
        done = subprocess.run(
            [node, "--test", "--test-reporter=tap", "openai.test.mjs"],
            cwd=FOLDER,
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            timeout=4 * SAFETY,
        )
    assert done.returncode == 0, done.stdout + done.stderr
    tests = (FOLDER / "openai.test.mjs").read_text().count('\ntest("')
    assert f"# pass {tests}\n" in done.stdout


def installed() -> str:
    """The path of Node, once the SDK lies beside the script in the version of the lock file."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        missing("Node and npm are not installed")
    if version("node_modules/openai/package.json") != version("package-lock.json"):
        done = subprocess.run(
            [npm, "ci", "--no-audit", "--no-fund"],
            cwd=FOLDER,
            capture_output=True,
            text=True,
            timeout=4 * SAFETY,
        )
        if done.returncode:
            missing(f"npm could not install the SDK: {done.stderr}")
    return node


def version(file: str) -> str | None:
    """The SDK's version, as that of a package itself or in a lock file."""
    path = FOLDER / file
    if not path.exists():
        return None
    content = json.loads(path.read_text())
    found: str = content.get("packages", {}).get("node_modules/openai", content)["version"]
    return found


def missing(reason: str) -> NoReturn:
    if os.environ.get("HUBSERVE_REQUIRE_MODELS"):
        pytest.fail(reason)
    pytest.skip(reason)
