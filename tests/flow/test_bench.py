"""`hubserve bench` as a person runs it: a table, files, one line for a fault, nothing left."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest
from tests.support.process import SAFETY, command, script, served

from hubserve_server.bench.runner import SCENARIOS
from hubserve_server.bench.running import SPIN

SLOW_ENOUGH = {"when": "Write a long story", "say": "word ", "seconds": 0.001}
"""So that the stream beside a long prompt goes on until that is read."""


def words(*arguments: str | Path) -> list[str]:
    return [sys.executable, "-m", "hubserve_server", "bench", *map(str, arguments)]


def bench(*arguments: str | Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        words(*arguments),
        capture_output=True,
        text=True,
        timeout=2 * SAFETY,
        env={**os.environ, "COLUMNS": "160"},
    )


def scripted(model: Path) -> list[str]:
    return [str(model), "--engine", "scripted", "-np", "16"]


def test_every_scenario_in_turns_with_a_server_that_runs(tmp_path: Path) -> None:
    model = script(tmp_path, SLOW_ENOUGH, context=400_000)
    table, picture = tmp_path / "report.json", tmp_path / "report.png"
    with served(model, "-np", "16") as other:
        done = bench(
            *scripted(model),
            *("--against", other.url, "--runs", "1"),
            *("--json", table, "--plot", picture),
        )
    assert done.returncode == 0, done.stderr
    report = json.loads(table.read_bytes())
    measured = [figure["scenario"] for figure in report["figures"]]
    assert list(dict.fromkeys(measured)) == [each.name for each in SCENARIOS]
    for figure in report["figures"]:
        ours, theirs = figure["runs"]
        assert len(ours) == 1 and min(*ours, *theirs, 1) > 0, figure
        if figure["scenario"] in ("start", "restart", "memory"):
            assert (theirs, figure["ratio"]) == ([], None)
        else:
            assert figure["ratio"]["median"] == pytest.approx(ours[0] / theirs[0])
    assert picture.read_bytes().startswith(b"\x89PNG")
    for each in SCENARIOS:
        assert each.title in done.stdout
        assert f"{each.title}, run 1 of 1: " in done.stderr


def test_in_turns_with_a_server_that_it_starts(tmp_path: Path) -> None:
    model = script(tmp_path)
    other = shlex.join([*command(*scripted(model)), "--port", "{port}"])
    only = ("--scenario", "one", "--scenario", "start", "--runs", "1")
    done = bench(*scripted(model), "--against-command", other, *only)
    assert done.returncode == 0, done.stderr
    rows = [line for line in done.stdout.splitlines() if "tok/s" in line or " s ↓" in line]
    assert len(rows) == 3 and all(row.count("(") == 3 for row in rows), done.stdout
    assert "not started here" not in done.stdout


def test_a_server_that_runs_already(tmp_path: Path) -> None:
    with served(script(tmp_path, {"say": "Hello"}), "--api-key", "secret") as server:
        url = f"{server.url}/v1"
        only = ("--scenario", "one", "--scenario", "start", "--runs", "2")
        done = bench("--url", url, "--api-key", "secret", *only)
        assert done.returncode == 0, done.stderr
        assert re.search(r"one stream, short prompt +speed, tok/s ↑ +\d", done.stdout)
        assert "ratio" not in done.stdout
        assert "was not started here" in done.stdout and "Left out for it: start." in done.stdout
        refused = bench("--url", url, "--api-key", "wrong", *only)
        said = one_line(refused, 1)
        assert f"{url} answered 401: " in said and said.endswith("given with --api-key.")


def one_line(done: "subprocess.CompletedProcess[str]", code: int) -> str:
    """What is printed instead of a report, without the lines that tell of progress."""
    assert (done.returncode, done.stdout) == (code, ""), done
    lines = [line for line in done.stderr.splitlines() if line.startswith("hubserve: ")]
    assert len(lines) == 1 and "Traceback" not in done.stderr, done.stderr
    return lines[0]


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ([], 2, "Name a model or a URL"),
        (["--url", "http://127.0.0.1:9"], 1, "Nothing listens at http://127.0.0.1:9/v1"),
        (["--url", "nonsense"], 1, "'nonsense' is not a base URL"),
        (["--url", "http://x", "--runs", "no"], 2, "'--runs': 'no' is neither"),
        (["--url", "http://x", "--scenario", "no"], 2, "'no' is no scenario; there are: one, "),
        (["--url", "http://x", "--plot", "x.png"], 2, "--plot draws two servers"),
        (["--url", "http://x", "--json", "/no/such/x"], 2, "no folder '/no/such'"),
        (["--url", "http://x", "--scenario", "start"], 2, "Nothing can be measured of x"),
        (["no/such.gguf", "-np", "2"], 1, "hubserve ended with exit code 2; its last words: "),
        (["no/such.gguf", "--bogus"], 1, "No such option: --bogus"),
    ],
)
def test_what_is_wrong_is_one_line(arguments: list[str], code: int, said: str) -> None:
    assert said in one_line(bench(*arguments), code)


def test_a_server_that_dies_in_mid_run(tmp_path: Path) -> None:
    dies = {"when": "Write a long story", "say": "word", "then": "die"}
    done = bench(*scripted(script(tmp_path, dies)), "--scenario", "one")
    # Its last words may have left it or not, and with them the head of the answer.
    assert re.search("ended an answer: .|answered 5..: .", one_line(done, 1))


ENDLESS = {"when": "Write a long story", "say": "word ", "then": "repeat", "seconds": 0.01}


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_leaves_nothing_running(tmp_path: Path, number: int, code: int) -> None:
    with started(tmp_path) as (process, family):
        process.send_signal(number)
        out, err = process.communicate(timeout=SAFETY)
    assert (process.returncode, out) == (code, ""), err
    assert "Traceback" not in err
    _, alive = psutil.wait_procs(family, timeout=SAFETY)
    assert alive == []
    assert list(tmp_path.glob("hubserve-bench-*")) == []


def test_the_busy_loop_does_not_outlive_a_bench_that_is_killed(tmp_path: Path) -> None:
    with started(tmp_path) as (process, family):
        loop = next(filter(is_loop, family))
        process.kill()
        _, alive = psutil.wait_procs([loop], timeout=SAFETY)
    assert alive == []


def is_loop(process: psutil.Process) -> bool:
    with suppress(psutil.NoSuchProcess):
        return SPIN in process.cmdline()
    return False


@contextmanager
def started(folder: Path) -> Iterator[tuple["subprocess.Popen[str]", list[psutil.Process]]]:
    """A bench that goes on for long, and what it has started: a server, its worker, a busy loop."""
    family: list[psutil.Process] = []
    process = subprocess.Popen(
        words(*scripted(script(folder, ENDLESS)), "--scenario", "busy", "--runs", "1000"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(folder)},
        # What a shell starts in the background ignores Ctrl-C, and so would its children.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    with process:
        try:
            while not any(map(is_loop, family)) and process.poll() is None:
                time.sleep(0.02)
                family = psutil.Process(process.pid).children(recursive=True)
            yield process, family
        finally:
            process.kill()
            for each in family:
                with suppress(psutil.NoSuchProcess):
                    each.kill()
