"""Grammars -> guides for one model. For one thread.

The tokenizer is made when the first constraint comes, and kept; so are the last grammars, as
clients send the same ones again and again.
"""

from collections import OrderedDict
from collections.abc import Collection

from llguidance import LLMatcher, LLTokenizer

from hubserve_engine.backends.base import Backend
from hubserve_engine.constraints.guide import GrammarGuide
from hubserve_engine.constraints.limits import LIMITS
from hubserve_engine.constraints.probe import one_line
from hubserve_engine.constraints.vocabulary import tokenizer
from hubserve_engine.errors import InvalidRequest

_KEPT = 16


class Compiler:
    """`shown` are the control tokens that have a text, see `vocabulary`."""

    def __init__(self, backend: Backend, shown: Collection[int]) -> None:
        self._backend = backend
        self._shown = shown
        self._tokenizer: LLTokenizer | None = None
        self._matchers: OrderedDict[str, LLMatcher] = OrderedDict()

    def guide(self, source: str, *, param: str) -> GrammarGuide:
        """A guide at the start of a grammar. Raises InvalidRequest with llguidance's words."""
        return GrammarGuide(self._matcher(source, param).deep_copy())

    def _matcher(self, source: str, param: str) -> LLMatcher:
        known = self._matchers.get(source)
        if known is not None:
            self._matchers.move_to_end(source)
            return known
        if self._tokenizer is None:
            self._tokenizer = tokenizer(self._backend, self._shown)
        matcher = LLMatcher(self._tokenizer, source, log_level=0, limits=LIMITS)
        # A grammar of which nothing can come, such as one that is only itself, shows here.
        matcher.compute_bitmask()
        if matcher.is_error():
            reason = one_line(matcher.get_error())
            if "NoExtensionBias" in reason:
                reason = "nothing can come of it, as where a '$ref' or a rule leads to itself alone"
            raise InvalidRequest(f"{param!r} makes no grammar: {reason}", param=param)
        self._matchers[source] = matcher
        while len(self._matchers) > _KEPT:
            self._matchers.popitem(last=False)
        return matcher
