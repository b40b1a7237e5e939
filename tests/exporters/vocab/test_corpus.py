"""The texts that tokenizers are compared on."""

import unicodedata

from hubserve_exporters.vocab.corpus import around, corpus


def test_there_are_500_texts_and_always_the_same() -> None:
    texts = corpus()
    assert len(texts) == len(set(texts)) == 500
    assert texts == corpus()
    assert all(texts)


def test_they_have_what_tokenizers_differ_on() -> None:
    together = "".join(corpus())
    categories = {unicodedata.category(character) for character in together}
    assert {"Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Nd", "Nl", "No", "Pc", "Pd"} <= categories
    assert {"Ps", "Pe", "Pi", "Pf", "Po", "Sm", "Sc", "Sk", "So", "Zs", "Zl", "Zp"} <= categories
    assert {"Cc", "Cf", "Co"} <= categories
    for part in (
        "\0",
        "\r\n",
        "    ",
        "doesn't",
        "DON'T",
        "1234567",
        "\u200d",
        "e\u0301",
        "漢",
        "🇩🇪",
    ):
        assert part in together
    assert any(len(text) >= 300 and " " not in text for text in corpus())
    assert not any("\ud800" <= character <= "\udfff" for character in together)


def test_a_special_token_is_put_into_every_neighbourhood() -> None:
    assert list(around(["<a>"])) == [
        "<a>",
        "<a><a>",
        "before<a>after",
        " <a> word  <a>\n<a>\n\nnext",
        "<a",
        "xa> <A>",
    ]
