from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hubserve_engine.channels import ChannelSplitter
from hubserve_engine.transcript import Transcript
from hubserve_engine.types import Delta, TokenLogprob, TokenProbability

THINK = ("<think>", "</think>")


def logprob(piece: bytes) -> TokenLogprob:
    return TokenLogprob(TokenProbability(0, piece, -1.0))


@dataclass
class Written:
    """What a client has in the end."""

    content: str = ""
    reasoning: str = ""
    tokens: list[bytes] = field(default_factory=list)
    offsets: list[int] = field(default_factory=list)
    stop: str | None = None
    completion_tokens: int = 0
    reasoning_tokens: int = 0

    def add(self, deltas: Iterable[Delta]) -> None:
        for delta in deltas:
            if delta.channel == "content":
                self.content += delta.text
                self.tokens += [each.chosen.piece for each in delta.logprobs]
                self.offsets += [each.offset for each in delta.logprobs]
            else:
                assert not delta.logprobs
                self.reasoning += delta.text


def write(
    pieces: Iterable[bytes],
    *,
    stops: tuple[str, ...] = (),
    tags: tuple[str, str] | None = None,
    thinking_open: bool = False,
    anywhere: bool = False,
) -> Written:
    splitter = ChannelSplitter(tags, thinking_open=thinking_open, anywhere=anywhere)
    transcript = Transcript(0, splitter, stops)
    written = Written()
    for piece in pieces:
        written.add(transcript.feed(piece, logprob(piece)))
        if transcript.stop is not None:
            break
    written.add(transcript.finish())
    written.stop = transcript.stop
    written.completion_tokens = transcript.completion_tokens
    written.reasoning_tokens = transcript.reasoning_tokens
    return written


@st.composite
def cut(draw: st.DrawFn, texts: st.SearchStrategy[str]) -> tuple[str, list[bytes]]:
    """A text, and its bytes cut into pieces anywhere; some are empty, as control tokens' are."""
    text = draw(texts)
    data = text.encode()
    borders = draw(st.lists(st.integers(0, len(data)), max_size=12))
    edges = [0, *sorted(borders), len(data)]
    return text, [data[a:b] for a, b in pairwise(edges)]


@pytest.mark.parametrize(
    ("pieces", "offsets"),
    [
        ([b"a", b"bc", b"d"], [0, 1, 3]),
        ([b"a\xc3", b"\xa9b", b"c"], [0, 1, 3]),
        ([b"\xf0", b"\x9f", b"\x91\x8b", b"x"], [0, 0, 0, 1]),
        ([b"<think>", b"no", b"</think>", b"\n\n", b"\xc3", b"\xa9", b"."], [0, 0, 1]),
    ],
)
def test_a_token_begins_where_its_first_character_does(
    pieces: list[bytes], offsets: list[int]
) -> None:
    assert write(pieces, tags=THINK).offsets == offsets
    assert write(pieces, tags=THINK, stops=("~",)).offsets == offsets


ANY = st.text(st.sampled_from("ab \né東👋"), max_size=20)
PARTS = st.sampled_from(["<think>", "</think>", "<think", "a", "b", " ", "\n", "é", "👋", "<"])
TAGGED = st.lists(PARTS, max_size=12).map("".join)


@given(cut(ANY))
def test_the_text_and_its_tokens_do_not_depend_on_the_pieces(
    text_and_pieces: tuple[str, list[bytes]],
) -> None:
    text, pieces = text_and_pieces
    written = write(pieces)
    assert written.content == text
    assert b"".join(written.tokens) == text.encode()


@given(cut(TAGGED), st.booleans(), st.booleans())
@example(("<think>a</think>b", [b"<", b"think", b">", b"a", b"</", b"think>", b"b"]), False, False)
@example(("<think>a</think>\n\nbc", [b"<think>a</think>\n\nb", b"c"]), False, False)
@example(("a<think>b</think>c", [b"a<", b"think>b</think>", b"c"]), False, True)
@example(("<think>a</think>éb", [b"<think>a</", b"think>\xc3", b"\xa9b"]), False, False)
def test_probabilities_are_those_of_the_content(
    text_and_pieces: tuple[str, list[bytes]], thinking_open: bool, anywhere: bool
) -> None:
    text, pieces = text_and_pieces

    def run(pieces: list[bytes]) -> Written:
        return write(pieces, tags=THINK, thinking_open=thinking_open, anywhere=anywhere)

    written, letters = run(pieces), run([bytes((byte,)) for byte in text.encode()])
    assert (written.content, written.reasoning) == (letters.content, letters.reasoning)
    # A token that is in part thinking or a tag counts as content; letter by letter there is none.
    assert b"".join(letters.tokens) == letters.content.encode()
    if not anywhere:
        assert b"".join(written.tokens).endswith(written.content.encode())


