"""The command line: what the flags mean, and one line for what is wrong."""

import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any, NoReturn

import pytest

from hubserve_engine.config import EngineConfig, ModelConfig
from hubserve_server import ahead, cli, command
from hubserve_server.settings import KEY_VARIABLE, Settings

Started = tuple[EngineConfig, Settings]


@pytest.fixture(autouse=True)
def no_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is only read here is not worth a process."""
    monkeypatch.setattr(ahead, "begun", lambda _arguments: nullcontext())


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Started]:
    """What would be started, instead of starting it."""
    calls: list[Started] = []

    def start(config: EngineConfig, settings: Settings) -> int:
        calls.append((config, settings))
        return 0

    monkeypatch.setattr(command, "start", start)
    monkeypatch.delenv(KEY_VARIABLE, raising=False)
    return calls


def serve(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["serve", *arguments])
    with pytest.raises(SystemExit) as caught:
        cli.serve()
    assert isinstance(caught.value.code, int)
    return caught.value.code


def parsed(
    monkeypatch: pytest.MonkeyPatch, started: list[Started], *arguments: str
) -> tuple[EngineConfig, Settings]:
    assert serve(monkeypatch, "model", *arguments) == 0
    return started[-1]


def test_without_flags_the_defaults_hold(
    monkeypatch: pytest.MonkeyPatch, started: list[Started]
) -> None:
    config, settings = parsed(monkeypatch, started)
    assert config == EngineConfig(ModelConfig("model"))
    assert settings == Settings()


@pytest.mark.parametrize(
    ("arguments", "field", "value"),
    [
        (["-c", "4096"], "context_length", 4096),
        (["--ctx-size", "4096"], "context_length", 4096),
        (["-c", "0"], "context_length", None),
        (["-np", "8"], "parallel", 8),
        (["--parallel=8"], "parallel", 8),
        (["-t", "3"], "threads", 3),
        (["--threads", "0"], "threads", None),
        (["-ngl", "20"], "gpu_layers", 20),
        (["-ngl", "all"], "gpu_layers", -1),
        (["-ngl", "-1"], "gpu_layers", -1),
        (["--gpu-layers", "auto"], "gpu_layers", None),
        (["-fa", "off"], "flash_attention", "off"),
        (["-ctk", "q8_0"], "cache_type_k", "q8_0"),
        (["--cache-type-v", "q4_0"], "cache_type_v", "q4_0"),
        (["-b", "1024"], "batch", 1024),
        (["--batch-size", "0"], "batch", None),
        (["-ub", "128"], "micro_batch", 128),
        (["--ubatch-size=64"], "micro_batch", 64),
        (["--flash-attn", "on"], "flash_attention", "on"),
        (["--draft-max", "7"], "draft_max", 7),
        (["--draft-max", "0"], "draft_max", 0),
        (["--draft-max", "auto"], "draft_max", None),
        (["--alias", "a", "--alias", "b"], "aliases", ("a", "b")),
        (["--reasoning", "off"], "reasoning", "off"),
        (["--reasoning-format", "none"], "reasoning_format", "none"),
        (["--chat-template-file", __file__], "chat_template", Path(__file__)),
    ],
)
def test_flags_of_the_model(
    monkeypatch: pytest.MonkeyPatch,
    started: list[Started],
    arguments: list[str],
    field: str,
    value: object,
) -> None:
    config, _ = parsed(monkeypatch, started, *arguments)
    assert getattr(config.model, field) == value


@pytest.mark.parametrize(
    ("arguments", "field", "value"),
    [
        (["--host", "0.0.0.0"], "host", "0.0.0.0"),
        (["--port", "0"], "port", 0),
        (["--api-key", "a", "--api-key", "b"], "api_keys", ("a", "b")),
        (["--cors-origins", "https://a.b,*"], "cors_origins", ("https://a.b", "*")),
        (
            ["--cors-origins", "x://a", "--cors-origins", "x://b"],
            "cors_origins",
            ("x://a", "x://b"),
        ),
        (["--cors-origins", "null"], "cors_origins", ("null",)),
        (
            ["--cors-origins", "http://[::1]:*,chrome-extension://*, https://*.a.b/"],
            "cors_origins",
            ("http://[::1]:*", "chrome-extension://*", "https://*.a.b/"),
        ),
        (["--allowed-hosts", "a.lan, b.lan"], "allowed_hosts", ("a.lan", "b.lan")),
        (["--allowed-hosts", "*"], "allowed_hosts", ("*",)),
        (["--allowed-hosts", "my_box,10.0.0.1"], "allowed_hosts", ("my_box", "10.0.0.1")),
        (["--allowed-hosts", "[fd00::1]"], "allowed_hosts", ("fd00::1",)),
        (["--max-body", "2"], "max_body", 2 * 1024 * 1024),
        (["--log-level", "debug"], "log_level", "debug"),
    ],
)
def test_flags_of_the_server(
    monkeypatch: pytest.MonkeyPatch,
    started: list[Started],
    arguments: list[str],
    field: str,
    value: object,
) -> None:
    _, settings = parsed(monkeypatch, started, *arguments)
    assert getattr(settings, field) == value


def test_flags_of_the_engine(monkeypatch: pytest.MonkeyPatch, started: list[Started]) -> None:
    config, _ = parsed(monkeypatch, started, "--max-queue", "3", "--engine", "scripted")
    assert (config.max_queue, config.engine) == (3, "scripted")
    assert (config.cache_dir, config.cache_disk) == (None, 4 * 1024**3)
    config, _ = parsed(monkeypatch, started, "--cache-dir", "some/where")
    assert config.cache_dir == Path("some/where")


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("0", 0),
        ("4GiB", 4 * 1024**3),
        ("4g", 4 * 1024**3),
        ("500M", 500 * 1024**2),
        ("500 MB", 500_000_000),
        ("1.5TiB", 3 * 1024**4 // 2),
        ("64KiB", 65536),
        ("7b", 7),
    ],
)
def test_sizes(
    monkeypatch: pytest.MonkeyPatch, started: list[Started], text: str, size: int
) -> None:
    config, _ = parsed(monkeypatch, started, "--cache-disk", text)
    assert config.cache_disk == size


def test_keys_from_the_environment(monkeypatch: pytest.MonkeyPatch, started: list[Started]) -> None:
    monkeypatch.setenv(KEY_VARIABLE, "one, two,")
    _, settings = parsed(monkeypatch, started)
    assert (settings.api_keys, settings.keys_of_environment) == (("one", "two"), True)
    _, settings = parsed(monkeypatch, started, "--api-key", "three")
    assert (settings.api_keys, settings.keys_of_environment) == (("three",), False)


@pytest.mark.parametrize("value", ["", " ", ",", " , "])
def test_an_environment_without_a_key_in_it_is_no_open_server(
    monkeypatch: pytest.MonkeyPatch,
    started: list[Started],
    capsys: pytest.CaptureFixture[str],
    value: str,
) -> None:
    monkeypatch.setenv(KEY_VARIABLE, value)
    assert serve(monkeypatch, "model") == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("serve: ") and KEY_VARIABLE in line
    assert started == []
    assert parsed(monkeypatch, started, "--api-key", "k")[1].api_keys == ("k",)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ([], "MODEL"),
        (["m", "-c", "-5"], "--ctx-size"),
        (["m", "-np", "0"], "--parallel"),
        (["m", "-np", "many"], "--parallel"),
        (["m", "-ngl", "some"], "--gpu-layers"),
        (["m", "--draft-max", "-1"], "--draft-max"),
        (["m", "--draft-max", "65"], "--draft-max"),
        (["m", "--draft-max", "many"], "--draft-max"),
        (["m", "-fa", "perhaps"], "--flash-attn"),
        (["m", "--port", "65536"], "--port"),
        (["m", "--reasoning", "maybe"], "--reasoning"),
        (["m", "--chat-template-file", "/no/such/file"], "/no/such/file"),
        (["m", "--api-key", ""], "--api-key"),
        (["m", "--max-body", "0"], "--max-body"),
        (["m", "--log-level", "loud"], "--log-level"),
        (["m", "--bogus"], "--bogus"),
        (["m", "extra"], "extra"),
        ([], "serve unsloth/"),
        (["-m", "x.gguf"], "named without an option, for example: serve unsloth/"),
        (["--model", "x.gguf"], "named without an option, for example: serve unsloth/"),
        (["m", "--model-x"], "No such option: --model-x"),
        (["m", "--port", "abc"], "'--port': 'abc' is not a whole number from 0 to 65535."),
        (["m", "--max-queue", "1.5"], "'--max-queue': '1.5' is not a whole number of at least 0."),
        (["m", "-fa", "perhaps"], "'-fa': 'perhaps' is not one of 'on', 'off', 'auto'."),
        (["m", "--cache-disk", "4"], "'4' is not a size; write one such as '4GiB', or 0."),
        (["m", "--cache-disk", "-4GiB"], "'-4GiB' is not a size; write one such as '4GiB', or 0."),
        (["m", "--cache-disk", "4Gi B"], "'--cache-disk': '4Gi B' is not a size"),
        (["m", "--cache-disk", "all"], "'all' is not a size"),
        (["m", "--cache-disk", ""], "'' is not a size"),
        (["m", "--cache-dir", __file__], "--cache-dir"),
        (["m", "--alias", " "], "'--alias': "),
        (["m", "--cors-origins", "foo"], "'foo' is not an origin; one has a scheme and no path"),
        (["m", "--cors-origins", "foo"], "such as 'https://foo'"),
        (["m", "--cors-origins", "https://a.b/chat"], "'https://a.b/chat' is not an origin"),
        (["m", "--cors-origins", "https://a.b,foo"], "'foo' is not an origin"),
        (["m", "--cors-origins", ","], "--cors-origins"),
        (["m", "--allowed-hosts", "http://x:1"], "'http://x:1' is not a host name"),
        (["m", "--allowed-hosts", "http://x:1"], "such as 'x'"),
        (["m", "--allowed-hosts", "x:1"], "such as 'x'"),
        (["m", "--allowed-hosts", "[::1]:80"], "such as '::1'"),
        (["m", "--allowed-hosts", "*.lan"], "'*.lan' is not a host name"),
        (["m", "--allowed-hosts", "http://["], "'http://[' is not a host name"),
        (["m", "--allowed-hosts", ""], "--allowed-hosts"),
    ],
)
def test_what_is_wrong_is_one_line(
    monkeypatch: pytest.MonkeyPatch,
    started: list[Started],
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    named: str,
) -> None:
    assert serve(monkeypatch, *arguments) == 2
    output = capsys.readouterr()
    assert output.out == ""
    (line,) = output.err.splitlines()
    assert line.startswith("serve: ") and named in line
    assert started == []


def run(*arguments: str, **options: Any) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, timeout=60, **options
    )


@pytest.mark.parametrize("program", [cli.serve, cli.main])
def test_the_short_form_of_help(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    program: Callable[[], NoReturn],
) -> None:
    monkeypatch.setattr(sys, "argv", ["program", "-h"])
    with pytest.raises(SystemExit) as caught:
        program()
    assert caught.value.code == 0
    assert "--version" in capsys.readouterr().out


def test_help_is_for_people(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert serve(monkeypatch, "--help") == 0
    text = capsys.readouterr().out
    assert "list[" not in text and "range" not in text


@pytest.mark.parametrize(
    "words", ["serve", "bench", "cache", "export", "exports", "inspect", "push", "eval tools"]
)
def test_no_switch_is_shown_as_if_it_took_a_value(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: str
) -> None:
    monkeypatch.setattr(sys, "argv", ["hubserve", *words.split(), "--help"])
    with pytest.raises(SystemExit):
        cli.main()
    shown = capsys.readouterr().out
    # typer gives its own switch no other look.
    assert [line for line in shown.splitlines() if "<bool>" in line and "--help" not in line] == []
    assert "[[" not in shown


@pytest.mark.parametrize("words", [[], ["eval"]])
def test_commands_that_need_another_show_their_help(words: list[str]) -> None:
    done = run("-m", "hubserve_server", *words)
    assert (done.returncode, done.stderr.strip()) == (2, ""), done
    assert "Commands" in done.stdout


def test_serve_has_a_version(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert serve(monkeypatch, "--version") == 0
    assert capsys.readouterr().out.startswith("hubserve ")


def test_the_module_is_the_command() -> None:
    result = run("-m", "hubserve_server", "--version")
    assert result.returncode == 0
    assert result.stdout.startswith("hubserve ")


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys; from hubserve_server import cli; sys.argv = ['serve', '--help']\n"
        "try: cli.serve()\n"
        "except SystemExit: pass\n"
        "heavy = {'fastapi', 'pydantic', 'uvicorn', 'huggingface_hub', 'numpy', 'llama_cpp'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)"
    )
    result = run("-c", code, env={**os.environ, "COLUMNS": "200"})
    assert "--ctx-size" in result.stdout
    assert result.stderr.strip() == "[]"


def test_quantized_values_without_flash_attention_are_refused(
    monkeypatch: pytest.MonkeyPatch, started: list[Started], capsys: pytest.CaptureFixture[str]
) -> None:
    assert serve(monkeypatch, "model", "-fa", "off", "-ctv", "q8_0") == 2
    assert "--cache-type-v q8_0" in capsys.readouterr().err
    assert not started
    config, _ = parsed(monkeypatch, started, "-fa", "off", "-ctk", "q8_0")
    assert config.model.flash_attention == "off"
