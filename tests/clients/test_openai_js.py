"""The OpenAI SDK for JavaScript, on Node, against the server with a real model."""

import os
import subprocess
from pathlib import Path

import pytest
from tests.support.fetched import real_model
from tests.support.npm import installed, node
from tests.support.process import SAFETY
from tests.support.weights import serving

pytestmark = pytest.mark.model

FOLDER = Path(__file__).parent / "js"
CONTEXT = 1024
KEY = "sesame"


def test_the_sdk() -> None:
    """Each of its own tests; what they print shows which one failed."""
    installed(FOLDER, "openai")
    options = ("-c", str(CONTEXT), "--api-key", KEY, "--alias")
    name = "acme/Sea.Tales-GGUF:small/sea-1.5.gguf"
    with serving(real_model("smollm2"), *options, name) as server:
        environment = {"BASE_URL": f"{server.url}/v1", "API_KEY": KEY, "CONTEXT": str(CONTEXT)}
        done = subprocess.run(
            [node(), "--test", "--test-reporter=tap", "openai.test.mjs"],
            cwd=FOLDER,
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            timeout=4 * SAFETY,
        )
    assert done.returncode == 0, done.stdout + done.stderr
    tests = (FOLDER / "openai.test.mjs").read_text().count('\ntest("')
    assert f"# pass {tests}\n" in done.stdout
