"""The constraints of one model's requests. For one thread."""

from collections.abc import Collection

from hubserve_engine.backends.base import Backend
from hubserve_engine.constraints.answer import Family, source
from hubserve_engine.constraints.compiler import Compiler, refusal
from hubserve_engine.constraints.first_steps import failing
from hubserve_engine.constraints.grammar import Grammar
from hubserve_engine.constraints.guide import GrammarGuide
from hubserve_engine.constraints.kinds import content
from hubserve_engine.constraints.probe import placed
from hubserve_engine.constraints.schema import exact
from hubserve_engine.constraints.tools import Tools
from hubserve_engine.profiles import Profile
from hubserve_engine.tool_formats import ToolFormat
from hubserve_engine.types import Constraint, Rendered, Request


class Constraints:
    """`shown` are the control tokens that have a text, see `vocabulary`."""

    def __init__(
        self, backend: Backend, profile: Profile, format: ToolFormat, shown: Collection[int]
    ) -> None:
        ends = (backend.piece(token, special=True) for token in sorted(backend.end_tokens))
        texts = tuple(text.decode("utf-8", "replace") for text in ends)
        self._family = Family(profile, format, texts)
        self._compiler = Compiler(backend, shown)
        self._tools = Tools()

    def guides(
        self, request: Request, rendered: Rendered, *, may_think: bool
    ) -> list[GrammarGuide]:
        """One for each choice of a request that has a constraint, or whose tools bind.

        Raises InvalidRequest and Unsupported, with the field that says it.
        """
        grammar = source(request, rendered, self._family, self._tools, may_think=may_think)
        constraint = request.constraint
        param = constraint.param if constraint is not None else "tools"
        if constraint is not None and not self._compiler.knows(grammar):
            _tried(constraint)
        own = constraint is not None and constraint.kind not in ("json_object", "json_schema")
        return [
            self._compiler.guide(grammar, param=param, any_digits=own) for _ in range(request.n)
        ]


def _tried(constraint: Constraint) -> None:
    """Raises InvalidRequest and Unsupported where what is wanted cannot be held to, wherever in an
    answer it comes."""
    if constraint.kind == "json_schema":
        placed(exact(constraint.value, param=constraint.param), param=constraint.param)
        return
    alone = Grammar()
    reason = failing(alone.source(content(alone, constraint)))
    if reason is not None:
        raise refusal(reason, param=constraint.param)
