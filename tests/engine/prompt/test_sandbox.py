"""What templates find, and what they cannot do."""

from datetime import datetime
from typing import Any

import jinja2
import pytest

from hubserve_engine.prompt import budget
from hubserve_engine.prompt.sandbox import Sandbox


def render(source: str, **arguments: Any) -> str:
    budget.refill()
    return Sandbox().from_string(source).render(arguments)


def test_blocks_leave_no_lines_behind() -> None:
    assert render("a\n  {% if true %}\nb\n  {% endif %}\nc") == "a\nb\nc"


def test_loop_controls() -> None:
    source = "{% for i in range(9) %}{% if i == 3 %}{% break %}{% endif %}{{ i }}{% endfor %}"
    assert render(source) == "012"


def test_generation_blocks_are_only_marks() -> None:
    assert render("a{% generation %}b{% endgeneration %}c") == "abc"


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("x|tojson", '{"b": "é<&>\'", "a": [1, true, null]}'),
        ("x|tojson(sort_keys=true)", '{"a": [1, true, null], "b": "é<&>\'"}'),
        ("x.a|tojson(separators=(',', ':'))", "[1,true,null]"),
        ("x.a|tojson(indent=1)", "[\n 1,\n true,\n null\n]"),
        ("x.b|tojson(ensure_ascii=true)", '"\\u00e9<&>\'"'),
        ("x.a|map('string')|tojson", '["1", "True", "None"]'),
    ],
)
def test_json_is_written_as_templates_expect(expression: str, expected: str) -> None:
    found = render("{{ " + expression + " }}", x={"b": "é<&>'", "a": [1, True, None]})
    assert found == expected


def test_json_of_what_is_not_there_is_refused() -> None:
    with pytest.raises(TypeError):
        render("{{ missing|tojson }}")


def test_raise_exception_ends_the_rendering() -> None:
    with pytest.raises(jinja2.TemplateError, match="only two roles"):
        render("{{ raise_exception('only two roles') }}")


def test_the_date_is_today() -> None:
    before = datetime.now().strftime("%Y-%m-%d")
    assert before <= render("{{ strftime_now('%Y-%m-%d') }}") <= datetime.now().strftime("%Y-%m-%d")


def test_a_list_of_the_template_can_be_filled() -> None:
    source = (
        "{% set a = [] %}{% set _ = a.append(1) %}{% set _ = a.append(2) %}{{ a.pop(0) }}{{ a }}"
    )
    assert render(source) == "1[2]"


@pytest.mark.parametrize(
    "source",
    [
        "{{ ''.__class__.__mro__ }}",
        "{{ ''.__class__.__mro__[1].__subclasses__() }}",
        "{{ raise_exception.__globals__.sys }}",
        "{{ messages.clear() }}",
        "{{ '{0.__class__.__mro__}'.format('') }}",
        "{{ cycler.__init__.__globals__ }}",
    ],
)
def test_the_way_out_of_the_sandbox_is_shut(source: str) -> None:
    with pytest.raises(jinja2.exceptions.SecurityError):
        render(source, messages=[])


MANY = [
    "{{ 'a' * 10**9 }}",
    "{{ [1] * 10**9 }}",
    "{{ 10**9 * 'a' }}",
    "{{ 9**(9**9) }}",
    "{{ 'a'|center(10**9) }}",
    "{{ 'a'.center(10**9) }}",
    "{{ 'a'.ljust(10**9) }}",
    "{{ 'a'.rjust(10**9) }}",
    "{{ '1'.zfill(10**9) }}",
    "{{ '\\t'.expandtabs(10**9) }}",
    "{{ '%1000000000d' % 1 }}",
    "{{ '%*d' % (10**9, 1) }}",
    "{{ '%.1000000000f' % 1.5 }}",
    "{{ '%1000000000d'|format(1) }}",
    "{{ '{:1000000000}'.format(1) }}",
    "{{ '{:{}}'.format(1, 10**9) }}",
    "{{ '{a:1000000000}'.format_map({'a': 1}) }}",
    "{{ ('%(a)s' * 10**6) % {'a': 'b' * 10**6} }}",
    "{{ ('{a}' * 10**6).format(a='b' * 10**6) }}",
    "{{ (1).to_bytes(10**9, 'big') }}",
    "{{ ['']|batch(10**9, 'a')|list }}",
    "{{ {}|tojson(indent=10**9) }}",
    "{{ ('a\\n' * 9999)|indent(10**6) }}",
    "{{ range(100000)|join('a' * 100000) }}",
    "{{ ('a' * 100000).join(range(100000)|map('string')) }}",
    "{{ ('a' * 100000)|replace('a', 'b' * 100000) }}",
    "{{ ('a' * 100000).replace('a', 'b' * 100000) }}",
    "{{ ('a' * 100000)|wordwrap(1, wrapstring='b' * 100000) }}",
    "{{ ('a' * 100000)|replace(new='b' * 100000, old='a') }}",
    "{{ 'a'|center(width=10**9) }}",
    "{{ ['']|slice(10**9)|list }}",
    "{% for _ in range(99999) %}{{ 'a' * 9999 }}{% endfor %}",
    "{% for _ in range(20) %}{{ 'a' * 10**6 }}{% endfor %}",
    "{% set x %}{% for _ in range(20) %}{{ 'a' * 10**6 }}{% endfor %}{% endset %}",
    "{{ [1] * 10**7 }}",
    "{{ (1,) * 10**7 }}",
    "{{ 'ā' * 10**6 + ('ā' * 10**6)|list }}",
    "{{ ('ā' * 10**6)|sort }}",
    "{{ ('ā' * 10**6)|batch(2)|list }}",
    "{{ ('ā' * 10**6)|slice(2)|list }}",
    "{{ ('ā' * 10**6)|join }}",
    "{{ ''.join('ā' * 10**6) }}",
    "{{ ('āb,' * 10**6).split(',') }}",
    "{{ ('āb ' * 10**6).rsplit() }}",
    "{{ ('āb\n' * 10**6).splitlines() }}",
    "{{ ('āb\n' * 10**6)|indent(1) }}",
    "{{ ('āb ' * 10**6)|title }}",
    "{{ ('āb ' * 10**6)|wordcount }}",
    "{{ ([[1] * 10**6] * 100)|sum(start=[]) }}",
]


