"""The constraints of one model's requests. For one thread."""

import logging
from collections.abc import Collection, Sequence
from dataclasses import replace

from hubserve_engine.backends.base import Backend
from hubserve_engine.choosing import Guide
from hubserve_engine.constraints.answer import Family, answer
from hubserve_engine.constraints.closing import Closer, Closing
from hubserve_engine.constraints.compiler import Compiler, refusal, too_many_tools
from hubserve_engine.constraints.first_steps import failing
from hubserve_engine.constraints.grammar import Grammar
from hubserve_engine.constraints.guide import GrammarGuide
from hubserve_engine.constraints.kinds import content
from hubserve_engine.constraints.lenient import Lenient
from hubserve_engine.constraints.probe import placed
from hubserve_engine.constraints.schema import exact
from hubserve_engine.constraints.tools import Tools
from hubserve_engine.errors import InvalidRequest
from hubserve_engine.profiles import PLAIN, Profile
from hubserve_engine.tool_formats import ToolFormat
from hubserve_engine.types import Chat, Constraint, Rendered, Request

logger = logging.getLogger(__name__)

_MANY_TOOLS = 300


class Constraints:
    """`shown` are the control tokens that have a text, see `vocabulary`."""

    def __init__(
        self, backend: Backend, profile: Profile, format: ToolFormat, shown: Collection[int]
    ) -> None:
        self._ends = sorted(backend.end_tokens)
        ends = (backend.piece(token, special=True) for token in self._ends)
        texts = tuple(text.decode("utf-8", "replace") for text in ends)
        self._family = Family(profile, format, texts)
        self._compiler = Compiler(backend, shown)
        self._tools = Tools()

    def held(
        self, request: Request, rendered: Rendered, *, may_think: bool, room: int
    ) -> Sequence[Guide | None]:
        """As `guides`. Where calls alone are held to something, and none has to come, an answer
        goes on without that if it fails."""
        if request.constraint is not None or request.tool_use.choice != "auto":
            return self.guides(request, rendered, may_think=may_think, room=room)
        what = "calls of an answer are not held to the schemas of their tools"
        try:
            guides = self.guides(request, rendered, may_think=may_think, room=room)
        except InvalidRequest as error:
            logger.warning("%s: %s", what, error.message)
            return [None] * request.n
        return [Lenient(each, what) for each in guides]

    def guides(
        self, request: Request, rendered: Rendered, *, may_think: bool, room: int
    ) -> list[GrammarGuide]:
        """One for each choice of a request that has a constraint, or whose tools bind, and of which
        `room` tokens may be written.

        Raises InvalidRequest and Unsupported, with the field that says it.
        """
        found = answer(request, rendered, self._family, self._tools, may_think=may_think)
        constraint = request.constraint
        if not self._compiler.knows(found.grammar):
            if constraint is not None:
                _tried(constraint)
            self._tried_calls(request)
        param = constraint.param if constraint is not None else "tools"
        try:
            matchers = [
                self._compiler.matcher(found.grammar, param=param) for _ in range(request.n)
            ]
        except InvalidRequest:
            chat = request.prompt
            if constraint is None or not isinstance(chat, Chat) or not chat.tools:
                raise
            # Whether that is for the tools shows without them.
            alone = replace(request, prompt=replace(chat, tools=()))
            self.guides(alone, rendered, may_think=may_think, room=room)
            raise too_many_tools() from None
        if constraint is not None and constraint.kind not in ("json_object", "json_schema"):
            return [GrammarGuide(each) for each in matchers]
        known = self._compiler.vocabulary
        if constraint is None and found.calls is None:
            # A call that need not come is no better for having been cut short.
            return [GrammarGuide(each, known.digits) for each in matchers]
        closer = Closer(known, self._ends, found.calls)
        return [GrammarGuide(each, known.digits, Closing(closer, room)) for each in matchers]

    def _tried_calls(self, request: Request) -> None:
        """Raises InvalidRequest where calls that have to come would fail at the names of their
        functions: behind thinking that shows late."""
        if request.tool_use.choice != "required" or not isinstance(request.prompt, Chat):
            return
        if len(request.prompt.tools) < _MANY_TOOLS:
            return
        alone, plain = replace(request, constraint=None), replace(self._family, profile=PLAIN)
        calls = answer(alone, Rendered("", False), plain, self._tools, may_think=False)
        if reason := failing(calls.grammar):
            raise refusal(reason, param="tools")


def _tried(constraint: Constraint) -> None:
    """Raises InvalidRequest and Unsupported where what is wanted cannot be held to, wherever in an
    answer it comes."""
    if constraint.kind == "json_schema":
        placed(exact(constraint.value, param=constraint.param), param=constraint.param)
    alone = Grammar()
    reason = failing(alone.source(content(alone, constraint)))
    if reason is not None:
        raise refusal(reason, param=constraint.param)
