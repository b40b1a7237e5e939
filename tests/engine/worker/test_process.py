"""A worker process, as it behaves on its socket, its signals and its terminal."""

import re
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.support.process import SAFETY, script
from tests.support.workers import RawWorker, is_running, order, text

from hubserve_engine.types import Chat, Message, Request, ToolCall
from hubserve_engine.worker import protocol

ENDLESS = {"when": "for ever", "say": "x", "then": "repeat", "seconds": 0.001}
YES = {"say": "yes"}


def ready(worker: RawWorker) -> protocol.Ready:
    message = worker.until(lambda m: not isinstance(m, protocol.Progress))
    assert isinstance(message, protocol.Ready), message
    return message


def assert_one_line(written: str, *parts: str) -> None:
    (line,) = written.splitlines()
    assert re.match(r"\d\d:\d\d:\d\d (ERROR|WARNING) worker: \S", line), line
    assert all(part in line for part in parts), line


def test_it_serves_until_the_server_goes(tmp_path: Path) -> None:
    with RawWorker(order(script(tmp_path, ENDLESS, YES))) as worker:
        assert ready(worker).context_length == 4096
        worker.send(protocol.Generate(1, Request("x")))
        assert text(worker.events(1)) == "yes"
        worker.send(protocol.Generate(2, Request("for ever")))
        worker.receive()
        worker.close()
        assert worker.end() == (0, "")


def test_it_ends_while_it_loads_when_the_server_goes(tmp_path: Path) -> None:
    with RawWorker(order(script(tmp_path, load_seconds=0.3))) as worker:
        worker.close()
        assert worker.end() == (0, "")


def test_it_ends_when_nobody_says_what_to_load() -> None:
    with RawWorker(None) as worker:
        worker.close()
        assert worker.end() == (0, "")


def test_loading_stops_when_the_server_goes(tmp_path: Path) -> None:
    """A large model takes minutes, and nobody waits for it any more."""
    patch = """
import time
from hubserve_engine import backends
def load(name, config, progress):
    for part in range(100000):
        progress(part / 100000)
        time.sleep(0.01)
backends.load = load
"""
    with RawWorker(order(script(tmp_path)), patch) as worker:
        assert isinstance(worker.receive(), protocol.Progress)
        worker.close()
        assert worker.end() == (0, "")


def test_signals_for_the_server_leave_it_alone(tmp_path: Path) -> None:
    with RawWorker(order(script(tmp_path))) as worker:
        ready(worker)
        for number in (signal.SIGINT, signal.SIGTERM):
            worker.process.send_signal(number)
        worker.send(protocol.Tokenize(1, "ab", False, False))
        assert worker.receive() == protocol.Tokens(1, [97, 98])


def test_no_worker_outlives_its_server(tmp_path: Path) -> None:
    server = """
import asyncio, sys
from pathlib import Path
from tests.support.workers import WorkerHandle, order
async def main():
    handle = await WorkerHandle.start(order(Path(sys.argv[1])))
    await handle.ready()
    print(handle.pid, flush=True)
    await asyncio.sleep(3600)
asyncio.run(main())
"""
    command = [sys.executable, "-c", server, str(script(tmp_path))]
    root = Path(__file__).parents[3]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=root) as process:
        assert process.stdout is not None
        pid = int(process.stdout.readline())
        assert is_running(pid)
        process.kill()
    deadline = time.monotonic() + SAFETY
    while is_running(pid):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_request_on_which_our_code_fails_is_answered(tmp_path: Path) -> None:
    patch = """
from hubserve_engine.worker.intake import Intake
prepare = Intake.prepare
def broken(self, id, request, wanted):
    if id == 1:
        raise KeyError("gone")
    return prepare(self, id, request, wanted)
Intake.prepare = broken
"""
    with RawWorker(order(script(tmp_path, YES)), patch) as worker:
        ready(worker)
        worker.send(protocol.Generate(1, Request("x")))
        failed = worker.answer(1)
        assert isinstance(failed, protocol.Failed)
        assert failed.kind == "EngineError"
        assert "KeyError: 'gone'" in failed.message
        worker.send(protocol.Generate(2, Request("x")))
        assert text(worker.events(2)) == "yes"
        worker.close()
        code, written = worker.end()
    assert code == 0
    assert_one_line(written, "KeyError: 'gone'", "line ")


