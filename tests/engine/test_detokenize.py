from hypothesis import given
from hypothesis import strategies as st

from hubserve_engine.detokenize import Detokenizer


def decoded(pieces: list[bytes]) -> list[str]:
    detokenizer = Detokenizer()
    return [*map(detokenizer.feed, pieces), detokenizer.finish()]


def test_a_character_split_over_tokens_comes_whole() -> None:
    smile = "🙂".encode()
    assert decoded([b"a" + smile[:1], smile[1:3], smile[3:] + b"b"]) == ["a", "", "🙂b", ""]


def test_a_character_that_never_ends_is_replaced_at_the_end_only() -> None:
    assert decoded([b"ok ", "é".encode()[:1]]) == ["ok ", "", "\ufffd"]


def test_a_byte_that_is_no_text_is_replaced_where_it_stands() -> None:
    assert decoded([b"a\xff", b"b"]) == ["a\ufffd", "b", ""]


@given(st.lists(st.binary(max_size=5) | st.text(max_size=3).map(str.encode)))
def test_pieces_decode_as_their_whole(pieces: list[bytes]) -> None:
    whole = b"".join(pieces)
    assert "".join(decoded(pieces)) == whole.decode(errors="replace")


@given(st.text(), st.integers(1, 4))
def test_text_arrives_as_soon_as_its_bytes_do(text: str, step: int) -> None:
    raw = text.encode()
    detokenizer = Detokenizer()
    seen = ""
    for end in range(step, len(raw) + step, step):
        seen += detokenizer.feed(raw[end - step : end])
        assert seen == raw[:end].decode(errors="ignore")
