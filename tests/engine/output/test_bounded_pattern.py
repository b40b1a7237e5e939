import time

import pytest

from hubserve_engine.output.bounded_pattern import MOST, found, steps

PASSWORD = r"^(?=.*[A-Z])(?=.*\d)(?!.*\s)[\w!]{8,64}$"


@pytest.mark.parametrize(
    ("pattern", "right", "wrong"),
    [
        (PASSWORD, "Secret1234!", "secret1234!"),
        (r"^[^@\s]+@[^@\s]+\.[a-z]{2,}$", "someone@example.com", "someone@example"),
        (r"\d{4}-(0[1-9]|1[0-2])-\d\d", "on 2026-11-30", "2026-13-30"),
        (r"^(GET|POST|PUT)$", "POST", "PATCH"),
        (r"(?<!a)b[\]x]", "cb]", "ab]"),
        (r"^(ab)+$", "abab", "aba"),
        ("東京|é", "in 東京", "in Kyoto"),
        (r"^$", "", "a"),
    ],
)
def test_what_is_quick_is_tried(pattern: str, right: str, wrong: str) -> None:
    assert found(pattern, right)
    assert not found(pattern, wrong)


@pytest.mark.parametrize(
    "pattern",
    [
        "^(a+)+$",
        "^(a|a)*$",
        "^(a|aa)+$",
        "a*a*a*a*a*a*b",
        "^(?=(a+)+$)b",
        "^((a?){30}){30}$",
        "(a{0,60}){0,60}b",
        "(?:(?:a+)+)+b",
        "^([a-z]+|[a-z0-9]+)*-$",
        "(" * 3000,
        "a" * 3000,
    ],
)
def test_what_may_take_for_ever_is_let_pass_and_not_begun(pattern: str) -> None:
    assert steps(pattern, "a" * 60) > MOST
    assert found(pattern, "a" * 60 + "!")


@pytest.mark.parametrize(
    "pattern",
    [r"(?<n>a)", r"\p{L}+", "(", ")", "[", "*", "a{99999999999}", "(?<=a+)b", "{2}", "a**", "\\"],
)
def test_what_is_no_expression_here_is_let_pass(pattern: str) -> None:
    assert found(pattern, "text") in (True, False)


@pytest.mark.parametrize("size", [10, 100, 1000])
def test_the_steps_are_no_fewer_than_it_takes(size: int) -> None:
    """Where they are few the search is over at once, on the worst of texts."""
    texts = ("a" * size + "!", "a" * size, "ab" * size + "!")
    for pattern in ("a*a*b", "^a*a*a*b", "(?:ab)*a*b!?c", "(a|ab)(a|ab)(a|ab)*c", PASSWORD):
        for text in texts:
            if steps(pattern, text) <= MOST:
                began = time.process_time()
                found(pattern, text)
                assert time.process_time() - began < 5  # for ever is much longer
