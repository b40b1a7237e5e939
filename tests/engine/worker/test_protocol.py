import math
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hubserve_engine.backends.base import BackendConfig, Loaded
from hubserve_engine.config import DiskCache
from hubserve_engine.types import (
    Chat,
    Completed,
    Delta,
    Finished,
    Message,
    Rendered,
    Request,
    Sampling,
    SamplingOptions,
    Started,
    Timings,
    TokenLogprob,
    TokenProbability,
    ToolCall,
    Usage,
    WorkerEvent,
)
from hubserve_engine.worker import protocol
from hubserve_engine.worker.protocol import FrameBuffer, Item, encode

CHAT = Chat(
    messages=(
        Message("system", "Be brief."),
        Message("user", "東京 👋\x00"),
        Message("assistant", None, "hm", (ToolCall("c", "f", '{"a": '),)),
        Message("tool", "42", tool_call_id="c", name="f"),
    ),
    tools=({"type": "function", "function": {"name": "f", "parameters": {"a": [1, None, 2.5]}}},),
    reasoning="off",
    reasoning_effort="low",
    template_arguments={"enable_thinking": False, "deep": {"er": [[]]}},
    add_generation_prompt=False,
    continue_final=True,
)
LOGPROB = TokenLogprob(
    TokenProbability(1, b"\xf0\x9f", -0.5), (TokenProbability(2, b"", -math.inf),)
)
EVENTS: list[WorkerEvent] = [
    Started(5),
    Delta(0, "reasoning", "hm"),
    Delta(3, "content", "", (LOGPROB,)),
    Finished(1, "stop", 5, 2, "STOP"),
    Completed(Usage(1, 2, 3, 4), Timings(1, 2, 3.5, 4, 5.5)),
]
TO_WORKER: list[protocol.ToWorker] = [
    protocol.Load(
        "scripted",
        BackendConfig(("a.gguf", "b.gguf"), 512, 4),
        Sampling(logit_bias=((1, -math.inf), ("no", 2.0))),
        "{{ x }}",
        "auto",
        512,
        "none",
        0.2,
        1000,
        2**30,
        DiskCache("/cache", 2**40, "abc"),
    ),
    protocol.Generate(1, Request(CHAT, stop=("a", "b"), n=3, logprobs=0, max_tokens=7)),
    protocol.Generate(2, Request("text", SamplingOptions(seed=2**40, temperature=0.0))),
    protocol.Generate(3, Request((1, 2, 3), SamplingOptions(logit_bias=((1, -math.inf),)))),
    protocol.Generate(4, Request((), cache_prompt=False)),
    protocol.Cancel(2**31),
    protocol.Tokenize(5, "text", True, False),
    protocol.Pieces(6, (1, 2)),
    protocol.Render(7, CHAT),
]
FROM_WORKER: list[protocol.FromWorker] = [
    protocol.Progress(0.5),
    protocol.Ready(
        Loaded("a", 1, 2, 3, 4, "c", None, "", "d", frozenset({"x"}), ("notice",)),
        512,
        15,
        "template",
        ("<think>", "</think>"),
        None,
        "hermes",
        (),
    ),
    protocol.Step([Item.of(9, event) for event in EVENTS]),
    protocol.Failed(None, "LoadError", "no"),
    protocol.Failed(3, "ContextOverflow", "no", "messages", (5, 4)),
    protocol.Tokens(1, [1, 2]),
    protocol.PieceList(1, [b"\xff", b""]),
    protocol.Text(1, Rendered("text", True)),
]


def bodies(data: bytes) -> list[bytes]:
    return list(FrameBuffer().feed(data))


@pytest.mark.parametrize("message", TO_WORKER, ids=lambda m: type(m).__name__)
def test_what_goes_to_the_worker_arrives(message: protocol.ToWorker) -> None:
    (body,) = bodies(encode(message))
    assert protocol.decode_to_worker(body) == message


@pytest.mark.parametrize("message", FROM_WORKER, ids=lambda m: type(m).__name__)
def test_what_comes_from_the_worker_arrives(message: protocol.FromWorker) -> None:
    (body,) = bodies(encode(message))
    assert protocol.decode_from_worker(body) == message


def test_every_message_is_among_them() -> None:
    assert {type(m) for m in TO_WORKER} == set(protocol.ToWorker.__args__)
    assert {type(m) for m in FROM_WORKER} == set(protocol.FromWorker.__args__)
    assert {type(e) for e in EVENTS} == set(WorkerEvent.__args__)


@pytest.mark.parametrize("event", EVENTS, ids=lambda e: type(e).__name__)
def test_an_item_holds_its_event(event: WorkerEvent) -> None:
    assert Item.of(1, event).event is event


messages = st.lists(st.binary(max_size=40), max_size=6)


@given(messages, st.lists(st.integers(0, 300), max_size=10))
def test_frames_come_out_whole_however_they_are_cut(sent: list[bytes], cuts: list[int]) -> None:
    stream = b"".join(struct.pack("<I", len(body)) + body for body in sent)
    edges = sorted({0, len(stream), *(cut for cut in cuts if cut < len(stream))})
    frames = FrameBuffer()
    found: list[bytes] = []
    for start, end in zip(edges, [*edges[1:], len(stream)], strict=True):
        found += frames.feed(stream[start:end])
    assert found == sent


@given(st.binary(max_size=200))
def test_any_bytes_are_frames_or_refused(data: bytes) -> None:
    try:
        found = bodies(data)
    except ValueError as error:
        assert "bytes" in str(error)
    else:
        assert sum(len(body) + 4 for body in found) <= len(data)


def test_a_frame_that_is_too_long_is_refused_before_it_is_there() -> None:
    with pytest.raises(ValueError, match=str(protocol.LARGEST + 1)):
        bodies(struct.pack("<I", protocol.LARGEST + 1))


def test_long_frames_take_no_more_time_than_their_length() -> None:
    """16 MiB in small pieces: not copied again for every piece."""
    body = bytes(16 << 20)
    stream = struct.pack("<I", len(body)) + body
    frames = FrameBuffer()
    found: list[bytes] = []
    for start in range(0, len(stream), 1 << 12):
        found += frames.feed(stream[start : start + (1 << 12)])
    assert found == [body]
