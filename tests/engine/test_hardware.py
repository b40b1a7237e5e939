from pathlib import Path

import psutil
import pytest

from hubserve_engine.hardware import detect

GIB = 2**30


@pytest.fixture(autouse=True)
def _machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight cores with two threads each, 64 GiB of memory of which 40 are free."""

    def count(logical: bool = True) -> int:
        return 16 if logical else 8

    memory = psutil.virtual_memory()._replace(total=64 * GIB, available=40 * GIB)
    monkeypatch.setattr(psutil, "cpu_count", count)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: memory)
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: set(range(16)), raising=False)


def _write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")
    return root


def test_without_limits_the_whole_machine_counts(tmp_path: Path) -> None:
    hardware = detect(tmp_path)
    assert hardware.cores == 8
    assert (hardware.memory_total, hardware.memory_free) == (64 * GIB, 40 * GIB)
    assert hardware.gpus == ()


def test_the_cores_that_the_process_is_bound_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: {3, 5, 7}, raising=False)
    assert detect(tmp_path).cores == 3


def test_two_threads_of_one_core_are_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: {3, 5, 11}, raising=False)
    siblings = "sys/devices/system/cpu/cpu{}/topology/thread_siblings_list"
    files = {siblings.format(n): f"{n % 8},{n % 8 + 8}" for n in range(16)}
    assert detect(_write(tmp_path, files)).cores == 2


@pytest.mark.parametrize(
    ("quota", "cores"),
    [("max 100000", 8), ("200000 100000", 2), ("150000 100000", 2), ("50000 100000", 1), ("", 8)],
)
def test_cpu_quota_of_a_container(tmp_path: Path, quota: str, cores: int) -> None:
    files = {"proc/self/cgroup": "0::/", "sys/fs/cgroup/cpu.max": quota}
    assert detect(_write(tmp_path, files)).cores == cores


def test_memory_limit_of_a_container(tmp_path: Path) -> None:
    # 3 GiB are in use, one of them is page cache that can go at any time.
    files = {
        "proc/self/cgroup": "0::/",
        "sys/fs/cgroup/memory.max": str(8 * GIB),
        "sys/fs/cgroup/memory.current": str(3 * GIB),
        "sys/fs/cgroup/memory.stat": f"anon {2 * GIB}\nfile {GIB}\ninactive_file {GIB}",
    }
    hardware = detect(_write(tmp_path, files))
    assert (hardware.memory_total, hardware.memory_free) == (8 * GIB, 6 * GIB)


def test_the_tightest_of_nested_groups_counts(tmp_path: Path) -> None:
    files = {
        "proc/self/cgroup": "0::/user/session",
        "sys/fs/cgroup/memory.max": "max",
        "sys/fs/cgroup/user/memory.max": str(4 * GIB),
        "sys/fs/cgroup/user/memory.current": str(1 * GIB),
        "sys/fs/cgroup/user/session/memory.max": str(6 * GIB),
        "sys/fs/cgroup/user/session/memory.current": "0",
        "sys/fs/cgroup/user/cpu.max": "100000 100000",
        "sys/fs/cgroup/user/session/cpu.max": "max 100000",
    }
    hardware = detect(_write(tmp_path, files))
    assert hardware.memory_free == 3 * GIB
    assert hardware.cores == 1


def test_the_first_version_of_control_groups(tmp_path: Path) -> None:
    files = {
        "proc/self/cgroup": "5:memory:/docker/abc\n2:cpu,cpuacct:/docker/abc",
        "sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes": str(2 * GIB),
        "sys/fs/cgroup/memory/docker/abc/memory.usage_in_bytes": str(GIB),
        "sys/fs/cgroup/memory/docker/abc/memory.stat": f"total_inactive_file {GIB // 2}",
        "sys/fs/cgroup/cpu/docker/abc/cpu.cfs_quota_us": "300000",
        "sys/fs/cgroup/cpu/docker/abc/cpu.cfs_period_us": "100000",
    }
    hardware = detect(_write(tmp_path, files))
    assert (hardware.memory_total, hardware.memory_free) == (2 * GIB, 2 * GIB - GIB // 2)
    assert hardware.cores == 3


def test_a_container_of_the_first_version_sees_its_group_at_the_top(tmp_path: Path) -> None:
    files = {
        "proc/self/cgroup": "5:memory:/docker/abc\n2:cpu,cpuacct:/docker/abc",
        "sys/fs/cgroup/memory/memory.limit_in_bytes": str(2 * GIB),
        "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1",
        "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000",
    }
    hardware = detect(_write(tmp_path, files))
    assert hardware.memory_total == 2 * GIB
    assert hardware.cores == 8


def test_a_limit_that_is_none_is_none(tmp_path: Path) -> None:
    files = {
        "proc/self/cgroup": "5:memory:/",
        "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712",
    }
    assert detect(_write(tmp_path, files)).memory_total == 64 * GIB


def test_a_limit_above_the_machine_changes_nothing(tmp_path: Path) -> None:
    files = {"proc/self/cgroup": "0::/", "sys/fs/cgroup/memory.max": str(999 * GIB)}
    hardware = detect(_write(tmp_path, files))
    assert (hardware.memory_total, hardware.memory_free) == (64 * GIB, 40 * GIB)