@given(cut(ANY), st.lists(st.text(st.sampled_from("ab é👋"), min_size=1, max_size=4), max_size=3))
@example(("ab👋b", [b"ab", "👋".encode()[:2], "👋".encode()[2:], b"b"]), ["b👋b"])
def test_stop_strings_cut_the_text_and_the_tokens_alike(
    text_and_pieces: tuple[str, list[bytes]], stops: list[str]
) -> None:
    text, pieces = text_and_pieces
    written = write(pieces, stops=tuple(stops))
    assert text.startswith(written.content)
    joined = b"".join(written.tokens)
    if written.stop is None:
        assert written.content == text
        assert joined == text.encode()
        return
    assert text[len(written.content) :].startswith(written.stop)
    # Tokens are whole: the last may reach into the stop string, none begins in it.
    assert joined.startswith(written.content.encode())
    last = next((token for token in reversed(written.tokens) if token), b"")
    assert len(joined) - len(last) < len(written.content.encode()) or not joined


def test_a_token_that_only_begins_a_character_waits_for_its_text() -> None:
    transcript = Transcript(0, ChannelSplitter(None, thinking_open=False), ())
    first, second = "é".encode()[:1], "é".encode()[1:]
    assert transcript.feed(first, logprob(first)) == []
    (delta,) = transcript.feed(second, logprob(second))
    assert delta.text == "é"
    assert [each.chosen.piece for each in delta.logprobs] == [first, second]


def test_bytes_that_are_no_character_show_as_such_at_the_end() -> None:
    written = write([b"a", b"\xf0", b"\x9f"])
    assert written.content == "a\ufffd"
    assert written.tokens == [b"a", b"\xf0", b"\x9f"]


def test_probabilities_wait_with_what_a_stop_string_holds_back() -> None:
    transcript = Transcript(0, ChannelSplitter(None, thinking_open=False), ("STOP",))
    assert transcript.feed(b"S", logprob(b"S")) == []
    (delta,) = transcript.feed(b"o", logprob(b"o"))
    assert (delta.text, len(delta.logprobs)) == ("So", 2)


def test_nothing_is_said_of_the_tokens_of_a_stop_string() -> None:
    written = write([b"a", b"b ", b"ST", b"OP", b" c"], stops=("STOP",))
    assert written.content == "ab "
    assert written.tokens == [b"a", b"b "]
    assert written.stop == "STOP"


def test_thinking_and_its_tags_are_no_content() -> None:
    pieces = [b"<", b"think>", b"\nhm", b"\n", b"</think>", b"\n\n", b"Yes", b"."]
    written = write(pieces, tags=THINK)
    assert (written.reasoning, written.content) == ("hm", "Yes.")
    assert written.tokens == [b"Yes", b"."]
    assert written.completion_tokens == len(pieces)
    assert written.reasoning_tokens >= 3


def test_a_token_from_a_torn_tag_into_the_answer_is_content() -> None:
    written = write([b"<think>hm</th", b"ink>\n\nYes", b"."], tags=THINK)
    assert (written.reasoning, written.content) == ("hm", "Yes.")
    assert written.tokens == [b"ink>\n\nYes", b"."]


def test_a_tag_that_never_became_whole_is_text_with_its_tokens() -> None:
    written = write([b"<th", b"in"], tags=THINK)
    assert written.content == "<thin"
    assert written.tokens == [b"<th", b"in"]


@pytest.mark.parametrize("stop", ["<t", "\ufffd"])
def test_a_stop_string_in_what_was_held_back_counts(stop: str) -> None:
    written = write([b"a<t\xf0"], tags=THINK, stops=(stop,))
    assert written.stop == stop
    assert stop not in written.content


def test_stop_strings_do_not_end_thinking() -> None:
    written = write([b"<think>", b"a b", b"</think>", b"c b d"], tags=THINK, stops=("b",))
    assert (written.reasoning, written.content, written.stop) == ("a b", "c ", "b")


def test_the_token_that_ends_an_answer_counts() -> None:
    transcript = Transcript(0, ChannelSplitter(None, thinking_open=False), ())
    transcript.feed(b"a")
    transcript.end()
    assert transcript.completion_tokens == 2
    assert transcript.finish() == []