@pytest.mark.parametrize(
    "fault", ['RuntimeError("llama_decode returned -3: why")', "MemoryError()"]
)
def test_a_fault_in_a_step_ends_it_with_a_line(tmp_path: Path, fault: str) -> None:
    patch = f"""
from hubserve_engine.backends.scripted import ScriptedBackend
def broken(self):
    raise {fault}
ScriptedBackend.collect = broken
"""
    with RawWorker(order(script(tmp_path, YES)), patch) as worker:
        ready(worker)
        worker.send(protocol.Generate(1, Request("x")))
        with pytest.raises(EOFError):
            worker.answer(1)
        code, written = worker.end()
    assert code == 1
    assert_one_line(written, fault.replace('("', ": ").strip('")('), "line ")


def test_a_fault_while_loading_ends_it_with_a_line(tmp_path: Path) -> None:
    patch = """
from hubserve_engine.backends.scripted import ScriptedBackend
def broken(self, config, progress):
    raise OSError(5, "Input/output error")
ScriptedBackend.__init__ = broken
"""
    with RawWorker(order(script(tmp_path)), patch) as worker:
        code, written = worker.end()
    assert code == 1
    assert_one_line(written, "Input/output error")


@pytest.mark.parametrize(
    "data",
    [struct.pack("<I", 3) + b"abc", b"\xff\xff\xff\xff", struct.pack("<I", 1) + b"\x80"],
    ids=["nonsense", "too long", "no message"],
)
def test_what_is_no_message_ends_it_with_a_line(tmp_path: Path, data: bytes) -> None:
    with RawWorker(order(script(tmp_path))) as worker:
        ready(worker)
        worker.send_bytes(data)
        code, written = worker.end()
    assert code == 1
    assert_one_line(written)


def test_questions_are_answered_and_refused_by_number(tmp_path: Path) -> None:
    with RawWorker(order(script(tmp_path, YES))) as worker:
        ready(worker)
        worker.send(protocol.Pieces(1, (97, 10**6)))
        failed = worker.answer(1)
        assert isinstance(failed, protocol.Failed) and failed.param == "tokens"
        worker.send(protocol.Render(2, Chat(())))
        failed = worker.answer(2)
        assert isinstance(failed, protocol.Failed) and failed.kind == "PromptError"
        # A request may be given up when it is refused already, or before it is there.
        worker.send(protocol.Generate(3, Request("")))
        assert isinstance(worker.answer(3), protocol.Failed)
        worker.send(protocol.Cancel(3))
        worker.send(protocol.Cancel(4))
        worker.send(protocol.Generate(4, Request(Chat((Message("user", "x"),)))))
        assert text(worker.events(4)) == "yes"


def test_an_answer_that_is_too_long_is_a_refusal(tmp_path: Path) -> None:
    patch = "from hubserve_engine.worker import protocol; protocol.LARGEST = 10000"
    with RawWorker(order(script(tmp_path, YES)), patch) as worker:
        ready(worker)
        for id in range(1, 5):
            worker.send(protocol.Tokenize(id, "a" * 9000, False, False))
            assert isinstance(worker.answer(id), protocol.Tokens)
            worker.send(protocol.Tokenize(id, "\xff" * 4900, False, False))
            failed = worker.answer(id)
            assert isinstance(failed, protocol.Failed) and failed.kind == "InvalidRequest"
            assert "10000" in failed.message


def test_questions_are_answered_while_a_step_runs(tmp_path: Path) -> None:
    slow = {"when": "slow", "say": "x", "then": "repeat", "seconds": 0.3}
    with RawWorker(order(script(tmp_path, slow))) as worker:
        ready(worker)
        worker.send(protocol.Generate(1, Request("slow")))
        worker.receive()
        for id in range(2, 22):
            worker.send(protocol.Tokenize(id, "a", False, False))
        steps = 0
        for id in range(2, 22):
            while not isinstance(message := worker.receive(), protocol.Tokens):
                steps += 1
            assert message.id == id
        # Each answer would have taken a step, had it waited for one.
        assert steps < 15


