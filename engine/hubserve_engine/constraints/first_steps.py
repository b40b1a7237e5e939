"""The first steps into a grammar, tried before an answer comes to them.

llguidance keeps all that may come next in a row, and a row has a limit. Grammars of too many
alternatives compile, and fail where those stand: behind thinking, or within what is open by then.
"""

from functools import cache

from hubserve_engine.constraints.grammar import Grammar
from hubserve_engine.constraints.library import Matcher, Tokenizer
from hubserve_engine.constraints.limits import LEXER_STATES
from hubserve_engine.json_schema import Schema, resolved

_END = 256
_BEGINNINGS = b'{["'
_MANY = 300
"""Members and alternatives. A row of llguidance takes 500 members that may be missing."""
_MOST_OPTIONS = 20_000


def failing(source: str) -> str | None:
    """Why a grammar fails at its first steps, whatever the model; None where it does not."""
    matcher = Matcher(_bytes(), source, lexer_states=LEXER_STATES)
    _follow(matcher)
    mask = matcher.mask()
    for byte in _BEGINNINGS:
        if matcher.error is None and mask[byte // 8] >> byte % 8 & 1:
            further = matcher.copy()
            further.consume(byte)
            _follow(further)
            if further.error is not None:
                return further.error
    return matcher.error


def failing_schema(schema: Schema) -> str | None:
    grammar = Grammar()
    return failing(grammar.source(grammar.json(schema)))


def wide(schema: Schema, root: Schema) -> bool:
    """Whether so much may come at this place alone that it has to be tried."""
    count, todo, looks = 0, [schema], 0
    while todo and looks < _MOST_OPTIONS:
        looks += 1
        each = resolved(todo.pop(), root)
        if not isinstance(each, dict):
            continue
        if isinstance(properties := each.get("properties"), dict):
            count += len(properties)
        for keyword in ("anyOf", "oneOf", "allOf"):
            if isinstance(options := each.get(keyword), list):
                count += len(options)
                todo.extend(options)
        if isinstance(items := each.get("prefixItems"), list):
            count += len(items)
        if count > _MANY:
            return True
    return False


def _follow(matcher: Matcher) -> None:
    matcher.mask()
    for byte in matcher.forced() if matcher.error is None else ():
        matcher.consume(byte)
    matcher.mask()


@cache
def _bytes() -> Tokenizer:
    """A vocabulary of bytes: what a row holds is the same for every model."""
    pieces = [*(bytes((number,)) for number in range(_END)), b"<end>"]
    return Tokenizer(pieces, special={_END}, ends=[_END], tokenize=list)
