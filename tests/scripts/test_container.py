"""The Dockerfile: no engine runs it here, but its steps are scripts that CI runs."""

import shlex
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from .conftest import build_house

ROOT = Path(__file__).parents[2]
STEPS = [
    (word, rest)
    for line in (ROOT / "Dockerfile").read_text().splitlines()
    if line and not line.startswith("#")
    for word, _, rest in [line.partition(" ")]
]


def values(instruction: str) -> list[str]:
    """What stands behind each of these instructions, in order."""
    return [rest for word, rest in STEPS if word == instruction]


def in_context(path: str) -> bool:
    """Whether .dockerignore, which refuses all but a list, lets `path` through."""
    rules = (ROOT / ".dockerignore").read_text().split("\n")
    assert "*" in rules
    return path.split("/")[0] in {rule[1:] for rule in rules if rule.startswith("!")}


def test_the_build_step_is_the_projects_own_script(tmp_path: Path) -> None:
    own = [step for step in values("RUN") if step.startswith("scripts/")]
    assert own == ["scripts/install --portable"]
    house = build_house(tmp_path, in_context)
    script, *arguments = shlex.split(own[0])
    assert house.run(script, *arguments).returncode == 0
    assert any("-DGGML_NATIVE=OFF" in call[0] for call in house.calls())


def test_every_other_step_only_sets_up_the_system() -> None:
    system = {"apt-get", "rm", "useradd", "install"}
    for step in values("RUN"):
        for command in step.split(" && "):
            assert command.split()[0] in system | {"scripts/install"}


@pytest.mark.parametrize("path", ["README.md", "LICENSE", "server", "engine", "exporters"])
def test_what_the_package_is_built_from_is_sent_to_the_engine(path: str) -> None:
    assert (ROOT / path).exists()
    assert in_context(path)


@pytest.mark.parametrize("path", [".git", ".venv", "tests", "docs"])
def test_what_an_image_has_no_use_for_is_not(path: str) -> None:
    assert not in_context(path)


def test_it_does_not_run_as_root_and_keeps_models_in_a_volume() -> None:
    assert values("USER") == ["hubserve"]
    assert STEPS.index(("USER", "hubserve")) > max(
        number for number, (word, _) in enumerate(STEPS) if word == "RUN"
    )
    assert values("VOLUME") == ["/cache"]
    assert "HF_HOME=/cache/" in values("ENV")[0]


def test_it_is_reachable_from_outside_and_looks_after_itself() -> None:
    assert values("ENTRYPOINT") == ['["serve", "--host", "0.0.0.0"]']
    (check,) = values("HEALTHCHECK")
    script = check.partition('CMD ["/opt/hubserve/')[2].removesuffix('"]')
    assert (ROOT / script).stat().st_mode & 0o111


@contextmanager
def answering(status: int) -> Iterator[int]:
    """The port of a server that answers GET /health, and nothing else, with `status`."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status if self.path == "/health" else 404)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()


def healthcheck(port: int) -> int:
    script = str(ROOT / "scripts/healthcheck")
    return subprocess.run([script, str(port)], capture_output=True, timeout=30).returncode


@pytest.mark.parametrize(("status", "healthy"), [(200, True), (503, False)])
def test_healthy_means_ready(status: int, healthy: bool) -> None:
    with answering(status) as port:
        assert (healthcheck(port) == 0) is healthy


def test_no_server_is_not_healthy() -> None:
    with answering(200) as port:
        pass
    assert healthcheck(port) == 1
