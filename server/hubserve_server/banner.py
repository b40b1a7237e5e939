"""What the terminal shows once the model answers: what is served, how, and what to paste where."""

import json
import shlex
from collections.abc import Iterator

from rich.console import Console
from rich.text import Text

from hubserve_engine.types import ModelInfo
from hubserve_engine.units import size_text
from hubserve_server.settings import KEY_VARIABLE, Settings


def base_url(host: str, port: int) -> str:
    """The address for a client on this machine."""
    name = host.strip("[]")
    if name in ("0.0.0.0", "::"):
        name = "127.0.0.1"
    return f"http://[{name}]:{port}/v1" if ":" in name else f"http://{name}:{port}/v1"


def curl(url: str, *, with_key: bool) -> str:
    """A command that works as it is printed; the key is taken from the environment."""
    body = {"messages": [{"role": "user", "content": "Say hello."}], "max_tokens": 32}
    parts = [f"curl {url}/chat/completions", "-H 'Content-Type: application/json'"]
    if with_key:
        parts.append(f'-H "Authorization: Bearer ${KEY_VARIABLE}"')
    parts.append(f"-d {shlex.quote(json.dumps(body))}")
    return " ".join(parts)


def count_text(count: int) -> str:
    """A count as models are named by: "135 M", "4.02 B"."""
    return f"{count / 1e9:.3g} B" if count >= 1e9 else f"{count / 1e6:.3g} M"


def facts(info: ModelInfo, settings: Settings, port: int) -> Iterator[tuple[str, str]]:
    """Label and value of each line."""
    named = f"  ({info.name})" if info.name else ""
    yield "Model", f"{info.id}{named}"
    parameters = f"{count_text(info.parameters)} parameters, " if info.parameters else ""
    yield "Kind", f"{info.architecture}, {parameters}{info.quantization}, {size_text(info.size)}"
    sequences = f"{info.parallel} at a time"
    yield "Context", f"{info.context_length} tokens ({info.context_limit}), {sequences}"
    yield "Engine", f"{info.engine} ({info.engine_reason})"
    yield "Hardware", info.hardware
    yield "Memory", size_text(info.memory)
    for notice in info.notices:
        yield "Note", notice
    if not settings.loopback:
        yield "Open to", f"every machine that reaches {settings.host}, port {port}"
        if not settings.api_keys:
            yield "Note", "no key is asked for; --api-key sets one"


def to_paste(info: ModelInfo, settings: Settings, port: int) -> Iterator[tuple[str, str]]:
    yield "Base URL", base_url(settings.host, port)
    yield "Model", info.id
    key = "one of yours (--api-key)" if settings.api_keys else "anything: none is asked for"
    yield "API key", key


def show(console: Console, info: ModelInfo, settings: Settings, port: int) -> None:
    """Styled on a terminal, plain elsewhere; lines are never wrapped, so they can be copied."""

    def line(*parts: str | tuple[str, str]) -> None:
        console.print(Text.assemble(*parts), soft_wrap=True)

    line()
    for label, value in facts(info, settings, port):
        line((f"  {label:<10}", "dim"), value)
    line()
    line(("  For a client:", "bold"))
    for label, value in to_paste(info, settings, port):
        line((f"  {label:<10}", "dim"), (value, "green"))
    line()
    if settings.api_keys:
        line(f"  With a key in {KEY_VARIABLE}:")
    command = curl(base_url(settings.host, port), with_key=bool(settings.api_keys))
    line(("  " + command, "cyan"))
    line()
    line(("  Ctrl-C stops the server.", "dim"))
