import pytest

from hubserve_engine.profiles import PLAIN, choose
from hubserve_engine.profiles.families import FAMILIES, Family


def test_a_template_without_tags_is_plain() -> None:
    assert choose("{% for m in messages %}{{ m.content }}{% endfor %}", ("<s>", "</s>")) == PLAIN
    assert PLAIN.thinking_tags is None


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.profile.name)
def test_every_family_is_found_by_its_signs(family: Family) -> None:
    assert choose(" ".join(family.signs), ()) == family.profile


def test_special_tokens_tell_the_family_where_the_template_does_not() -> None:
    assert choose("", ("[THINK]", "[/THINK]")).thinking_tags == ("[THINK]", "[/THINK]")
    assert choose("", ("<think>",)) == PLAIN


def test_the_template_is_asked_before_the_vocabulary() -> None:
    assert choose("</think>", ("[THINK]", "[/THINK]")).thinking_tags == ("<think>", "</think>")


def test_control_tokens_of_the_layout_are_known() -> None:
    harmony = choose("<|channel|>analysis<|message|>", ())
    assert harmony.speaks("<|channel|>")
    assert harmony.speaks("<|message|>")
    assert not harmony.speaks("<|call|>")
    assert not harmony.speaks("")
    assert not PLAIN.speaks("<think>")
