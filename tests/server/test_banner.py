"""The start-up banner: complete, plain where there is no terminal, and fit to paste."""

import io
import shlex
from dataclasses import replace

import pytest
from rich.console import Console
from tests.support.fake_engine import INFO, MODEL_ID

from hubserve_server import banner
from hubserve_server.settings import Settings


def shown(settings: Settings, *, info: object = INFO) -> str:
    output = io.StringIO()
    banner.show(Console(file=output, width=40), INFO, settings, 8123)
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
        "2 threads",
        "191 MiB",
        "http://127.0.0.1:8123/v1",
        "The template has no tools.",
    ):
        assert fact in text


def test_lines_are_plain_and_never_wrapped() -> None:
    text = shown(Settings())
    assert "\x1b" not in text
    command = next(line for line in text.splitlines() if "curl" in line).strip()
    assert shlex.split(command)[:2] == ["curl", "http://127.0.0.1:8123/v1/chat/completions"]


def test_keys_are_not_shown() -> None:
    text = shown(Settings(api_keys=("secret",)))
    assert "secret" not in text
    assert '-H "Authorization: Bearer $HUBSERVE_API_KEY"' in text


def test_an_open_server_says_so() -> None:
    assert "no key is asked for" in shown(Settings(host="0.0.0.0"))
    assert "--api-key sets one" not in shown(Settings(host="0.0.0.0", api_keys=("k",)))
    assert "every machine that reaches 0.0.0.0" in shown(Settings(host="0.0.0.0"))


def test_a_name_that_looks_like_markup_is_shown_as_it_is() -> None:
    output = io.StringIO()
    info = replace(INFO, id="[red]x[/red]", name=None)
    banner.show(Console(file=output), info, Settings(), 1)
    assert "[red]x[/red]" in output.getvalue()


@pytest.mark.parametrize(
    ("count", "text"), [(134_515_008, "135 M"), (4_022_468_096, "4.02 B"), (60_000, "0.06 M")]
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