WAITING = """
import threading
from hubserve_engine.worker.intake import Intake
from hubserve_engine.worker.loop import Loop
cancelled = threading.Event()
prepare, cancel = Intake.prepare, Loop.cancel
def slow(self, id, request, wanted):
    assert id != 2 or cancelled.wait(60), "the cancelling waited for the preparing"
    return prepare(self, id, request, wanted)
def seen(self, id):
    cancel(self, id)
    cancelled.set()
Intake.prepare, Loop.cancel = slow, seen
"""


def test_a_request_ends_while_another_is_being_prepared(tmp_path: Path) -> None:
    """A long prompt takes a while to render and to tokenize."""
    with RawWorker(order(script(tmp_path, ENDLESS, YES)), WAITING) as worker:
        ready(worker)
        worker.send(protocol.Generate(1, Request("for ever")))
        worker.receive()
        worker.send(protocol.Generate(2, Request("long")))
        worker.send(protocol.Cancel(1))
        assert text(worker.events(2)) == "yes"


def test_a_request_can_be_cancelled_while_it_is_prepared(tmp_path: Path) -> None:
    with RawWorker(order(script(tmp_path, YES)), WAITING) as worker:
        ready(worker)
        for id in (2, 3):
            worker.send(protocol.Generate(id, Request("for ever")))
        worker.send(protocol.Cancel(3))
        worker.send(protocol.Cancel(2))
        worker.send(protocol.Generate(4, Request("x")))
        # The first thing that is told is of the one that is left.
        step = worker.receive()
        assert isinstance(step, protocol.Step)
        assert {item.id for item in step.items} == {4}
        assert worker.events(4)


def test_nothing_more_is_done_for_what_nobody_waits_for(tmp_path: Path) -> None:
    """The template would be stopped after some time, too, but not all of them together."""
    endless = (
        "{% for m in messages %}{% if m.content == 'for ever' %}"
        "{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}"
        "{% endif %}{{ m.content }}{% endfor %}"
    )
    file = script(tmp_path, YES, template=endless)
    patch = """
from hubserve_engine.prompt import template
template._SECONDS = template._MOST_SECONDS = 100.0
"""
    stuck = Chat((Message("user", "for ever"),))
    with RawWorker(order(file), patch) as worker:
        ready(worker)
        for id in range(1, 11, 2):
            worker.send(protocol.Generate(id, Request(stuck)))
            worker.send(protocol.Render(id + 1, stuck))
        worker.send(protocol.Render(11, Chat((Message("user", "x"),))))
        for id in range(1, 11):
            worker.send(protocol.Cancel(id))
        # The first thing that is told is of the one that is left.
        answer = worker.receive()
        assert isinstance(answer, protocol.Text)
        assert (answer.id, answer.rendered.text) == (11, "x")


def test_halves_of_characters_end_nothing(tmp_path: Path) -> None:
    """A client may have cut a string between the halves, and JSON in JSON lets that through."""
    template = (
        "{% for m in messages %}{{ m.content }}{% for c in m.tool_calls or [] %}"
        "{{ c.function.name }}{{ c.function.arguments|tojson }}{% endfor %}{% endfor %}"
        "{% if messages[0].content == 'no' %}{{ raise_exception('no \\ud83d') }}{% endif %}"
    )
    call = Message("assistant", tool_calls=(ToolCall("a", "look", '{"at": "\\ud83d"}'),))
    with RawWorker(order(script(tmp_path, YES, template=template))) as worker:
        ready(worker)
        worker.send(protocol.Render(1, Chat((Message("user", "x"), call))))
        answer = worker.answer(1)
        assert isinstance(answer, protocol.Text) and answer.rendered.text == 'xlook{"at": "\ufffd"}'
        worker.send(protocol.Generate(2, Request(Chat((Message("user", "no"),)))))
        failed = worker.answer(2)
        assert isinstance(failed, protocol.Failed) and "no \ufffd" in failed.message
        worker.send(protocol.Generate(3, Request(Chat((Message("user", "x"), call)))))
        assert text(worker.events(3)) == "yes"
