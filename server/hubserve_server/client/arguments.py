"""What names the servers of a command. Everything here raises `typer.BadParameter`."""

import shlex
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import typer

from hubserve_server.client.servers import OURS, PORT, Local, Remote, Site


def servers(
    command: str,
    words: Sequence[str],
    at: tuple[str | None, str | None, str | None],
    against: tuple[str | None, str | None, str | None],
    against_command: str | None,
) -> tuple[Site, ...]:
    """The server that `command` asks, and the other if there is one.

    `words` are a model and flags of `serve`; `at` and `against` are a URL, a key, and what is asked
    for; the key and the model are used for a server that is started, too.
    """
    sites: list[Site] = [_subject(command, words, *at)]
    other = _other(against_command, *against)
    if other and other.label == sites[0].label:
        other = replace(other, label=f"{other.label} (2)")
    return tuple((*sites, *((other,) if other else ())))


def _subject(
    command: str, words: Sequence[str], url: str | None, key: str | None, model: str | None
) -> Site:
    if url is not None and words:
        raise typer.BadParameter(
            f"{words[0]!r} is a model to serve, and --url a server that runs: name one of them."
        )
    if url is not None:
        return Remote(_host(url), url, key, model)
    if not words:
        raise typer.BadParameter(
            f"Name a model or a URL, for example: hubserve {command} --url http://localhost:8000/v1"
        )
    if words[0].startswith("-"):
        raise typer.BadParameter(
            f"{words[0]!r} is no option of {command}; flags of serve stand after a model."
        )
    return Local("hubserve", (*OURS, "serve", *words, "--port", PORT), key, model)


def _other(
    command: str | None, url: str | None, key: str | None, model: str | None
) -> Remote | Local | None:
    """A command is read as a shell reads it."""
    if url is not None and command is not None:
        raise typer.BadParameter("--against and --against-command are two servers: name one.")
    if url is not None:
        return Remote(_host(url), url, key, model)
    if command is None:
        return None
    hint = "'--against-command'"
    try:
        words = tuple(shlex.split(command))
    except ValueError as error:
        raise typer.BadParameter(
            f"{command!r} cannot be read: {error}.", param_hint=hint
        ) from error
    if not any(PORT in word for word in words):
        raise typer.BadParameter(
            f"{command!r} has no {PORT}, which is where the server is told its port:"
            f" 'llama-server -m FILE --port {PORT}'.",
            param_hint=hint,
        )
    return Local(Path(words[0]).name, words, key, model)


def target(option: str, path: Path | None) -> None:
    """Says now what would else be known after minutes: that a file cannot be written."""
    if path is None:
        return
    if path.is_dir():
        raise typer.BadParameter(
            f"{str(path)!r} is a folder: name a file in it.", param_hint=repr(option)
        )
    try:
        with tempfile.TemporaryFile(dir=path.parent):
            pass  # whoever may do everything is told of a right that does not help, as in /proc
    except OSError as error:
        raise typer.BadParameter(
            f"There is no folder {str(path.parent)!r} that can be written to ({error.strerror}).",
            param_hint=repr(option),
        ) from error


def _host(url: str) -> str:
    """What a column of a table is headed by."""
    try:
        return urlsplit(url).netloc or url
    except ValueError:
        return url
