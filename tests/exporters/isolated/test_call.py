"""A process that does one thing, however it ends."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from threading import Event

import psutil
import pytest

from hubserve_exporters.errors import ExportError
from hubserve_exporters.isolated import call as module
from hubserve_exporters.isolated.call import call

LAUNCHER = """
import runpy, sys
import hubserve_exporters.isolated as package
package.__path__.append(FOLDER)
runpy.run_module("hubserve_exporters.isolated", run_name="__main__", alter_sys=True)
"""
BEGIN = "import os, signal, sys, time\nfrom hubserve_exporters.errors import ExportError\n"


def task(monkeypatch: pytest.MonkeyPatch, folder: Path, body: str) -> None:
    """Has `call` run this function's body, whatever task it is asked for."""
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    (folder / "stub.py").write_text(f"{BEGIN}def run(arguments, report):\n{lines}")
    launcher = LAUNCHER.replace("FOLDER", repr(str(folder)))
    command = (sys.executable, "-c", launcher)
    monkeypatch.setattr(module, "COMMAND", command)


def ask(**arguments: object) -> dict[str, object]:
    return call("stub", arguments, doing="thinking")  # type: ignore[arg-type]


def test_the_answer_comes_back_and_what_is_printed_stays_out_of_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    task(
        monkeypatch,
        tmp_path,
        'report(0.5)\nprint("noise")\nos.system("echo more")\nreport(1)\nreturn dict(arguments)',
    )
    shares: list[float] = []
    answer = call(
        "stub",  # type: ignore[arg-type]
        {"path": "/\udce9/x", "n": 3},
        doing="thinking",
        report=shares.append,
    )
    assert answer == {"path": "/\udce9/x", "n": 3}
    assert shares == [0.5, 1]
    assert capfd.readouterr() == ("", "")


def test_it_goes_on_when_it_may(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    body = (
        "for number in range(3):\n    report.wait_for_leave(number)\n    report(number)\nreturn {}"
    )
    task(monkeypatch, tmp_path, body)
    told: list[tuple[str, float]] = []
    call(
        "stub",  # type: ignore[arg-type]
        {},
        doing="thinking",
        report=lambda share: told.append(("at", share)),
        allow=lambda value: told.append(("may", value)),
    )
    assert told == [("may", 0), ("at", 0), ("may", 1), ("at", 1), ("may", 2), ("at", 2)]

    # It reads the clock, which both have, only when it may.
    task(monkeypatch, tmp_path, "report.wait_for_leave(0)\nreturn {'at': time.monotonic()}")
    allowed: list[float] = []

    def allow(_: int) -> None:
        time.sleep(0.2)
        allowed.append(time.monotonic())

    answer = call("stub", {}, doing="thinking", allow=allow)  # type: ignore[arg-type]
    assert float(str(answer["at"])) >= allowed[0]

    def refuse(pid: int) -> None:
        raise ExportError(f"There is no room for {pid}.")

    task(monkeypatch, tmp_path, "report.wait_for_leave(os.getpid())")
    with pytest.raises(ExportError, match=r"There is no room for \d+") as caught:
        call("stub", {}, doing="thinking", allow=refuse)  # type: ignore[arg-type]
    assert not psutil.pid_exists(int(str(caught.value).split()[-1].rstrip(".")))


def test_a_refusal_is_told_as_it_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    task(monkeypatch, tmp_path, "raise ExportError(\"The file 'a' is blue; paint it.\")")
    with pytest.raises(ExportError, match=r"^The file 'a' is blue; paint it\.$"):
        ask()


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("os.abort()", r"Thinking failed: its process ended by SIGABRT\.$"),
        (
            'print("GGML_ASSERT(x) failed", flush=True)\nos.kill(os.getpid(), signal.SIGSEGV)',
            r"Thinking failed: its process ended by SIGSEGV \(GGML_ASSERT\(x\) failed\)\.$",
        ),
        (
            "os.kill(os.getpid(), signal.SIGKILL)",
            r"Thinking failed: its process was killed, most likely for want of memory\.$",
        ),
        (
            'raise KeyError("x")',
            r"Thinking failed: its process ended with exit code 1 \(KeyError: 'x'\)\.$",
        ),
        ("os._exit(0)", r"Thinking failed: its process ended with exit code 0\.$"),
    ],
)
def test_an_end_without_an_answer_is_a_sentence(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, body: str, said: str
) -> None:
    task(monkeypatch, tmp_path, body)
    with pytest.raises(ExportError, match=said):
        ask()


def test_an_interrupted_call_leaves_no_process(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    task(monkeypatch, tmp_path, "report(os.getpid())\ntime.sleep(60)")
    seen: list[int] = []

    def interrupt(value: float) -> None:
        seen.append(int(value))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        call("stub", {}, doing="thinking", report=interrupt)  # type: ignore[arg-type]
    assert not psutil.pid_exists(seen[0])


def test_another_thread_may_end_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    task(monkeypatch, tmp_path, "report(os.getpid())\nwhile True: time.sleep(60)")
    ended = Event()
    seen: list[int] = []

    def tell(value: float) -> None:
        seen.append(int(value))
        ended.set()

    with pytest.raises(ExportError, match=r"^Thinking was ended\.$"):
        call("stub", {}, doing="thinking", report=tell, ended=ended)  # type: ignore[arg-type]
    assert not psutil.pid_exists(seen[0])


def test_what_takes_too_long_is_ended(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    task(monkeypatch, tmp_path, "report(os.getpid())\nwhile True: time.sleep(60)")
    with pytest.raises(ExportError, match=r"^Thinking was ended after 0\.1 seconds\.$"):
        call("stub", {}, doing="thinking", limit=0.1)  # type: ignore[arg-type]


def test_it_ends_with_whoever_waits_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    task(monkeypatch, tmp_path, "report(os.getpid())\ntime.sleep(60)")
    code = (
        "from hubserve_exporters.isolated import call\n"
        f"call.COMMAND = {module.COMMAND!r}\n"
        'call.call("stub", {}, doing="", report=lambda pid: print(pid, flush=True))'
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        child = psutil.Process(int(parent.stdout.readline()))
        os.kill(parent.pid, signal.SIGKILL)
        parent.wait()
        end = time.monotonic() + 30
        while child.is_running() and child.status() != psutil.STATUS_ZOMBIE:
            assert time.monotonic() < end, "it goes on alone"
            time.sleep(0.02)
