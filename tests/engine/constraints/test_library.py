"""llguidance by its C API, as far as its Python classes would be missed."""

import json
import sys
import threading
import time
from collections.abc import Callable

import pytest

from hubserve_engine.constraints import library
from hubserve_engine.constraints.library import Matcher, Tokenizer

END = 256
PIECES = [*(bytes((n,)) for n in range(256)), b"<end>", b"<stop>", b"ab"]


def matcher(
    lark: str,
    *,
    lexer_states: int = 10_000,
    tokenize: Callable[[bytes], list[int]] = list,
) -> Matcher:
    tokenizer = Tokenizer(PIECES, special={END, END + 1}, ends=[END, END + 1], tokenize=tokenize)
    source = json.dumps({"grammars": [{"name": "start", "lark_grammar": f"start: {lark}\n"}]})
    return Matcher(tokenizer, source, lexer_states=lexer_states)


def allowed(mask: bytes) -> set[int]:
    return {8 * at + bit for at, byte in enumerate(mask) for bit in range(8) if byte >> bit & 1}


def test_a_mask_has_the_tokens_that_may_come() -> None:
    assert allowed(matcher('"a" /b*/').mask()) == {ord("a"), PIECES.index(b"ab")}


def test_what_is_forced_is_cut_as_the_model_cuts_it() -> None:
    assert bytes(matcher('"' + "xy" * 2000 + '"').forced()).startswith(b"xyxyxy")


def test_an_answer_that_is_done_may_only_end() -> None:
    done = matcher('"a"')
    done.consume(ord("a"))
    assert done.stopped
    assert allowed(done.mask()) == {END, END + 1}
    done.consume(END + 1)
    assert done.error is None


def test_what_may_not_come_is_an_error_that_stays() -> None:
    broken = matcher('"a"')
    copy = broken.copy()
    broken.consume(ord("b"))
    assert broken.error
    assert not any(broken.mask())
    assert broken.fitting([ord("a")]) == 0
    assert copy.error is None
    assert copy.fitting([ord("a"), ord("b")]) == 1


@pytest.mark.parametrize("lark", ["missing_rule", "/(/", '"a'])
def test_a_grammar_that_is_none_is_an_error(lark: str) -> None:
    assert matcher(lark).error


def test_the_limit_of_states_holds() -> None:
    limited = matcher("/(a|b)*a(a|b){12}/", lexer_states=16)
    for _ in range(200):
        if limited.error:
            break
        limited.mask()
        limited.consume(ord("a"))
    assert limited.error


def test_other_threads_go_on_while_a_tokenizer_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    make = library._LIBRARY.llg_new_tokenizer_v2
    turns, seen = 0, []

    def watched(*arguments: object) -> object:
        before = turns
        made = make(*arguments)
        seen.append(turns - before)
        return made

    monkeypatch.setattr(library._LIBRARY, "llg_new_tokenizer_v2", watched)
    over = threading.Event()

    def turn() -> None:
        nonlocal turns
        while not over.is_set():
            turns += 1
            time.sleep(0)  # lets others go on

    thread = threading.Thread(target=turn)
    thread.start()
    interval = sys.getswitchinterval()
    sys.setswitchinterval(60)  # nobody is asked to let others go on
    try:
        pieces = [b"%d" % number for number in range(100_000)]
        Tokenizer(pieces, special=(), ends=[0], tokenize=list)
    finally:
        sys.setswitchinterval(interval)
        over.set()
        thread.join()
    assert seen[0] > 0


def test_what_takes_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where a pattern forces a million letters, which are followed to their end."""
    monkeypatch.setattr(library, "_MOST_SECONDS", 0.05)
    begun = threading.Event()

    def slowly(text: bytes) -> list[int]:
        time.sleep(0.5 if begun.is_set() else 0)
        return list(text)

    slow = matcher('/x?/ "abcdef"', tokenize=slowly)
    copy = slow.copy()
    assert any(slow.mask())
    slow.consume(ord("x"))
    begun.set()
    slow.forced()
    begun.clear()
    assert "takes more than" in (slow.error or "")
    assert not any(slow.mask())
    assert copy.error is None
    assert any(copy.mask())
