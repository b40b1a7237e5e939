"""Chat templates on their way into a file."""

import pytest
from tests.support.fetched import real_templates

from hubserve_exporters.errors import ExportError
from hubserve_exporters.isolated import rendering
from hubserve_exporters.vocab.templates import inspect_template, template_keys

GOOD = "{% for m in messages %}{{ m.role }}: {{ m['content'] }}{% endfor %}"


def test_a_template_is_taken_as_it_is_and_others_by_name() -> None:
    warnings: list[str] = []
    text = f"\ufeff{GOOD}\r\n  "
    assert template_keys({"default": text, "tool use": GOOD, "rag": "x"}, warnings) == {
        "tokenizer.chat_template": text,
        "tokenizer.chat_template.tool_use": GOOD,
        "tokenizer.chat_template.rag": "x",
        "tokenizer.chat_templates": ["tool_use", "rag"],
    }
    assert warnings == []
    assert template_keys({}, warnings) == {}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{{ ''.__class__.__mro__ }}", "'__mro__' in line 1"),
        ("a\n{{ x['__globals__'] }}", "'__globals__' in line 2"),
        ("{{ __builtins__ }}", "'__builtins__'"),
        ("{{ x|attr('__class__') }}", "the filter 'attr'"),
        ("{% include 'etc/passwd' %}", "another file (include in line 1)"),
        ("{% import 'x' as y %}", "another file (import"),
        ("{% from 'x' import y %}", "another file (fromimport"),
        ("{% extends 'x' %}", "another file (extends"),
        ("{% if %}", "is not valid Jinja"),
        ("{{ " + "(" * 3000, "is not valid Jinja"),
        ("{{ " + "9" * 5000 + " }}", "is not valid Jinja"),
        ("{{ " + "x + " * 5000 + "x.__class__ }}", "'__class__' in line 1"),
    ],
)
def test_what_is_suspicious_is_told_or_refused(text: str, said: str) -> None:
    warnings: list[str] = []
    assert template_keys({"default": text}, warnings) == {"tokenizer.chat_template": text}
    assert any(said in warning for warning in warnings)
    with pytest.raises(ExportError, match=r"The chat template 'default' .* Read it"):
        template_keys({"default": text}, [], strict=True)


def test_what_transformers_has_beyond_jinja_is_not_suspicious() -> None:
    text = "{% for m in x %}{% generation %}{{ m }}{% endgeneration %}{% break %}{% endfor %}"
    assert list(inspect_template(text)) == []


@pytest.mark.templates
def test_no_real_template_is_suspicious() -> None:
    for path in real_templates():
        assert list(inspect_template(path.read_text("utf-8"))) == [], path.name


@pytest.mark.templates
def test_no_real_template_is_more_than_a_short_chat_needs() -> None:
    unwritten = [p.name for p in real_templates() if not rendering._render(p.read_text("utf-8"))]
    # It wants functions, as text.
    assert [name for name in unwritten if "firefunction" not in name] == []


def test_a_template_of_absurd_size_is_refused() -> None:
    with pytest.raises(ExportError, match="The chat template 'default' has 1048577 bytes"):
        template_keys({"default": "x" * (2**20 + 1)}, [])


def test_two_templates_of_one_name_are_refused() -> None:
    with pytest.raises(ExportError, match="Two chat templates have the name 'a_b'"):
        template_keys({"a b": "x", "a-b": "y"}, [])
