"""Grammars -> matchers for one model. For one thread.

The tokenizer is made when the first constraint comes, and kept; so are the last grammars, as
clients send the same ones again and again.
"""

from collections import OrderedDict
from collections.abc import Collection

from hubserve_engine.backends.base import Backend
from hubserve_engine.constraints.library import Matcher
from hubserve_engine.constraints.limits import LEXER_STATES
from hubserve_engine.constraints.probe import one_line
from hubserve_engine.constraints.vocabulary import Vocabulary, vocabulary
from hubserve_engine.errors import InvalidRequest

_KEPT = 16
_TOO_LARGE = ("symbols.len()", "grammar) too big", "max is", "too many expressions")
"""In llguidance's words for grammars that are larger than its own limits."""
_TOO_MUCH = ("fuel exhausted", "too many expressions", "too many states", "Too many items")
"""The same for what is forced, or repeated, for longer than they go."""


class Compiler:
    """`shown` are the control tokens that have a text, see `vocabulary`."""

    def __init__(self, backend: Backend, shown: Collection[int]) -> None:
        self._backend = backend
        self._shown = shown
        self._vocabulary: Vocabulary | None = None
        self._matchers: OrderedDict[str, Matcher] = OrderedDict()

    @property
    def vocabulary(self) -> Vocabulary:
        if self._vocabulary is None:
            self._vocabulary = vocabulary(self._backend, self._shown)
        return self._vocabulary

    def matcher(self, source: str, *, param: str) -> Matcher:
        """One at the start of a grammar. Raises InvalidRequest with llguidance's words."""
        return self._matcher(source, param).copy()

    def knows(self, source: str) -> bool:
        """Whether it has been compiled, and is kept."""
        return source in self._matchers

    def _matcher(self, source: str, param: str) -> Matcher:
        known = self._matchers.get(source)
        if known is not None:
            self._matchers.move_to_end(source)
            return known
        tokenizer = self.vocabulary.tokenizer
        matcher = Matcher(tokenizer, source, lexer_states=LEXER_STATES)
        # A grammar of which nothing can come, such as one that is only itself, shows here.
        matcher.mask()
        if (error := matcher.error) is not None:
            raise refusal(error, param=param)
        self._matchers[source] = matcher
        while len(self._matchers) > _KEPT:
            self._matchers.popitem(last=False)
        return matcher


def refusal(error: str, *, param: str) -> InvalidRequest:
    """What a client is told, of llguidance's words."""
    reason = one_line(error)
    if "NoExtensionBias" in reason:
        reason = "nothing can come of it, as where a '$ref' or a rule leads to itself alone"
    if param == "tools" and any(words in reason for words in _TOO_LARGE):
        return too_many_tools()
    reason = reason.partition("<backtrace>")[0].removesuffix("<non-verbose/>").strip()
    if any(words in reason for words in _TOO_MUCH):
        reason += "; something in it may be repeated far too often, as in 'a{1000000}'"
    return InvalidRequest(f"{param!r} makes no grammar: {reason}", param=param)


def too_many_tools() -> InvalidRequest:
    return InvalidRequest(
        "The tools are too many to be held to: together they make a grammar of more than 65,000"
        " rules or 2,000 names. Offer fewer of them, name in 'tool_choice' those that may be called"
        " now, or let it be 'auto' without 'strict'.",
        param="tools",
    )
