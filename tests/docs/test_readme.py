"""What the README and CONTRIBUTING show works as it is shown.

Each command of a shell example is run: here, or by `.ci/run`, which has it as a line. The server is
the one that `scripts/serve` starts, with the demo model; only its port is another.
"""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from tests.support.checkpoints import checkpoint
from tests.support.fetched import real_model
from tests.support.hub_repo import Repo
from tests.support.hub_server import HubServer

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text()
PORT = "8000"
SAFETY = 120.0
"""Seconds after which something that hangs is a failure."""


def examples(text: str, language: str) -> list[str]:
    """The fenced blocks of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def commands(text: str) -> list[str]:
    """The commands of all shell examples; one whose quotes are open goes on in the next line."""
    found: list[str] = []
    for block in examples(text, "sh"):
        command = ""
        for line in block.splitlines():
            command = f"{command}\n{line}" if command else line
            if command.count("'") % 2 == 0:
                found.append(command)
                command = ""
        assert not command, f"a quote is open at the end of {block!r}"
    return found


COMMANDS = commands(README) + commands(CONTRIBUTING)
IN_CI = [line.strip() for line in (ROOT / ".ci/run").read_text().splitlines()]
CURL = [command for command in COMMANDS if command.startswith("curl ")]
SERVE = [command for command in COMMANDS if command.startswith(".venv/bin/serve ")]
BENCH = [command for command in COMMANDS if command.startswith(".venv/bin/hubserve bench ")]
CACHE = [command for command in COMMANDS if command.startswith(".venv/bin/hubserve cache")]
EVAL = [command for command in COMMANDS if command.startswith(".venv/bin/hubserve eval ")]
FILES = [
    command
    for command in COMMANDS
    if re.match(r"\.venv/bin/hubserve (export|exports|inspect|restore)\b", command)
]
HERE = {
    "scripts/serve",
    ".venv/bin/pre-commit install",
    *(*CURL, *SERVE, *BENCH, *EVAL, *CACHE, *FILES),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_is_run_somewhere(command: str) -> None:
    in_ci = any(line == command or line.startswith(f"{command} ") for line in IN_CI)
    assert command in HERE or in_ci


def test_the_first_screen_is_how_to_begin() -> None:
    assert commands(README)[:3] == [
        "scripts/serve",
        "scripts/test",
        ".venv/bin/serve unsloth/Qwen3.5-4B-GGUF:Qwen3.5-4B-Q4_K_M.gguf",
    ]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def running(
    command: Sequence[str], log: Path, environment: Mapping[str, str] | None = None
) -> Iterator[httpx.Client]:
    """A client of the server that a command starts; `log` has what the server prints.

    At the end Ctrl-C is pressed, which must be enough.
    """
    port = free_port()
    with log.open("w") as output:
        server = subprocess.Popen(
            [*command, "--port", str(port)],
            cwd=ROOT,
            env={**os.environ, **(environment or {})},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )
    try:
        with httpx.Client(base_url=f"http://localhost:{port}", timeout=SAFETY) as client:
            wait_until_ready(client, server, log)
            yield client
        server.send_signal(signal.SIGINT)
        server.wait(SAFETY)
        assert "Traceback" not in log.read_text()
    finally:
        server.kill()
        server.wait()


def wait_until_ready(client: httpx.Client, server: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + SAFETY
    while server.poll() is None and time.monotonic() < end:
        try:
            if client.get("/health").status_code == 200:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.1)
    pytest.fail(f"the server did not become ready:\n{log.read_text()}")


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demo") / "log"


@pytest.fixture(scope="module")
def demo(log: Path) -> Iterator[httpx.Client]:
    """The demo, served as the README's first command does."""
    real_model("smollm2")
    plan = subprocess.run(["scripts/install", "--dry-run"], cwd=ROOT, capture_output=True)
    assert not plan.stdout, "run scripts/install first: this test is not to build llama.cpp"
    with running(["scripts/serve"], log) as client:
        yield client


@pytest.mark.model
@pytest.mark.parametrize("command", CURL)
def test_curl(demo: httpx.Client, command: str) -> None:
    if not shutil.which("curl"):
        pytest.skip("curl is not installed")
    done = subprocess.run(
        ["bash", "-c", command.replace(PORT, str(demo.base_url.port)) + " --silent --fail"],
        capture_output=True,
        text=True,
        timeout=SAFETY,
    )
    assert done.returncode == 0, done.stderr
    if '"stream": true' in command:
        assert done.stdout.endswith("data: [DONE]\n\n")
    elif "chat/completions" in command:
        assert json.loads(done.stdout)["choices"][0]["message"]["content"]
    else:
        assert isinstance(json.loads(done.stdout), dict)


