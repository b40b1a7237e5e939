"""The Jinja environment for chat templates: as transformers renders them, but bounded in size.

The reference for what a template finds is `transformers.utils.chat_template_utils` (5.x). On top
of Jinja's sandbox, everything by which a template can make much text out of little is counted
against a budget; what runs long is for `limits` to stop.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from functools import update_wrapper
from typing import Any, NoReturn

from jinja2 import nodes
from jinja2.compiler import CodeGenerator, Frame
from jinja2.exceptions import TemplateError
from jinja2.ext import Extension
from jinja2.parser import Parser
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment

from hubserve_engine.prompt.budget import filter_size, items_of, method_size, spend, weigh

# Arguments which Jinja adds to every call within a loop or block, and takes off again.
_JINJAS = frozenset(("_loop_vars", "_block_vars"))


class _Generation(Extension):
    """`{% generation %}` marks what a model is trained on; for a prompt it means nothing."""

    tags = {"generation"}  # noqa: RUF012 - as Jinja declares it

    def parse(self, parser: Parser) -> list[nodes.Node]:
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


class _CodeGenerator(CodeGenerator):
    def visit_Concat(self, node: nodes.Concat, frame: Frame) -> None:
        """`a ~ b`, which Jinja's sandbox does not let us intercept."""
        self.write("environment.join_texts((")
        for part in node.nodes:
            self.visit(part, frame)
            self.write(", ")
        self.write("))")


class Sandbox(ImmutableSandboxedEnvironment):
    """Compiles chat templates. Budgets are of the thread that renders (`budget.refill`)."""

    code_generator_class = _CodeGenerator
    intercepted_binops = frozenset(("+", "*", "%", "**"))

    def __init__(self) -> None:
        super().__init__(
            trim_blocks=True,
            lstrip_blocks=True,
            extensions=["jinja2.ext.loopcontrols", _Generation],
            finalize=_finalize,
        )
        # Jinja looks this up on the instance, for the output, macros and `{% set %}` blocks.
        self.concat = join_texts  # type: ignore[method-assign]
        self.join_texts = join_texts
        self.filters["tojson"] = _tojson
        self.filters = {name: _counted(name, f) for name, f in self.filters.items()}
        del self.globals["lipsum"]
        self.globals["raise_exception"] = _raise_exception
        self.globals["strftime_now"] = _strftime_now

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        """Some templates fill lists of their own; what they are given is made anew each time."""
        if isinstance(obj, list) and attr in ("append", "pop"):
            return True
        return super().is_safe_attribute(obj, attr, value)

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        spend(method_size(left, operator, (right,), {}))
        return super().call_binop(context, operator, left, right)

    def call(__self, __context: Context, __obj: Any, *args: Any, **kwargs: Any) -> Any:
        # What formats a string is a wrapper of Jinja's around the method.
        method = getattr(__obj, "__wrapped__", __obj)
        owner = getattr(method, "__self__", None)
        if isinstance(owner, str | bytes | int):
            if method.__name__ == "join" and args:
                args = (items_of(args[0]), *args[1:])
            named = {name: value for name, value in kwargs.items() if name not in _JINJAS}
            spend(method_size(owner, method.__name__, args, named))
        return super().call(__context, __obj, *args, **kwargs)


def join_texts(parts: Iterable[Any]) -> str:
    """All of `parts` as one text, for as long as that is of a bearable size."""
    texts = []
    size = 0
    for part in parts:
        more = weigh(part)
        spend(more, before=size)
        size += more
        texts.append(str(part))
    return "".join(texts)


def _counted(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` with what it makes counted. Jinja's marks stay (who wants its context)."""
    skip = 1 if hasattr(function, "jinja_pass_arg") else 0

    def counted(*args: Any, **kwargs: Any) -> Any:
        if name in ("join", "sum") and len(args) > skip:
            args = (*args[:skip], items_of(args[skip]), *args[skip + 1 :])
        if len(args) > skip:
            spend(filter_size(name, args[skip], args[skip + 1 :], kwargs))
        return function(*args, **kwargs)

    return update_wrapper(counted, function)


def _finalize(value: Any) -> Any:
    if not isinstance(value, str):
        spend(weigh(value))
    return value


def _tojson(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    """JSON without Jinja's escapes for HTML, and with the arguments of `json.dumps`.

    What a filter such as `map` makes is written as a list, as llama.cpp does.
    """
    return json.dumps(
        value,
        ensure_ascii=ensure_ascii,
        indent=indent,
        separators=separators,
        sort_keys=sort_keys,
        default=_as_list,
    )


def _as_list(value: Any) -> list[Any]:
    if isinstance(value, Iterator):
        return list(value)
    raise TypeError(f"{type(value).__name__} is nothing that JSON can hold")


def _raise_exception(message: Any) -> NoReturn:
    raise TemplateError(str(message))


def _strftime_now(format: str) -> str:
    return datetime.now().strftime(format)
