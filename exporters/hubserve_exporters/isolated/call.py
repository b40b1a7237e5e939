"""Our side of a process that does one thing: what it is told, what it answers, how it ended."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping
from typing import IO, Any, Literal

from hubserve_exporters.errors import ExportError

Task = Literal[
    "evaluating",
    "exporting",
    "quantizing",
    "reference",
    "rendering",
    "tokenizing",
    "unpickling",
]
"""The modules of this package that have a `run`."""
Report = Callable[[float], None]
"""Takes how much is done, from 0 to 1."""
Allow = Callable[[Any], None]
"""Takes what a task asks for before it goes on; raises what is to end it."""

COMMAND = (sys.executable, "-m", "hubserve_exporters.isolated")
"""What starts the other side."""

_OFTEN = 0.1
_LONGEST = 300
_TAIL = 4096


def call(
    task: Task,
    arguments: Mapping[str, object],
    *,
    doing: str,
    report: Report = lambda share: None,
    allow: Allow = lambda value: None,
    limit: float | None = None,
    ended: threading.Event | None = None,
) -> dict[str, Any]:
    """What `run` of that module answers, in a process of its own.

    Arguments and answer are what JSON can say. `doing` is for messages ("quantizing the model").
    Raises ExportError where the task refuses, where its process ends before it has answered, by a
    signal or by a fault in it, where it takes more than `limit` seconds, and where another thread
    sets `ended`. The process ends when this one does, and when this raises.
    """
    late = threading.Event()
    with tempfile.TemporaryFile() as log:
        read, write = os.pipe()
        with open(read, encoding="utf-8") as replies:
            try:
                process = subprocess.Popen(
                    [*COMMAND, task, str(write)],
                    pass_fds=(write,),
                    stdin=subprocess.PIPE,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,  # Ctrl-C is for us, and we end it
                )
            finally:
                os.close(write)

            def end() -> None:
                late.set()
                process.kill()

            timer = threading.Timer(limit or 0, end)
            if ended is not None:
                threading.Thread(target=_watch, args=(process, ended), daemon=True).start()
            try:
                if limit is not None:
                    timer.start()
                answer = _converse(process, replies, json.dumps(arguments), report, allow)
                code = process.wait()
            finally:
                timer.cancel()
                process.kill()
                process.wait()
                if process.stdin is not None:
                    process.stdin.close()
        if answer is None and ended is not None and ended.is_set():
            raise ExportError(f"{_sentence(doing)} was ended.")
        if answer is None and late.is_set():
            raise ExportError(f"{_sentence(doing)} was ended after {limit:g} seconds.")
        if answer is None:
            raise ExportError(f"{_sentence(doing)} failed: {_how_it_ended(code, log)}")
    return answer


def _watch(process: "subprocess.Popen[bytes]", ended: threading.Event) -> None:
    while process.poll() is None:
        if ended.wait(_OFTEN):
            process.kill()
            return


def _converse(
    process: "subprocess.Popen[bytes]",
    replies: IO[str],
    question: str,
    report: Report,
    allow: Allow,
) -> dict[str, Any] | None:
    """The answer; None where the process ended without one."""
    assert process.stdin is not None
    if not _sent(process.stdin, question.encode() + b"\n"):
        return None
    for line in replies:
        kind, value = json.loads(line)
        if kind == "refusal":
            raise ExportError(value)
        if kind == "answer":
            found: dict[str, Any] = value
            return found
        if kind == "question":
            allow(value)
            if not _sent(process.stdin, b"\n"):
                return None
        else:
            report(value)
    return None


def _sent(pipe: IO[bytes], data: bytes) -> bool:
    """False where nobody is there to read it."""
    try:
        pipe.write(data)
        pipe.flush()
    except BrokenPipeError:
        return False
    return True


def _how_it_ended(code: int, log: IO[bytes]) -> str:
    size = log.seek(0, os.SEEK_END)
    log.seek(max(0, size - _TAIL))
    lines = log.read().decode("utf-8", "replace").splitlines()
    last = next((line.strip() for line in reversed(lines) if line.strip()), "")
    said = f" ({last[:_LONGEST]})" if last else ""
    if code == -signal.SIGKILL:
        return f"its process was killed, most likely for want of memory{said}."
    if code < 0:
        return f"its process ended by {signal.Signals(-code).name}{said}."
    return f"its process ended with exit code {code}{said}."


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]
