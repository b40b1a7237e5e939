"""The start-up banner: complete, plain where there is no terminal, and fit to paste."""

import io
import shlex
from dataclasses import replace

import pytest
from rich.console import Console
from tests.support.fake_engine import INFO, MODEL_ID

from hubserve_engine.model_info import ModelInfo
from hubserve_server import banner
from hubserve_server.settings import Settings


def shown(settings: Settings, *, info: ModelInfo = INFO) -> str:
    output = io.StringIO()
    banner.show(Console(file=output, width=40), info, settings, 8123)
    return output.getvalue()


def test_everything_about_the_model_is_said() -> None:
    text = shown(Settings())
    for fact in (
        MODEL_ID,
        "llama, 135 M parameters",
        "Q4_K_M",
        "93.5 MiB",
        "4096 tokens (what fits into memory)",
        "scripted (asked for)",
        "2 threads, f16 KV, flash attention off, up to 256 tokens a step",
        "191 MiB",
        "http://127.0.0.1:8123/v1",
        "The template has no tools.",
        "Also      owner/Tiny-GGUF, Tiny-Q4_K_M.gguf, Tiny-Q4_K_M, tiny",
        "Thinking  <think> ... </think>, switch enable_thinking",
        "Tools     calls in the format hermes",
        "Lookup    up to 15 tokens guessed a step",
    ):
        assert fact in text
    assert "Lookup    off\n" in shown(Settings(), info=replace(INFO, draft_max=0))


def test_lines_are_plain_and_never_wrapped() -> None:
    text = shown(Settings())
    assert "\x1b" not in text
    command = next(line for line in text.splitlines() if "curl" in line).strip()
    assert shlex.split(command)[:2] == ["curl", "http://127.0.0.1:8123/v1/chat/completions"]


def test_keys_are_not_shown() -> None:
    text = shown(Settings(api_keys=("secret",)))
    assert "secret" not in text
    assert "API key   the one of --api-key" in text
    assert "With a key of --api-key in the variable KEY:" in text
    assert '-H "Authorization: Bearer $KEY"' in text
    assert "HUBSERVE_API_KEY" not in text


def test_keys_of_the_environment_are_called_that() -> None:
    text = shown(Settings(api_keys=("secret",), keys_of_environment=True))
    assert "secret" not in text and "--api-key" not in text
    assert "API key   the one of HUBSERVE_API_KEY" in text
    assert '-H "Authorization: Bearer $HUBSERVE_API_KEY"' in text
    text = shown(Settings(api_keys=("a", "b"), keys_of_environment=True))
    assert "API key   one of HUBSERVE_API_KEY" in text
    assert '-H "Authorization: Bearer ${HUBSERVE_API_KEY%%,*}"' in text


@pytest.mark.parametrize(
    ("tags", "switch", "text"),
    [
        (None, None, "none known"),
        (("[T]", "[/T]"), None, "[T] ... [/T], no switch known"),
        (None, "thinking", "no tags known, switch thinking"),
    ],
)
def test_what_is_known_of_thinking(
    tags: tuple[str, str] | None, switch: str | None, text: str
) -> None:
    info = replace(INFO, thinking_tags=tags, thinking_switch=switch)
    assert f"Thinking  {text}\n" in shown(Settings(), info=info)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "[::]"])
def test_the_address_for_others(monkeypatch: pytest.MonkeyPatch, host: str) -> None:
    monkeypatch.setattr(banner, "own_address", lambda: "10.1.2.3")
    text = shown(Settings(host=host))
    assert "Base URL  http://127.0.0.1:8123/v1\n  Elsewhere http://10.1.2.3:8123/v1\n" in text
    assert "10.1.2.3" not in shown(Settings())
    monkeypatch.setattr(banner, "own_address", lambda: None)
    assert "Elsewhere" not in shown(Settings(host=host))


def test_an_open_server_says_so() -> None:
    assert "no key is asked for" in shown(Settings(host="0.0.0.0"))
    assert "--api-key sets one" not in shown(Settings(host="0.0.0.0", api_keys=("k",)))
    assert "every machine that reaches 0.0.0.0" in shown(Settings(host="0.0.0.0"))


def test_prefixes_on_disk_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    line = "Prefixes  /caches/hubserve/prefixes, 1.2 GiB of 4 GiB\n"
    assert line in shown(Settings())
    for home, folder in (("/caches", "~/hubserve/prefixes"), ("/cach", "/caches/hubserve")):
        monkeypatch.setenv("HOME", home)
        assert f"Prefixes  {folder}" in shown(Settings())
    assert "Prefixes" not in shown(Settings(), info=replace(INFO, disk=None))


def test_a_name_that_looks_like_markup_is_shown_as_it_is() -> None:
    output = io.StringIO()
    info = replace(INFO, id="[red]x[/red]", name=None)
    banner.show(Console(file=output), info, Settings(), 1)
    assert "[red]x[/red]" in output.getvalue()


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (4_022_468_096, "4.02 B"),
        (1_200_000_000_000, "1200 B"),
        (999_900_000, "1 B"),
        (134_515_008, "135 M"),
        (271_712, "272 K"),
        (12, "12"),
    ],
)
def test_counts_as_models_are_named_by(count: int, text: str) -> None:
    assert banner.count_text(count) == text


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:80/v1"),
        ("0.0.0.0", "http://127.0.0.1:80/v1"),
        ("::", "http://127.0.0.1:80/v1"),
        ("::1", "http://[::1]:80/v1"),
        ("box.lan", "http://box.lan:80/v1"),
    ],
)
def test_the_base_url_is_one_that_works_here(host: str, url: str) -> None:
    assert banner.base_url(host, 80) == url
