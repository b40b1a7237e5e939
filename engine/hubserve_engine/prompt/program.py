"""A chat template compiled: what it mentions, and what it makes of given arguments."""

import re
from functools import partial
from typing import Any

import jinja2
from jinja2 import meta, nodes

from hubserve_engine.errors import PromptError
from hubserve_engine.prompt import budget
from hubserve_engine.prompt.limits import OverLimit, TooSlow, run_limited
from hubserve_engine.prompt.sandbox import Sandbox

_MAX_SOURCE = 2**20
_MAX_SENTENCE = 500
COMPILE_SECONDS = 5.0


class Refused(Exception):
    """The template does not render these arguments; the message is the template's own."""


class Program:
    """A compiled template.

    `variables` are the names that it takes from outside, `attributes` what it asks of objects
    (`message.content`, `message['content']`), `constants` the texts that it compares with or
    prints from expressions.
    """

    def __init__(self, source: str, *, may_exit: bool = False) -> None:
        if len(source) > _MAX_SOURCE:
            raise PromptError(
                f"The chat template has {len(source)} characters; at most {_MAX_SOURCE} are read."
            )
        self._may_exit = may_exit
        budget.refill()
        try:
            run_limited(partial(self._compile, source), COMPILE_SECONDS, may_exit=may_exit)
        except jinja2.TemplateSyntaxError as error:
            raise PromptError(
                f"The chat template is not valid Jinja: line {error.lineno}: {_sentence(error)}"
            ) from error
        except TooSlow:
            raise PromptError(
                f"The chat template took over {COMPILE_SECONDS:g} s to compile and was stopped."
            ) from None
        except OverLimit:
            raise PromptError("The chat template takes too much memory to compile.") from None
        except Exception as error:
            raise PromptError(
                f"The chat template cannot be compiled: {_sentence(error)}"
            ) from error

    def _compile(self, source: str) -> None:
        sandbox = Sandbox()
        tree = sandbox.parse(source)
        self.variables = frozenset(meta.find_undeclared_variables(tree))
        self.constants = frozenset(
            const.value for const in tree.find_all(nodes.Const) if isinstance(const.value, str)
        )
        named = frozenset(attribute.attr for attribute in tree.find_all(nodes.Getattr))
        self.attributes = named | {text for text in self.constants if text.isidentifier()}
        self._template = sandbox.from_string(source)

    def run(self, arguments: dict[str, Any]) -> str:
        """The text for `arguments`. Raises `Refused` for every fault of template or arguments."""
        budget.refill()
        try:
            return self._template.render(arguments)
        except Exception as error:
            raise Refused(_sentence(error)) from error


def _sentence(error: Exception) -> str:
    text = re.sub(r"\s+", " ", str(error)).strip() or type(error).__name__
    return text if len(text) <= _MAX_SENTENCE else text[:_MAX_SENTENCE] + "..."
