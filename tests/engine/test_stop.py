from hypothesis import given
from hypothesis import strategies as st

from hubserve_engine.stop import StopMatcher

# Few letters, so that stop strings occur, overlap and begin in vain.
words = st.text(alphabet="abc\n", min_size=1, max_size=5)
chunked = st.lists(st.text(alphabet="abc\n", max_size=6), max_size=12)


def run(stops: tuple[str, ...], chunks: list[str]) -> tuple[str, str | None]:
    matcher = StopMatcher(stops)
    text = "".join(matcher.feed(chunk) for chunk in chunks)
    return text + matcher.finish(), matcher.matched


def naive(stops: tuple[str, ...], text: str) -> tuple[str, str | None]:
    """Reads letter by letter; the longest stop string that ends where the first one ends."""
    for end in range(1, len(text) + 1):
        ending = [stop for stop in stops if text[:end].endswith(stop)]
        if ending:
            longest = max(ending, key=len)
            return text[: end - len(longest)], longest
    return text, None


def test_text_that_may_become_a_stop_string_is_held_back_and_no_more() -> None:
    matcher = StopMatcher(("</s>", "\n\n"))
    assert matcher.feed("one <") == "one "
    assert matcher.feed("/") == ""
    assert matcher.feed("b>\n") == "</b>"
    assert matcher.feed("\n two") == ""
    assert matcher.matched == "\n\n"
    assert matcher.feed("more") == ""
    assert matcher.finish() == ""


def test_what_was_held_back_comes_at_the_end() -> None:
    matcher = StopMatcher(("END",))
    assert matcher.feed("The E") == "The "
    assert matcher.feed("N") == ""
    assert matcher.finish() == "EN"
    assert matcher.matched is None


def test_the_first_to_be_complete_wins() -> None:
    assert run(("abcd", "bc"), ["abcd"]) == ("a", "bc")
    assert run(("c", "abc"), ["xabc"]) == ("x", "abc")
    assert run(("ab", "abc"), ["xabc"]) == ("x", "ab")


def test_a_stop_string_that_repeats_itself() -> None:
    assert run(("aab",), list("aaaab")) == ("aa", "aab")


def test_no_stop_strings_hold_nothing_back() -> None:
    assert StopMatcher(()).feed("all") == "all"


@given(st.lists(words, min_size=1, max_size=4).map(tuple), chunked)
def test_any_chunking_gives_what_a_slow_reader_finds(
    stops: tuple[str, ...], chunks: list[str]
) -> None:
    assert run(stops, chunks) == naive(stops, "".join(chunks))


@given(st.lists(words, min_size=1, max_size=3).map(tuple), chunked)
def test_nothing_is_held_that_cannot_become_a_stop_string(
    stops: tuple[str, ...], chunks: list[str]
) -> None:
    matcher = StopMatcher(stops)
    sent = ""
    for at, chunk in enumerate(chunks):
        sent += matcher.feed(chunk)
        if matcher.matched is not None:
            break
        held = "".join(chunks[: at + 1])[len(sent) :]
        assert held == "" or any(stop.startswith(held) for stop in stops)
