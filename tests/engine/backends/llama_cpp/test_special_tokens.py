"""Long texts give the very tokens that llama_tokenize finds in them."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.backends import FIXTURES
from tests.support.fetched import real_model

from hubserve_engine.backends.base import BackendConfig
from hubserve_engine.backends.llama_cpp.model import Model
from hubserve_engine.backends.llama_cpp.special_tokens import SpecialTokens

SOME = ["a", " ", "\n", "\t", "the ", "é", "▁", "<", ">", "|", "<|im", "think>", "👩‍🚀", "12", "\r"]


def loaded(file: Path) -> Iterator[Model]:
    model = Model(BackendConfig((str(file),), context_length=256, parallel=1), lambda _done: None)
    yield model
    model.close()


@pytest.fixture(scope="module", params=["tiny-llama", "tiny-qwen35"])
def tiny(request: pytest.FixtureRequest) -> Iterator[Model]:
    yield from loaded(FIXTURES / f"{request.param}.gguf")


@pytest.fixture(scope="module", params=["smollm2", "gemma3", "qwen2.5-coder"])
def real(request: pytest.FixtureRequest) -> Iterator[Model]:
    yield from loaded(real_model(str(request.param)))


def check(model: Model, data: st.DataObject) -> None:
    special = model._all_special
    texts = [text.decode("utf-8", "replace") for text in special._tokens]
    pieces = st.one_of(
        st.sampled_from(texts),
        st.sampled_from(SOME),
        st.builds(str.__mul__, st.sampled_from(SOME), st.integers(2, 40)),
        st.builds(lambda text, at: text[at:], st.sampled_from(texts), st.integers(1, 5)),
        st.text(max_size=5),
    )
    text = "".join(data.draw(st.lists(pieces, max_size=15))).encode("utf-8", "replace")
    for add in (False, True):
        for table, parse in ((special, True), (model._always_special, False)):
            assert table.exact
            expected = model._tokenize(text, add_special=add, parse_special=parse)
            assert model._tokenize_long(text, table, add_special=add) == expected


@settings(max_examples=300)
@given(data=st.data())
def test_any_text_on_the_fixtures(tiny: Model, data: st.DataObject) -> None:
    check(tiny, data)


@pytest.mark.model
@settings(max_examples=300)
@given(data=st.data())
def test_any_text_on_real_models(real: Model, data: st.DataObject) -> None:
    check(real, data)


@pytest.mark.timeout(60)
def test_a_hundred_thousand_special_tokens_are_found_at_once(tiny: Model) -> None:
    """llama_tokenize alone would take minutes."""
    turn = "<|im_start|>user\nthe man<|im_end|>\n"
    once = tiny.tokenize(turn, add_special=False, parse_special=True)
    assert tiny.tokenize(turn * 50_000, add_special=False, parse_special=True) == once * 50_000


def split(text: bytes, *texts: bytes, before: bytes = b"", after: bytes = b"") -> list[bytes | int]:
    tokens = {each: number for number, each in enumerate(texts)}
    special = SpecialTokens(
        tokens, strip_before=frozenset([before]), strip_after=frozenset([after])
    )
    assert special.exact
    return list(special.split(text))


@pytest.mark.parametrize(
    ("text", "texts", "expected"),
    [
        (b"", [b"<a>"], []),
        (b"x", [], [b"x"]),
        (b"x<a>y<a>", [b"<a>"], [b"x", 0, b"y", 0]),
        (b"<a><ab>", [b"<a", b"<ab>"], [0, b">", 1]),
        # The longer one counts, though the other begins before it.
        (b"x<a<b>>", [b"<a<", b"<b>>"], [b"x<a", 1]),
        (b"-aaaaaaa-", [b"aa", b"aaa"], [b"-", 1, 1, b"a-"]),
        (b"aaaaaab", [b"aa", b"aaa", b"abaa"], [1, 1, b"b"]),
        # What stands inside a text that has lost its place is there again.
        (b"xabcdefg", [b"abc", b"cdefg", b"b"], [b"xa", 2, 1]),
        (b"a.b", [b"."], [b"a", 0, b"b"]),
    ],
)
def test_the_longest_text_comes_first(
    text: bytes, texts: list[bytes], expected: list[bytes | int]
) -> None:
    assert split(text, *texts) == expected


def test_white_space_beside_a_text_is_dropped_where_it_says_so() -> None:
    text = b" a <x> \n b <y> c <x>  <y>"
    assert split(text, b"<x>", b"<y>", after=b"<x>") == [b" a ", 0, b"b ", 1, b" c ", 0, 1]
    assert split(text, b"<x>", b"<y>", before=b"<x>") == [
        b" a",
        0,
        b" \n b ",
        1,
        b" c",
        0,
        b"  ",
        1,
    ]


@pytest.mark.parametrize(
    ("texts", "strips"),
    [([b"<ab", b"bc>"], False), ([b"x" * 129], False), ([b" <a>"], True)],
    ids=["two of one length for one place", "very long", "white space that is special and dropped"],
)
def test_what_cannot_be_known_is_left_to_llama_cpp(texts: list[bytes], strips: bool) -> None:
    tokens = {each: number for number, each in enumerate(texts)}
    strip = frozenset(texts) if strips else frozenset[bytes]()
    assert not SpecialTokens(tokens, strip_after=strip).exact
