"""Files with results."""

import os
import tempfile
from pathlib import Path
from typing import Any

import msgspec

from hubserve_server.client.errors import CommandError


def write(path: Path, content: bytes) -> None:
    """The whole file, or nothing at its path."""
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
            Path(name).chmod(0o644)
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise CommandError(f"{str(path)!r} cannot be written: {error.strerror}.") from error


def write_json(path: Path, report: Any) -> None:
    """A record that people read, too."""
    write(path, msgspec.json.format(msgspec.json.encode(report), indent=2) + b"\n")
