import pytest
from hypothesis import given
from hypothesis import strategies as st

from hubserve_engine.surrogates import mended


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ""),
        ("Grüße \U0001f44b", "Grüße \U0001f44b"),
        ("a\ud83db", "a\ufffdb"),
        ("a\udc4b", "a\ufffd"),
        ("\ud83d\udc4b", "\U0001f44b"),
        ("\udc4b\ud83d", "\ufffd\ufffd"),
        ("\ud83d\ud83d\udc4b\ud83d", "\ufffd\U0001f44b\ufffd"),
    ],
)
def test_halves_of_characters(text: str, expected: str) -> None:
    assert mended(text) == expected


@given(st.text(st.characters()))
def test_any_text_can_be_encoded_and_no_whole_one_is_changed(text: str) -> None:
    mended(text).encode()
    whole = text.encode("utf-8", "ignore").decode()
    assert mended(whole) == whole
