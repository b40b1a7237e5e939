"""A command on a terminal, as a person sees it: bars, and what is left of them at the end."""

import fcntl
import os
import re
import struct
import subprocess
import termios
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_SIZE = struct.pack("HHHH", 24, 100, 0, 0)
_CODE = re.compile(r"\x1b\[([?\d;]*)([A-Za-z])")


@dataclass(frozen=True)
class Shown:
    """Exit code, all that was written, and the lines that stand there at the end."""

    code: int
    written: str
    left: list[str]


def on_terminal(
    command: Sequence[str], env: Mapping[str, str], *, interrupt: str | None = None
) -> Shown:
    """Runs it; with `interrupt`, Ctrl-C is pressed once, when that is written."""
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, _SIZE)
    process = subprocess.Popen(
        command,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, **env, "TERM": "xterm"},
        start_new_session=True,
        preexec_fn=_controlled,
    )
    os.close(theirs)
    data = b""
    with open(ours, "r+b", buffering=0) as terminal:
        while piece := _read(terminal.fileno()):
            data += piece
            if interrupt is not None and interrupt.encode() in data:
                terminal.write(b"\x03")
                interrupt = None
    code = process.wait()
    written = data.decode()
    return Shown(code, written, _screen(written))


def _controlled() -> None:
    # Otherwise Ctrl-C is a character.
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 1 << 16)
    except OSError:  # so Linux tells that nobody has the other end
        return b""


def _screen(written: str) -> list[str]:
    """The lines at the end: text, returns, and the codes that move by lines and clear."""
    lines, row, column, at = [""], 0, 0, 0
    while at < len(written):
        if code := _CODE.match(written, at):
            number, what = code.groups()
            if what == "A":
                row = max(0, row - int(number or 1))
            elif what == "K":
                lines[row] = "" if number == "2" else lines[row][:column]
            at = code.end()
            continue
        character = written[at]
        at += 1
        if character == "\r":
            column = 0
        elif character == "\n":
            row += 1
            lines += [""] * (row + 1 - len(lines))
        else:
            line = lines[row].ljust(column)
            lines[row] = line[:column] + character + line[column + 1 :]
            column += 1
    return [line.rstrip() for line in lines]