@pytest.mark.model
@pytest.mark.parametrize("program", examples(README, "python"))
def test_python(demo: httpx.Client, program: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", program.replace(PORT, str(demo.base_url.port))],
        capture_output=True,
        text=True,
        timeout=SAFETY,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


@pytest.mark.model
@pytest.mark.parametrize("command", BENCH)
def test_bench(demo: httpx.Client, command: str) -> None:
    done = subprocess.run(
        [*command.replace(PORT, str(demo.base_url.port)).split(), "--scenario=one", "--runs=1"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=SAFETY,
    )
    assert done.returncode == 0, done.stderr
    assert "one stream, short prompt" in done.stdout


@pytest.mark.model
@pytest.mark.parametrize("command", EVAL)
def test_eval(demo: httpx.Client, command: str) -> None:
    few = ["--request=none", "--at-least=1"]
    done = subprocess.run(
        [*command.replace(PORT, str(demo.base_url.port)).split(), *few],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=SAFETY,
    )
    assert done.returncode == 0, done.stderr
    assert "1 of 1 right, 0 false calls in 0" in done.stdout


@pytest.mark.model
def test_the_banner_has_a_curl_that_works_and_what_a_client_asks_for(
    demo: httpx.Client, log: Path
) -> None:
    banner = log.read_text()
    for label in ("Base URL", "Model", "API key"):
        assert re.search(rf"^ *{label} +\S", banner, re.MULTILINE), banner
    (command,) = re.findall(r"^ *(curl .*)$", banner, re.MULTILINE)
    done = subprocess.run(
        ["bash", "-c", command + " --silent --fail"], capture_output=True, timeout=SAFETY
    )
    assert json.loads(done.stdout)["choices"][0]["message"]["content"]


@pytest.mark.model
@pytest.mark.parametrize(
    ("method", "path"), sorted(set(re.findall(r"`(GET|POST) (/[^`]*)`", README)))
)
def test_every_endpoint_is_there(demo: httpx.Client, method: str, path: str) -> None:
    path = path.replace("{id}", "default")
    answer = demo.request(method, path, json={} if method == "POST" else None)
    assert answer.status_code not in (404, 405, 500), answer.text


@pytest.mark.parametrize("command", SERVE)
def test_a_model_from_the_hub(command: str, tmp_path: Path) -> None:
    words = command.split()
    repository, _, file = words[1].partition(":")
    tiny = ROOT / "tests/fixtures/tiny-qwen35.gguf"
    with HubServer({repository: Repo.of_files({file: tiny})}) as hub:
        environment = {"HF_ENDPOINT": hub.url, "HF_HOME": str(tmp_path / "home")}
        with running(words, tmp_path / "log", environment) as client:
            assert words[1] in [model["id"] for model in client.get("/v1/models").json()["data"]]
            answer = client.post(
                "/v1/chat/completions",
                json={"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 4},
            )
            assert answer.status_code == 200, answer.text


def test_a_checkpoint_becomes_a_file_and_a_checkpoint_again(tmp_path: Path) -> None:
    repository = FILES[0].split()[2]
    with HubServer({repository: Repo.of_folder(checkpoint("llama"))}) as hub:
        environment = {
            "HF_ENDPOINT": hub.url,
            "HF_HOME": str(tmp_path / "home"),
            "HUBSERVE_CACHE_DIR": str(tmp_path / "cache"),
        }
        for command in FILES:
            done = subprocess.run(
                [ROOT / command.split()[0], *command.split()[1:]],
                cwd=tmp_path,
                capture_output=True,
                text=True,
                env={**os.environ, **environment},
                timeout=SAFETY,
            )
            assert done.returncode == 0, done.stderr
    name = repository.partition("/")[2]
    assert (tmp_path / f"{name}-Q8_0.gguf").is_file()
    assert (tmp_path / name / "model.safetensors").is_file()


def test_the_cache_is_shown_and_cleared(tmp_path: Path) -> None:
    folder = tmp_path / "prefixes"
    done = [
        subprocess.run(
            command.split(),
            cwd=ROOT,
            capture_output=True,
            text=True,
            env={**os.environ, "HUBSERVE_CACHE_DIR": str(tmp_path)},
            timeout=SAFETY,
        )
        for command in CACHE
    ]
    assert [each.stdout for each in done] == [
        f"{folder}: 0 files, 0 bytes\n",
        f"{folder}: removed 0 files, 0 bytes\n",
    ]


@pytest.mark.parametrize(
    ("section", "command"), [("Flags", ["serve"]), ("Measure it", ["hubserve", "bench"])]
)
def test_every_flag_is_told_and_every_flag_told_is_there(section: str, command: list[str]) -> None:
    program, *words = command
    done = subprocess.run(
        [ROOT / ".venv/bin" / program, *words, "--help"],
        capture_output=True,
        text=True,
        env={**os.environ, "COLUMNS": "200", "NO_COLOR": "1"},
        timeout=SAFETY,
    )
    table = README.partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    told = re.findall(r"`(--?[a-z-]+)`", "".join(re.findall(r"^\| `-.*?\|", table, re.MULTILINE)))
    there = set(re.findall(r"(?<=\s)--?[a-z][a-z-]*", done.stdout))
    assert sorted(told) == sorted(there)


def test_what_pi_reads_is_json_for_this_server() -> None:
    (text,) = examples(README, "json")
    (provider,) = json.loads(text)["providers"].values()
    assert provider["baseUrl"] == f"http://localhost:{PORT}/v1"
    assert [model["id"] for model in provider["models"]] == [SERVE[0].split()[1]]


def test_the_hook_installs(tmp_path: Path) -> None:
    """`pre-commit install` in a clone with our configuration, which must be a valid one."""
    tool = str(ROOT / ".venv/bin/pre-commit")
    shutil.copy(ROOT / ".pre-commit-config.yaml", tmp_path)
    for command in (["git", "init", "-q"], [tool, "validate-config"], [tool, "install"]):
        subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, timeout=SAFETY)
    assert (tmp_path / ".git/hooks/pre-commit").exists()
