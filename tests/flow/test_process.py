"""The server as a process: its banner, its signals, its exit codes."""

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from tests.support.live_server import events
from tests.support.process import SAFETY, Served, command, script, served, spawned

from hubserve_server.listener import listen

BODY = {"messages": [{"role": "user", "content": "Hi"}]}
SLOW = {"when": "slowly", "say": "word " * 8, "seconds": 0.02}
MUCH = {"when": "much", "letters": 12_000}
ENDLESS = {"when": "forever", "say": "word ", "then": "repeat", "seconds": 0.02}


def asking(words: str, **fields: object) -> dict[str, object]:
    return {"messages": [{"role": "user", "content": words}], **fields}


def test_the_banner_and_its_curl_command(tmp_path: Path) -> None:
    model = script(tmp_path, {"say": "Hello there"}, load_seconds=0.5)
    with served(model, "-c", "2048") as server:
        assert "script.json" in server.output
        assert "2048 tokens (--ctx-size)" in server.output
        line = next(line for line in server.output.splitlines() if "curl" in line)
        assert shutil.which("curl")
        reply = subprocess.run(
            line.replace("curl", "curl -sS", 1), shell=True, capture_output=True, timeout=SAFETY
        )
        assert b'"Hello there"' in reply.stdout, reply
        _, _, err = server.end(signal.SIGINT)
    assert "Loading the model ..." in err


@pytest.mark.parametrize("keys", ["secret", "secret, other"])
def test_the_curl_command_with_a_key(tmp_path: Path, keys: str) -> None:
    environment = {"HUBSERVE_API_KEY": keys}
    with served(script(tmp_path, {"say": "Hello"}), env=environment) as server:
        assert "secret" not in server.output
        line = next(line for line in server.output.splitlines() if "curl" in line)
        command = ["sh", "-c", line.replace("curl", "curl -sS", 1)]
        reply = subprocess.run(command, capture_output=True, env=environment, timeout=SAFETY)
        assert b'"Hello"' in reply.stdout, reply
        with server.client() as client:
            assert client.get("/v1/models").status_code == 401


def test_the_curl_command_where_the_environment_has_another_key(tmp_path: Path) -> None:
    environment = {"HUBSERVE_API_KEY": "of the environment"}
    model = script(tmp_path, {"say": "Hello"})
    with served(model, "--api-key", "given", env=environment) as server:
        line = next(line for line in server.output.splitlines() if "curl" in line)
        reply = subprocess.run(
            ["sh", "-c", line.replace("curl", "curl -sS", 1)],
            capture_output=True,
            env={**environment, "KEY": "given"},
            timeout=SAFETY,
        )
        assert b'"Hello"' in reply.stdout, reply


