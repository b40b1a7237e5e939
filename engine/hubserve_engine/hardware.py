"""What this machine can give to a model. Nothing heavy is imported to find out."""

import math
import os
from dataclasses import dataclass
from pathlib import Path

import psutil

_NO_LIMIT = 2**60
"""Limits as large as this are the kernel's way of saying that there is none."""


@dataclass(frozen=True, slots=True)
class Gpu:
    """A GPU that the backend can use; memory in bytes."""

    name: str
    memory_total: int
    memory_free: int


@dataclass(frozen=True, slots=True)
class Hardware:
    """Cores that may be used at once, and memory in bytes.

    `gpus` is filled by who loads the backend, as only its build knows which of them it can use.
    """

    cores: int
    memory_total: int
    memory_free: int
    gpus: tuple[Gpu, ...] = ()


def detect(root: Path = Path("/")) -> Hardware:
    """Measures this machine, within the limits of the container that this process runs in.

    Cores are physical ones: two threads on one core are no quicker at matrices than one. `root` is
    where Linux's `/proc` and `/sys` are, as far as control groups go.
    """
    memory = psutil.virtual_memory()
    limit, used = _memory_limit(root)
    total, free = memory.total, memory.available
    if limit < _NO_LIMIT:
        total, free = min(total, limit), max(0, min(free, limit - used))
    return Hardware(cores=_cores(root), memory_total=total, memory_free=free)


def _cores(root: Path) -> int:
    logical = psutil.cpu_count() or 1
    physical = psutil.cpu_count(logical=False) or logical
    allowed = _allowed_cores(root) if hasattr(os, "sched_getaffinity") else logical
    return max(1, math.ceil(min(physical, allowed, _cpu_quota(root))))


def _allowed_cores(root: Path) -> int:
    """Physical cores of the CPUs that this process is bound to."""
    cpus = root / "sys/devices/system/cpu"
    return len(
        {
            tuple(_words(cpus / f"cpu{number}/topology/thread_siblings_list")) or number
            for number in os.sched_getaffinity(0)
        }
    )


def _cpu_quota(root: Path) -> float:
    """How many CPUs' worth of time this process may take; infinity where nothing says."""
    quota = math.inf
    for folder in _folders(root):
        if words := _words(folder / "cpu.max"):
            quota = min(quota, _ratio(*words[:2]))
    for folder in _folders(root, "cpu"):
        allowed, period = _words(folder / "cpu.cfs_quota_us"), _words(folder / "cpu.cfs_period_us")
        if allowed and period:
            quota = min(quota, _ratio(allowed[0], period[0]))
    return quota


def _ratio(quota: str, period: str = "100000") -> float:
    if not quota.isdigit() or not period.isdigit() or not int(period):
        return math.inf
    return int(quota) / int(period)


def _memory_limit(root: Path) -> tuple[int, int]:
    """The tightest limit on memory and what is used of it, in bytes, page cache not counted."""
    tightest = (_NO_LIMIT, 0)
    versions = (
        (_folders(root), "memory.max", "memory.current", "inactive_file"),
        (
            _folders(root, "memory"),
            "memory.limit_in_bytes",
            "memory.usage_in_bytes",
            "total_inactive_file",
        ),
    )
    for folders, limit_file, used_file, cache_key in versions:
        for folder in folders:
            limit = _number(folder / limit_file)
            if limit is not None and limit < tightest[0]:
                used = (_number(folder / used_file) or 0) - _statistic(folder, cache_key)
                tightest = (limit, max(0, used))
    return tightest


def _folders(root: Path, controller: str = "") -> list[Path]:
    """The groups that this process is in, from its own to the topmost, as far as they can be seen.

    Version 2 has one tree, which has no controller in `/proc/self/cgroup`; version 1 has one for
    each. Inside a container the topmost often is the container's own group.
    """
    top = root / "sys/fs/cgroup" / controller
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return [top]
    for line in lines:
        _, controllers, group = line.split(":", 2)
        if controller in controllers.split(","):
            own = top / group.lstrip("/")
            return [own, *(above for above in own.parents if above.is_relative_to(top))]
    return [top]


def _words(path: Path) -> list[str]:
    try:
        return path.read_text().split()
    except OSError:
        return []


def _number(path: Path) -> int | None:
    words = _words(path)
    return int(words[0]) if words and words[0].isdigit() else None


def _statistic(folder: Path, key: str) -> int:
    words = _words(folder / "memory.stat")
    return int(words[words.index(key) + 1]) if key in words else 0
