import pytest

from hubserve_engine.output.opening import Opening


@pytest.mark.parametrize(
    ("texts", "text", "rest"),
    [
        (("<tool_call>\n",), "<tool_call>{", "{"),
        (("<tool_call>\n",), "  <tool_call>\n\n{", "\n\n{"),
        (("<a>\n<b=",), "<a>  <b=f", "f"),
        ((":{index}<|x|>",), ":17<|x|>{", "{"),
        (("[ID]{id}[ARGS]",), "[ID]call-1.2[ARGS]{", "{"),
        (("```{id}", "["), "```json\n[{", "{"),
        (("```{id}", "["), "```\n{", "{"),
        (("",), "x", "x"),
    ],
)
def test_texts_are_met_in_order(texts: tuple[str, ...], text: str, rest: str) -> None:
    for pieces in ([text], list(text)):
        opening = Opening(texts, optional=frozenset("["))
        for piece in pieces:
            opening.feed(piece)
        assert (opening.state, opening.rest) == ("met", rest)


@pytest.mark.parametrize("text", ["<tool", " <t", "", "   "])
def test_a_part_of_a_text_waits(text: str) -> None:
    opening = Opening(("<tool_call>",))
    opening.feed(text)
    assert opening.state == "open"


@pytest.mark.parametrize("text", ["<tools>", "x<tool_call>", " " * 300])
def test_another_text_is_none(text: str) -> None:
    opening = Opening(("<tool_call>",))
    opening.feed(text)
    assert opening.state == "missed"
