"""How long threads waited for a core."""

import hashlib
import os
import threading
from pathlib import Path

import pytest

from hubserve_engine.run_delay import run_delay


def test_what_linux_tells_of_all_threads(tmp_path: Path) -> None:
    for task, line in (("1", "7 2000000000 3"), ("2", "7 500000000 3"), ("3", "")):
        (tmp_path / task).mkdir()
        (tmp_path / task / "schedstat").write_text(line)
    (tmp_path / "4").mkdir()  # a thread that has just ended
    assert run_delay(tmp_path) == 2.5


def test_a_system_that_does_not_tell(tmp_path: Path) -> None:
    assert run_delay(tmp_path / "none") is None


@pytest.mark.skipif(run_delay() is None, reason="this system does not tell")
def test_threads_that_share_a_core_wait() -> None:
    core = {min(os.sched_getaffinity(0))}
    waited: list[float] = []

    def work() -> None:
        os.sched_setaffinity(0, core)
        hashlib.blake2b(bytes(1 << 26))  # without the interpreter's lock
        waited.append(run_delay() or 0.0)

    before = run_delay()
    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert before is not None
    assert waited[0] > before + 0.01
