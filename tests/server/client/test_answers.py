"""Streams are read the same however they are cut."""

from itertools import pairwise

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hubserve_server.client.answers import Events, decode

STREAM = (
    b": a comment\n\n"
    b'data: {"choices":[{"index":0,"delta":{"role":"assistant","content":null}}]}\n\n'
    b'data: {"choices":[{"delta":{"content":"na\xc3\xafve words"}}],"more":[1]}\r\n\r\n'
    b"event: x\n"
    b'data:{"choices":[{"delta":{"reasoning_content":"hm"},"finish_reason":"length"}]}\n\n'
    b'data: {"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":3,"total_tokens":10}}\n\n'
    b"data: [DONE]\n\n"
)


@given(st.lists(st.integers(0, len(STREAM)), max_size=12))
def test_a_stream_may_be_cut_anywhere(cuts: list[int]) -> None:
    events = Events()
    borders = sorted({0, *cuts, len(STREAM)})
    found: list[bytes] = []
    for start, end in pairwise(borders):
        found += events.feed(STREAM[start:end])
    assert found == Events().feed(STREAM)
    chunks = [decode(event) for event in found]
    assert chunks.pop() is None
    texts = [c.delta.content or c.delta.reasoning_content for k in chunks if k for c in k.choices]
    assert texts == [None, "naïve words", "hm"]
    last = chunks[-1]
    assert last and last.usage and last.usage.completion_tokens == 3


def test_an_error_in_a_chunks_place() -> None:
    chunk = decode(b'{"error":{"message":"The worker died.","code":500}}')
    assert chunk and chunk.error and chunk.error.message == "The worker died."


@pytest.mark.parametrize("event", [b"", b"hello", b"[1]", b'{"choices":1}'])
def test_what_is_no_chunk_is_refused(event: bytes) -> None:
    with pytest.raises(msgspec.MsgspecError):
        decode(event)
