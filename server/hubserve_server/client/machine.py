"""What a figure was measured on."""

import platform
from pathlib import Path

import msgspec
import psutil


class Machine(msgspec.Struct, frozen=True):
    """`cores` are physical ones, `threads` what the system shows; `memory` is in bytes."""

    processor: str
    cores: int
    threads: int
    memory: int
    system: str
    python: str


def this_machine() -> Machine:
    return Machine(
        processor=_processor(),
        cores=psutil.cpu_count(logical=False) or 1,
        threads=psutil.cpu_count() or 1,
        memory=psutil.virtual_memory().total,
        system=platform.platform(),
        python=platform.python_version(),
    )


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or platform.machine())
