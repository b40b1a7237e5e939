"""Single values of the command line: what each may be, and what to write instead where it is not.

Everything here raises `typer.BadParameter`, which names the value.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import NoReturn
from urllib.parse import urlsplit

import typer

from hubserve_engine.config import UNQUANTIZED, FlashAttention
from hubserve_engine.errors import StartError
from hubserve_engine.types import CacheType
from hubserve_server.settings import KEY_VARIABLE, is_address

ORIGIN = re.compile(r"[a-z*][a-z0-9+.*-]*://[^/\s]+/?", re.IGNORECASE)
SIZE = re.compile(
    r"(?P<number>[0-9]{1,9}(\.[0-9]{1,6})?)\s*(?P<unit>[kmgt](i?b)?|b?)", re.IGNORECASE
)
HOST = re.compile(r"[a-z0-9_.-]+", re.IGNORECASE)


def number(low: int, high: int | None = None) -> Callable[[str | int], int]:
    """A reader of whole numbers from `low` to `high`, both included; None is no bound."""
    bounds = f"of at least {low}" if high is None else f"from {low} to {high}"

    def read(value: str | int) -> int:
        text = str(value).strip()
        if re.fullmatch("-?[0-9]{1,18}", text):
            found = int(text)
            if found >= low and (high is None or found <= high):
                return found
        raise typer.BadParameter(f"{value!r} is not a whole number {bounds}.")

    return read


def size(value: str | int) -> int:
    """A number of bytes, as `4GiB`, `500M` or `0`; M and MiB are 1024 times 1024, MB a million."""
    if isinstance(value, int):
        return value
    found = SIZE.fullmatch(value.strip())
    if found and (found["unit"] or not float(found["number"])):
        unit = found["unit"].lower()
        factor = 1000 if re.fullmatch("[kmgt]b", unit) else 1024
        return int(float(found["number"]) * factor ** "bkmgt".index(unit[:1]))
    example = f"{value}GiB" if value.isdecimal() else "4GiB"
    raise typer.BadParameter(f"{value!r} is not a size; write one such as {example!r}, or 0.")


def layers(value: str) -> int | None:
    """A number, `all` (or -1), or `auto` (None), as llama-server takes it."""
    words = {"all": -1, "-1": -1, "auto": None}
    if value in words:
        return words[value]
    if not value.isdecimal() or int(value) > 10_000:
        _refuse("--gpu-layers", f"{value!r} is not a number of layers, 'all' or 'auto'.")
    return int(value)


def drafts(value: str) -> int | None:
    """A number of tokens, or `auto` (None)."""
    if value == "auto":
        return None
    if not value.isdecimal() or int(value) > 64:
        _refuse("--draft-max", f"{value!r} is not a number from 0 to 64, or 'auto'.")
    return int(value)


def attention(asked: FlashAttention, values: CacheType) -> FlashAttention:
    """Flash attention as it was asked for, if llama.cpp has that for values of such a type."""
    if asked == "off" and values not in UNQUANTIZED:
        _refuse(
            "--flash-attn",
            f"'off' does not go with --cache-type-v {values}: quantized values need it."
            " Leave one of the two out.",
        )
    return asked


def aliases(values: Iterable[str]) -> tuple[str, ...]:
    names = tuple(value.strip() for value in values)
    if not all(names):
        _refuse("--alias", "'' is no name that a request could ask for.")
    return names


def api_keys(given: Iterable[str], environment: Mapping[str, str]) -> tuple[str, ...]:
    """The keys of the options, or else those of the environment, which commas separate.

    Raises `StartError` for an environment that promises a key and has none.
    """
    keys = tuple(key.strip() for key in given)
    if not all(keys):
        _refuse("--api-key", "an empty key protects nothing.")
    if keys or KEY_VARIABLE not in environment:
        return keys
    named = tuple(_items(environment[KEY_VARIABLE]))
    if not named:
        # Whoever sets the variable wants a key; serving without one would be the opposite.
        raise StartError(f"{KEY_VARIABLE} is set, but holds no key. Give it one, or unset it.")
    return named


def origins(values: Iterable[str]) -> tuple[str, ...]:
    """Lists of origins, which commas separate; see `Settings.cors_origins`."""
    return tuple(_origin(item) for value in values for item in _items(value) or [value])


def _origin(value: str) -> str:
    if value not in ("*", "null") and not ORIGIN.fullmatch(value):
        example = f"https://{value}" if HOST.fullmatch(value) else "https://chat.example"
        _refuse(
            "--cors-origins",
            f"{value!r} is not an origin; one has a scheme and no path, such as {example!r}.",
        )
    return value


def hosts(values: Iterable[str]) -> tuple[str, ...]:
    """Lists of host names, which commas separate; see `Settings.allowed_hosts`."""
    return tuple(_host(item) for value in values for item in _items(value) or [value])


def _host(value: str) -> str:
    name = value.strip("[]")
    if value == "*" or HOST.fullmatch(name) or is_address(name):
        return name
    example = _host_in(value) or "box.lan"
    return _refuse(
        "--allowed-hosts",
        f"{value!r} is not a host name; one has no scheme, port or path, such as {example!r}.",
    )


def _host_in(address: str) -> str | None:
    try:
        name = urlsplit(address if "://" in address else f"//{address}").hostname or ""
    except ValueError:
        return None
    return name if HOST.fullmatch(name) or is_address(name) else None


def _items(value: str) -> list[str]:
    return [item.strip() for item in value.split(",") if item.strip()]


def _refuse(option: str, reason: str) -> NoReturn:
    raise typer.BadParameter(reason, param_hint=repr(option))
