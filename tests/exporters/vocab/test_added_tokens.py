"""Added tokens, from all the files that name some."""

import pytest

from hubserve_exporters.errors import ExportError
from hubserve_exporters.vocab.added_tokens import AddedToken, added_tokens
from hubserve_exporters.vocab.files import TokenizerFiles


def entry(id: int, text: str, **flags: bool) -> dict[str, object]:
    return {"id": id, "content": text, **flags}


def test_every_file_adds_what_the_ones_before_it_lack() -> None:
    files = TokenizerFiles(
        tokenizer={"added_tokens": [entry(3, "<a>", special=True, rstrip=True)]},
        tokenizer_config={
            "added_tokens_decoder": {
                "3": {"content": "<a>", "special": False},
                "4": {"content": "<b>", "lstrip": True},
            }
        },
        added_tokens={"<b>": 4, "<c>": 5},
    )
    assert added_tokens(files, {}) == [
        AddedToken(id=3, text="<a>", special=True, rstrip=True),
        AddedToken(id=4, text="<b>", lstrip=True),
        AddedToken(id=5, text="<c>"),
    ]


def test_a_token_with_a_purpose_is_special_wherever_it_is_named() -> None:
    files = TokenizerFiles(
        tokenizer={"added_tokens": [entry(0, "<a>"), entry(1, "<b>"), entry(2, "<c>")]},
        tokenizer_config={"eos_token": {"content": "<a>"}, "pad_token": None},
        special_tokens={"additional_special_tokens": ["<b>", {"content": "</s>"}]},
    )
    found = {token.text: token.special for token in added_tokens(files, {"</s>": 9})}
    assert found == {"<a>": True, "<b>": True, "<c>": False, "</s>": True}
    extra = TokenizerFiles(tokenizer_config={"extra_special_tokens": {"image_token": "<img>"}})
    assert [token.id for token in added_tokens(extra, {"<img>": 7})] == [7]


def test_two_texts_for_one_id_are_refused() -> None:
    files = TokenizerFiles(tokenizer={"added_tokens": [entry(1, "<a>"), entry(1, "<b>")]})
    with pytest.raises(ExportError, match="gives the id 1 to '<a>' and to '<b>'"):
        added_tokens(files, {})


@pytest.mark.parametrize(
    "files",
    [
        TokenizerFiles(tokenizer={"added_tokens": {"id": 1}}),
        TokenizerFiles(tokenizer={"added_tokens": ["<a>"]}),
        TokenizerFiles(tokenizer={"added_tokens": [entry(-1, "<a>")]}),
        TokenizerFiles(tokenizer={"added_tokens": [entry(1, "")]}),
        TokenizerFiles(tokenizer={"added_tokens": [{"id": "1", "content": "<a>"}]}),
        TokenizerFiles(tokenizer_config={"added_tokens_decoder": ["<a>"]}),
        TokenizerFiles(tokenizer_config={"added_tokens_decoder": {"one": {"content": "<a>"}}}),
        TokenizerFiles(tokenizer_config={"added_tokens_decoder": {"1": "<a>"}}),
        TokenizerFiles(tokenizer_config={"added_tokens_decoder": {"9" * 5000: {"content": "<a>"}}}),
        TokenizerFiles(added_tokens={"<a>": "1"}),
    ],
)
def test_what_is_no_added_token_is_refused(files: TokenizerFiles) -> None:
    with pytest.raises(ExportError, match=r"added|content"):
        added_tokens(files, {})
