import pytest

from hubserve_engine.output.triggers import triggers
from hubserve_engine.tool_formats import FORMATS

each_format = pytest.mark.parametrize("name", sorted(FORMATS))


# It addresses functions by " to=", as gpt-oss does; that model's calls are not looked for here.
@pytest.mark.parametrize("name", sorted(FORMATS.keys() - {"muse"}))
def test_no_trigger_hides_another(name: str) -> None:
    """One that is found within another before that one is whole would be taken for it."""
    found = triggers(FORMATS[name])
    for text in found.texts:
        for length in range(1, len(text)):
            inside = found.search(text[:length], False)
            assert inside is None, (text, inside[0])


@each_format
def test_the_models_own_ways_come_first(name: str) -> None:
    found = triggers(FORMATS[name])
    for text in found.texts:
        own = [way.own for way, _ in found.ways(text)]
        assert own == sorted(own, reverse=True)


def test_some_count_at_the_start_of_a_line_only() -> None:
    found = triggers(FORMATS["hermes"])
    assert found.search("so {", True) is None
    assert found.search("{", False) is None
    for text in ("{", "so\n{", "  [", "so\n ```"):
        assert found.search(text, True)
    assert found.search("so <tool_call>", False)
    mistral = triggers(FORMATS["mistral"]).search("so [TOOL_CALLS]", False)
    assert mistral and mistral[0] == "[TOOL_CALLS]"


@each_format
def test_the_beginning_of_a_trigger_is_waited_for(name: str) -> None:
    found = triggers(FORMATS[name])
    for text in found.texts:
        for length in range(1, len(text)):
            assert found.partial(f"so {text[:length]}") >= length
        assert found.partial(f"{text} so") == 0
    assert found.partial("") == found.partial("so") == 0
