"""`hubserve eval tools` as a person runs it: a table, a file, and what the exit code says."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.process import SAFETY, script, served


def tools(*arguments: str | Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "hubserve_server", "eval", "tools", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=2 * SAFETY,
        env={**os.environ, "COLUMNS": "200"},
    )


def test_a_model_that_never_calls(tmp_path: Path) -> None:
    """Beside a server that runs: a table with both, and a file with what they said."""
    model, file = script(tmp_path, {"say": "Hello [bold]."}), tmp_path / "report.json"
    with served(model) as other:
        words = (model, "--engine", "scripted", "--against", other.url, "--json", file)
        done = tools(*words)
        assert done.returncode == 1, done
        lenient = tools("--url", other.url, "--at-least", "2")
        assert lenient.returncode == 0, lenient
    assert "hubserve: 2 of 20 right, 0 false calls in 10" in done.stdout
    assert done.stdout.count("no call, but 'stop' and the text 'Hello [bold].'") == 2 * 16
    report = json.loads(file.read_bytes())
    assert [len(row["verdicts"]) for row in report["rows"]] == [2] * 30
    assert {row["streamed"] for row in report["rows"][::2]} == {True}
    assert report["rows"][0]["verdicts"][0]["reply"]["text"] == "Hello [bold]."


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ([], 2, "for example: hubserve eval tools --url http"),
        (["--url", "http://127.0.0.1:9"], 1, "Nothing listens at http://127.0.0.1:9/v1"),
        (["--url", "http://x", "--json", "/no/such/x"], 2, "no folder '/no/such'"),
        (["no/such.gguf", "-np", "2"], 1, "hubserve ended with exit code 2; its last words: "),
    ],
)
def test_what_is_wrong_is_one_line(arguments: list[str], code: int, said: str) -> None:
    done = tools(*arguments)
    assert (done.returncode, done.stdout) == (code, ""), done
    lines = [line for line in done.stderr.splitlines() if line.startswith("hubserve: ")]
    assert len(lines) == 1 and said in lines[0] and "Traceback" not in done.stderr