def doubled(step: str, start: str = "'a'") -> str:
    start = "{% set ns = namespace(x=" + start + ") %}"
    return start + "{% for _ in range(60) %}" + step + "{% endfor %}"


SHARED = doubled("{% set ns.x = [ns.x, ns.x] %}", "[1]")
MANY += [
    doubled("{% set ns.x = ns.x + ns.x %}"),
    doubled("{% set ns.x = ns.x ~ ns.x %}"),
    doubled("{% set y %}{{ ns.x }}{{ ns.x }}{% endset %}{% set ns.x = y %}"),
    "{% macro m(x) %}{{ x }}{{ x }}{% endmacro %}" + doubled("{% set ns.x = m(ns.x) %}"),
    SHARED + "{{ ns.x }}",
    SHARED + "{{ ns.x|string }}",
    SHARED + "{{ ns.x|tojson }}",
    SHARED + "{{ ns }}",
    SHARED + "{{ '%s' % ns.x }}",
    SHARED + "{{ '' ~ ns.x }}",
    SHARED + "{{ '{}'.format(ns.x) }}",
]


@pytest.mark.parametrize("source", MANY)
@pytest.mark.timeout(60)
def test_much_text_out_of_little_is_refused(source: str) -> None:
    with pytest.raises((budget.TooLarge, OverflowError)):
        render(source)


@pytest.mark.timeout(60)
def test_much_text_in_many_bearable_pieces_is_refused() -> None:
    with pytest.raises(budget.TooLarge):
        render("{% for _ in range(99999) %}{% set x = 'a' * 10**6 %}{% endfor %}")


def test_each_rendering_has_a_budget_of_its_own() -> None:
    for _ in range(3):
        assert len(render("{% for _ in range(60) %}{% set a = 'a' * 10**7 %}{% endfor %}b")) == 1


def test_honest_use_of_the_same_things_is_let_through() -> None:
    assert render("{{ '%-5s|%03d' % ('a', 7) }}") == "a    |007"
    assert render("{{ '{:>5}|{}'.format('a', 123456789) }}") == "    a|123456789"
    assert render("{{ 'a-b'.replace('-', '+').split('+')|join(', ') }}") == "a, b"
    assert render("{{ ['b', 'a']|sort|join(', ', attribute=none) }}") == "a, b"
    assert render("{{ 'a\nb'|indent(2) }}{{ 'a\nb'|indent('> ', true) }}") == "a\n  b> a\n> b"
    in_loop = "{% for a in ['x'] %}{{ a.replace('x', 'y') }}{{ a.center(3) }}{% endfor %}"
    assert render(in_loop) == "y x "
    assert (
        render("{{ 'a b  c'.split() }}{{ 'a-b-c'.rsplit('-', 1) }}")
        == "['a', 'b', 'c']['a-b', 'c']"
    )
    assert render("{{ 'a\nb'.splitlines() }}{{ 'ab'|list }}") == "['a', 'b']['a', 'b']"
    assert (
        render("{{ x|map(attribute='y')|sum(start=[]) }}", x=[{"y": [1]}, {"y": [2]}]) == "[1, 2]"
    )
    assert render("{{ ('ab ' * 1000)|length }}{{ ('a b ' * 50000)|trim|length }}") == "3000199999"
    assert render("{{ 2**10 }}{{ 7 % 4 }}{{ 3 * 4 }}{{ [1] + [2] }}") == "1024312[1, 2]"
