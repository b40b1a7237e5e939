"""Other processes that use exports, as servers do."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Literal

import pytest

from hubserve_engine.exports.store import ExportStore

_CODE = """
import sys
from pathlib import Path
from hubserve_engine.exports.store import ExportStore
store, key = ExportStore(Path(sys.argv[1])), sys.argv[2]
def tell():
    print("so it is", flush=True)
    sys.stdin.read()
if sys.argv[3] == "served":
    store.hold(store.find(key))
    tell()
else:
    with store.alone(key, waiting=lambda: None):
        tell()
"""

Using = Callable[[ExportStore, str, Literal["served", "made"]], "subprocess.Popen[str]"]
"""Starts a process that serves or makes the export of a key, until its standard input ends."""


@pytest.fixture
def using() -> Iterator[Using]:
    """What it starts ends with the test."""
    with ExitStack() as stack:

        def start(
            store: ExportStore, key: str, what: Literal["served", "made"]
        ) -> "subprocess.Popen[str]":
            command = [sys.executable, "-c", _CODE, str(store.path.parent), key, what]
            pipe = subprocess.PIPE
            process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)
            stack.enter_context(process)
            stack.callback(process.kill)
            assert process.stdout is not None and process.stdout.readline() == "so it is\n"
            return process

        yield start