def test_every_flag_at_once(tmp_path: Path) -> None:
    template = tmp_path / "template.jinja"
    template.write_text("{% for m in messages %}[{{ m.content }}]{% endfor %}assistant:")
    flags: dict[str, str] = {
        "--ctx-size": "2048",
        "--parallel": "2",
        "--threads": "1",
        "--gpu-layers": "0",
        "--flash-attn": "off",
        "--draft-max": "3",
        "--max-gap-ms": "100",
        "--cache-ram": "100M",
        "--cache-type-k": "q8_0",
        "--cache-type-v": "bf16",
        "--batch-size": "512",
        "--ubatch-size": "128",
        "--alias": "nickname",
        "--chat-template-file": str(template),
        "--reasoning": "off",
        "--reasoning-format": "none",
        "--reasoning-budget": "50",
        "--tools": "strict",
        "--export-type": "f16",
        "--export-disk": "1GiB",
        "--host": "localhost",
        "--api-key": "secret",
        "--cors-origins": "https://chat.example",
        "--allowed-hosts": "box.lan",
        "--max-queue": "3",
        "--max-body": "1",
        "--cache-dir": str(tmp_path / "cache"),
        "--cache-disk": "1.5GiB",
        "--log-level": "debug",
    }
    offered = re.findall(r"--[a-z-]+", run("--help", env={"COLUMNS": "200"}).stdout)
    # `served` gives the port, and the engine that runs a script.
    assert set(flags) == set(offered) - {"--help", "--version", "--port", "--engine"}
    model = script(tmp_path, {"say": "<think>hm</think>ok"})
    with served(model, *(word for flag in flags.items() for word in flag)) as server:
        headers = {
            "Authorization": "Bearer secret",
            "Origin": "https://chat.example",
            "Host": "box.lan",
        }
        with server.client() as client:
            assert client.get("/v1/models").status_code == 401
            client.headers.update(headers)
            reply = client.post("/v1/chat/completions", json={**BODY, "model": "nickname"})
            assert reply.headers["access-control-allow-origin"] == "https://chat.example"
            assert reply.json()["choices"][0]["message"]["content"] == "<think>hm</think>ok"
            props = client.get("/props").json()
            running = props["running"]
            assert (running["cache_type_k"], running["cache_type_v"]) == ("q8_0", "bf16")
            assert (running["batch_size"], running["ubatch_size"]) == (512, 128)
            assert (props["total_slots"], props["default_generation_settings"]["n_ctx"]) == (
                2,
                2048,
            )
            rendered = client.post("/apply-template", json=BODY).json()["prompt"]
            assert rendered == "[Hi]assistant:"
            large = client.post("/v1/chat/completions", content=b"x" * 1_100_000)
            assert large.status_code == 413
            client.get("/health")
        assert "2048 tokens (--ctx-size), 2 at a time" in server.output
        assert f"{tmp_path / 'cache' / 'prefixes'}, 0 bytes of 1.5 GiB\n" in server.output
        _, _, err = server.end(signal.SIGINT)
    assert "DEBUG GET /health 200" in err


def test_a_cache_that_cannot_be_is_said_and_the_server_runs(tmp_path: Path) -> None:
    model = script(tmp_path, {"say": "Hello"})
    with served(model, "--cache-dir", tmp_path / "script.json" / "deeper") as server:
        assert re.search(
            r"Note +'.*script\.json.*' cannot be used: not a directory\.", server.output
        )
        with server.client() as client:
            assert client.post("/v1/chat/completions", json=BODY).status_code == 200


def run(*arguments: str, env: dict[str, str] | None = None) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        command(*arguments),
        capture_output=True,
        text=True,
        timeout=SAFETY,
        env={**os.environ, **(env or {})},
    )


