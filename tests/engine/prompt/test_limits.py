import subprocess
import sys
import threading

import pytest

from hubserve_engine.prompt.limits import Abandoned, TooHeavy, TooSlow, run_limited


def endless() -> None:
    while True:
        try:
            for _ in range(1000):
                pass
        except Exception:  # what stops it must not be caught by this
            continue


def test_the_result_comes_back() -> None:
    assert run_limited(lambda: 7, 10) == 7


def test_errors_pass_through() -> None:
    with pytest.raises(ZeroDivisionError):
        run_limited(lambda: 1 // 0, 10)


@pytest.mark.timeout(60)
def test_endless_work_is_stopped_and_the_thread_goes_on() -> None:
    for _ in range(3):
        with pytest.raises(TooSlow):
            run_limited(endless, 0.05)
    assert run_limited(lambda: sum(range(1000)), 10) == 499500


@pytest.mark.timeout(60)
def test_work_that_nobody_wants_is_stopped() -> None:
    seen: list[bool] = []

    def wanted() -> bool:
        seen.append(True)
        return len(seen) < 3

    with pytest.raises(Abandoned):
        run_limited(endless, 1000, wanted=wanted)


@pytest.mark.skipif(sys.platform != "linux", reason="nothing tells how much memory there is")
@pytest.mark.timeout(60)
def test_work_that_takes_much_memory_is_stopped() -> None:
    held: list[bytearray] = []

    def grow() -> None:
        while len(held) < 4000:
            held.append(bytearray(2**20))

    with pytest.raises(TooHeavy):
        run_limited(grow, 1000)
    assert len(held) < 2000


@pytest.mark.timeout(60)
def test_it_works_in_any_thread() -> None:
    seen: list[str] = []

    def work() -> None:
        try:
            run_limited(endless, 0.05)
        except TooSlow:
            seen.append("stopped")

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(30)
    assert seen == ["stopped"]


@pytest.mark.timeout(60)
def test_work_that_ends_at_its_limit_leaves_nothing_behind() -> None:
    done = threading.Event()
    for _ in range(200):
        try:
            run_limited(lambda: done.wait(0.002), 0.002)
        except TooSlow:
            continue
    assert done.wait(0.8) is False  # a stop that came too late would be raised in here


# Where a stop is still looked for, CPython 3.11 calls functions more slowly, and cannot trace them.
TRACED = """
import sys
from hubserve_engine.prompt.limits import TooSlow, run_limited

def endless():
    while True:
        pass

run_limited(lambda: 7, 10)
try:
    run_limited(endless, 0.05)
except TooSlow:
    pass
calls = []
sys.setprofile(lambda *event: calls.append(event))
(lambda: 7)()
sys.setprofile(None)
print(len(calls) > 0)
"""


@pytest.mark.timeout(120)
def test_the_interpreter_is_left_as_it_was() -> None:
    done = subprocess.run([sys.executable, "-c", TRACED], capture_output=True, timeout=60)
    assert done.stdout.strip() == b"True"


# Compares two lists that share their parts: one call into C, which would take ages.
STUCK = """
from hubserve_engine.prompt import limits

limits._GRACE = 0.5

def stuck():
    a, b = [], []
    for _ in range(200):
        a, b = [a, a], [b, b]
    return a == b

limits.run_limited(stuck, 0.1, may_exit=True)
"""


@pytest.mark.timeout(120)
def test_work_that_cannot_be_stopped_ends_the_process() -> None:
    done = subprocess.run([sys.executable, "-c", STUCK], capture_output=True, timeout=60)
    assert done.returncode == 1
    assert done.stderr == b""
