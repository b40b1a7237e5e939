import pytest

from hubserve_engine.tool_formats import FORMATS, GENERIC, recognise


def test_every_format_is_listed_by_its_name() -> None:
    assert {"hermes", "qwen-xml", "llama", "mistral", "deepseek", "glm", "gemma"} <= FORMATS.keys()
    assert all(name == format.name for name, format in FORMATS.items())


@pytest.mark.parametrize("name", sorted(FORMATS.keys() - {"generic"}))
def test_each_format_is_known_by_what_it_writes(name: str) -> None:
    """The template's white space may differ a little, and so is no part of what is compared."""
    calls = [("call00001", "wordcall", {"wordkey": "wordvalue"})]
    written = FORMATS[name].layouts[0].written(calls)
    assert recognise(f"assistant\n{written}", "") in (FORMATS[name], FORMATS.get("command-r"))


def test_a_template_that_shows_no_calls_is_known_by_its_source() -> None:
    assert recognise("", "List of tools: [") is FORMATS["lfm2"]
    assert recognise("", "{{ message }}") is GENERIC
    assert recognise("something else", "List of tools: [") is GENERIC


def test_control_tokens_of_calls_are_seen() -> None:
    harmony = FORMATS["harmony"]
    for token in ("<|channel|>", "<|constrain|>", "<|message|>", "<|call|>"):
        assert harmony.speaks(token)
    assert not harmony.speaks("<|endoftext|>") and not harmony.speaks("")
    assert FORMATS["deepseek"].speaks("<｜tool▁sep｜>")