def test_it_answers_health_while_it_loads(tmp_path: Path) -> None:
    with listen("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
    model = script(tmp_path, load_seconds=30)
    with spawned(model, "--engine", "scripted", "--port", str(port)) as server:
        transport = httpx.HTTPTransport(retries=10)
        with httpx.Client(
            base_url=f"http://127.0.0.1:{port}", timeout=SAFETY, transport=transport
        ) as client:
            health = client.get("/health")
            assert (health.status_code, health.json()["status"]) == (503, "loading model")
            refused = client.post("/v1/chat/completions", json=BODY)
            assert (refused.status_code, refused.json()["error"]["code"]) == (503, "model_loading")
        code, _, err = server.end(signal.SIGINT)
    assert code == 0
    assert "Traceback" not in err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_when_it_is_idle(tmp_path: Path, number: int) -> None:
    with served(script(tmp_path)) as server, server.client() as client:
        assert client.post("/v1/chat/completions", json=BODY).status_code == 200
        code, _, err = server.end(number)
    assert code == 0
    assert "POST /v1/chat/completions 200" in err
    assert "Traceback" not in err and "Stopping" not in err


@pytest.mark.parametrize("stream", [False, True])
def test_running_answers_may_end(tmp_path: Path, stream: bool) -> None:
    replies: list[httpx.Response] = []
    with served(script(tmp_path, SLOW)) as server, server.client() as client:

        def ask() -> None:
            replies.append(
                client.post("/v1/chat/completions", json=asking("slowly", stream=stream))
            )

        thread = threading.Thread(target=ask)
        thread.start()
        wait_for_work(server.url)
        code, _, err = server.end(signal.SIGINT)
        thread.join(SAFETY)
    assert code == 0
    assert "Stopping: waiting up to 10 s for 1 request to end. Ctrl-C" in err
    text = replies[0].text
    whole = "word word word word word word word word"
    if stream:
        deltas = [chunk["choices"][0]["delta"] for chunk in events(text)]
        assert "".join(delta.get("content", "") for delta in deltas).strip() == whole
    else:
        assert replies[0].json()["choices"][0]["message"]["content"].strip() == whole


def test_a_second_signal_ends_it_at_once(tmp_path: Path) -> None:
    with served(script(tmp_path, ENDLESS)) as server, server.client() as client:
        body = asking("forever", stream=True)
        with client.stream("POST", "/v1/chat/completions", json=body) as reply:
            lines = reply.iter_lines()
            next(lines)
            server.process.send_signal(signal.SIGINT)
            until_nobody_is_let_in(server)
            code, _, err = server.end(signal.SIGINT)
            rest = list(lines)
    assert code == 130
    assert "Traceback" not in err
    assert rest[-2] == "data: [DONE]"
    assert '"cancelled"' in rest[-4]
    assert "WARNING POST /v1/chat/completions 200 " in err and " cancelled: " in err


@pytest.mark.parametrize("words", ["much", "forever"])
def test_a_client_that_does_not_read_is_not_waited_for(tmp_path: Path, words: str) -> None:
    endless = {**ENDLESS, "seconds": 0}
    with served(script(tmp_path, MUCH, endless)) as server, unread(server, words):
        code, _, err = server.end(signal.SIGINT)
    assert code == 0
    assert "Traceback" not in err and "Exception" not in err
    assert "POST /v1/chat/completions 200 " in err and "(client left)" in err


@contextlib.contextmanager
def unread(server: Served, words: str) -> Iterator[None]:
    """A stream of which only the beginning is taken; the server has filled all buffers."""
    body = json.dumps(asking(words, stream=True, logprobs=True, top_logprobs=20)).encode()
    head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}"
    url = httpx.URL(server.url)
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.settimeout(SAFETY)
        client.connect((url.host, url.port or 80))
        client.sendall(head.encode() + b"\r\n\r\n" + body)
        assert client.recv(4096).startswith(b"HTTP/1.1 200 ")
        time.sleep(1)
        yield


def until_nobody_is_let_in(server: Served) -> None:
    """Waits until connections are refused, which is while the last answers still run."""
    url = httpx.URL(server.url)
    with contextlib.suppress(ConnectionRefusedError):
        while server.process.poll() is None:
            socket.create_connection((url.host, url.port or 80), timeout=SAFETY).close()
            time.sleep(0.02)
    assert server.process.poll() is None


def wait_for_work(url: str) -> None:
    with httpx.Client(base_url=url, timeout=SAFETY) as client:
        while not client.get("/health").json()["active"]:
            pass


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["/no/such/model.gguf"], "/no/such/model.gguf"),
        (["x", "--port", "PORT"], "is in use"),
        (["x", "--host", "nowhere.invalid"], "nowhere.invalid"),
        (["x", "-np", "0"], "--parallel"),
    ],
)
def test_what_keeps_it_from_starting_is_one_line(arguments: list[str], said: str) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        result = run(*[port if each == "PORT" else each for each in arguments])
    assert result.returncode == 2
    (line,) = [line for line in result.stderr.splitlines() if not line.endswith("...")]
    assert line.startswith("hubserve: ") and said in line


def test_a_model_that_cannot_be_loaded_is_one_line(tmp_path: Path) -> None:
    model = script(tmp_path, load_error="The architecture 'abc' is not known.")
    result = run(str(model), "--engine", "scripted", "--port", "0")
    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr.splitlines()[-1].startswith("hubserve: ")
    assert "The architecture 'abc' is not known." in result.stderr
    assert "Traceback" not in result.stderr


def test_the_server_process_itself_stays_small(tmp_path: Path) -> None:
    with served(script(tmp_path)) as server, server.client() as client:
        for _ in range(20):
            assert client.post("/v1/chat/completions", json=BODY).status_code == 200
        status = Path(f"/proc/{server.process.pid}/status")
        if not status.exists():
            pytest.skip("only Linux shows a process's memory as a file")
        resident = next(line for line in status.read_text().splitlines() if "VmRSS" in line)
        assert int(resident.split()[1]) < 120 * 1024
