"""What the terminal shows once the model answers: what is served, how, and what to paste where."""

import json
import os
import shlex
from collections.abc import Iterator

from rich.console import Console
from rich.text import Text

from hubserve_engine.model_info import ModelInfo, Running
from hubserve_engine.units import size_text
from hubserve_server.listener import own_address
from hubserve_server.settings import KEY_VARIABLE, Settings

ANY = ("0.0.0.0", "::")
"""Hosts that mean all addresses of this machine."""


def base_url(host: str, port: int) -> str:
    """The address for a client on this machine."""
    name = host.strip("[]")
    if name in ANY:
        name = "127.0.0.1"
    return f"http://[{name}]:{port}/v1" if ":" in name else f"http://{name}:{port}/v1"


def key_in_shell(settings: Settings) -> str:
    """What a shell puts a key for; an option's key is not the one in our own variable."""
    if not settings.keys_of_environment:
        return "$KEY"
    several = len(settings.api_keys) > 1
    return f"${{{KEY_VARIABLE}%%,*}}" if several else f"${KEY_VARIABLE}"


def curl(url: str, key: str | None) -> str:
    """A command that works as it is printed; `key` is the shell's word for one."""
    body = {"messages": [{"role": "user", "content": "Say hello."}], "max_tokens": 32}
    parts = [f"curl {url}/chat/completions", "-H 'Content-Type: application/json'"]
    if key:
        parts.append(f'-H "Authorization: Bearer {key}"')
    parts.append(f"-d {shlex.quote(json.dumps(body))}")
    return " ".join(parts)


def count_text(count: int) -> str:
    """A count as models are named by: "272 K", "135 M", "4.02 B"."""
    for size, unit in ((1e9, "B"), (1e6, "M"), (1e3, "K")):
        rounded = float(f"{count / size:.3g}")
        if rounded >= 1:
            return f"{rounded:g} {unit}"
    return str(count)


def thinking_text(info: ModelInfo) -> str:
    """What encloses the model's thinking, and what a request switches it with."""
    if info.thinking_tags is None and info.thinking_switch is None:
        return "none known"
    tags = " ... ".join(info.thinking_tags or ()) or "no tags known"
    switch = f"switch {info.thinking_switch}" if info.thinking_switch else "no switch known"
    return f"{tags}, {switch}"


def home_text(folder: str) -> str:
    """A folder as people write it."""
    home = os.path.expanduser("~")
    inside = home != "/" and folder.startswith(f"{home}/")
    return f"~{folder.removeprefix(home)}" if inside else folder


def settings_text(running: Running) -> str:
    """What was chosen for this machine, or asked for."""
    kinds = dict.fromkeys((running.cache_type_k, running.cache_type_v))
    attention = "on" if running.flash_attention else "off"
    step = f"up to {running.micro_batch} tokens a step"
    return f"{'/'.join(kinds)} KV, flash attention {attention}, {step}"


def facts(info: ModelInfo, settings: Settings, port: int) -> Iterator[tuple[str, str]]:
    """Label and value of each line."""
    named = f"  ({info.name})" if info.name else ""
    yield "Model", f"{info.id}{named}"
    if info.aliases:
        yield "Also", ", ".join(info.aliases)
    parameters = f"{count_text(info.parameters)} parameters, " if info.parameters else ""
    yield "Kind", f"{info.architecture}, {parameters}{info.quantization}, {size_text(info.size)}"
    sequences = f"{info.parallel} at a time"
    yield "Context", f"{info.context_length} tokens ({info.context_limit}), {sequences}"
    yield "Thinking", thinking_text(info)
    yield "Tools", f"calls in the format {info.tool_format}"
    yield "Engine", f"{info.engine} ({info.engine_reason})"
    yield "Runs on", f"{info.hardware}, {settings_text(info.running)}"
    yield "Lookup", f"up to {info.draft_max} tokens guessed a step" if info.draft_max else "off"
    yield "Memory", size_text(info.memory)
    if info.disk:
        folder, used = home_text(info.disk.folder), size_text(info.disk.used)
        yield "Prefixes", f"{folder}, {used} of {size_text(info.disk.limit)}"
    for notice in info.notices:
        yield "Note", notice
    if not settings.loopback:
        yield "Open to", f"every machine that reaches {settings.host}, port {port}"
        if not settings.api_keys:
            yield "Note", "no key is asked for; --api-key sets one"


def to_paste(info: ModelInfo, settings: Settings, port: int) -> Iterator[tuple[str, str]]:
    yield "Base URL", base_url(settings.host, port)
    address = own_address() if settings.host.strip("[]") in ANY else None
    if address:
        yield "Elsewhere", base_url(address, port)
    yield "Model", info.id
    if not settings.api_keys:
        yield "API key", "anything: none is asked for"
    else:
        source = KEY_VARIABLE if settings.keys_of_environment else "--api-key"
        yield "API key", f"{'one' if len(settings.api_keys) > 1 else 'the one'} of {source}"


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
    if settings.api_keys and not settings.keys_of_environment:
        line("  With a key of --api-key in the variable KEY:")
    key = key_in_shell(settings) if settings.api_keys else None
    command = curl(base_url(settings.host, port), key)
    line(("  " + command, "cyan"))
    line()
    line(("  Ctrl-C stops the server.", "dim"))
