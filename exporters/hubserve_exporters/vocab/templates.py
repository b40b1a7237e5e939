"""Chat templates, as they go into the file: unchanged, but looked at first.

A template is a program that strangers wrote, and that others will run. What a harmless one has no
use for is named. `check_templates` runs it, in a process of its own that has little memory.
"""

import re
from collections.abc import Iterator, Mapping

from jinja2 import Environment, TemplateSyntaxError, nodes
from jinja2.ext import Extension
from jinja2.parser import Parser

from hubserve_exporters.errors import ExportError
from hubserve_exporters.gguf.metadata import Metadata
from hubserve_exporters.gguf.writer import Value
from hubserve_exporters.isolated.call import call

from .files import DEFAULT_TEMPLATE

MAX_TEMPLATE_BYTES = 2**20
"""The longest of those in use has some 20 KB."""
_KEY = "tokenizer.chat_template"
_LIMIT = 60.0
"""Seconds for what takes a tenth of one, also on a machine that has much else to do."""
_FOREIGN = re.compile(r"[^A-Za-z0-9_]")


class _Generation(Extension):
    """`{% generation %}` marks what a model is trained on, in transformers."""

    tags = {"generation"}  # noqa: RUF012 - as Jinja declares it

    def parse(self, parser: Parser) -> list[nodes.Node]:
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


EXTENSIONS: list[str | type[Extension]] = ["jinja2.ext.loopcontrols", _Generation]
"""What templates use beside Jinja itself."""


def check_templates(metadata: Metadata) -> str | None:
    """Renders the templates of a written file, in a process of its own; what was checked, to show,
    if there are any.

    Raises ExportError for one that reaches for what it may not have, or makes too much of a short
    chat.
    """
    prefix = f"{_KEY}."
    templates = {
        key.removeprefix(prefix) if key != _KEY else DEFAULT_TEMPLATE: metadata.string(key)
        for key in metadata
        if key == _KEY or key.startswith(prefix)
    }
    if not templates:
        return None
    arguments = {"templates": templates}
    answer = call("rendering", arguments, doing="rendering the chat template", limit=_LIMIT)
    unwritten = ", ".join(map(repr, answer["unwritten"]))
    return f"the chat template ({unwritten} wrote no chat)" if unwritten else "the chat template"


def template_keys(
    templates: Mapping[str, str], warnings: list[str], *, strict: bool = False
) -> dict[str, Value]:
    """The keys. What is suspicious becomes a warning, or with `strict` an error.

    Raises ExportError for a template of absurd size, or two whose names come out the same.
    """
    keys: dict[str, Value] = {}
    names: list[str] = []
    for name, text in templates.items():
        size = len(text.encode("utf-8", "surrogatepass"))
        if size > MAX_TEMPLATE_BYTES:
            raise ExportError(
                f"The chat template {name!r} has {size} bytes; {MAX_TEMPLATE_BYTES} are the most"
                " that is taken."
            )
        for finding in inspect_template(text):
            problem = f"The chat template {name!r} {finding}"
            if strict:
                raise ExportError(
                    f"{problem} Read it, and export without strictness if it is right."
                )
            warnings.append(problem)
        key = _KEY
        if name != DEFAULT_TEMPLATE:
            names.append(_FOREIGN.sub("_", name))
            key = f"{_KEY}.{names[-1]}"
        if key in keys:
            raise ExportError(f"Two chat templates have the name {names[-1]!r}; rename one.")
        keys[key] = text
    if names:
        keys[f"{_KEY}s"] = names
    return keys


def inspect_template(text: str) -> Iterator[str]:
    """What is suspicious in a template, as the rest of a sentence that begins with its name."""
    environment = Environment(extensions=EXTENSIONS)
    try:
        tree = environment.parse(text)
    except (TemplateSyntaxError, RecursionError, ValueError) as error:
        # A number of thousands of digits is a ValueError.
        yield f"is not valid Jinja: {error}."
        return
    for node in _all_nodes(tree):
        match node:
            case nodes.Getattr(attr=name) | nodes.Getitem(arg=nodes.Const(value=str(name))):
                if name.startswith("__"):
                    yield f"reaches for {name!r} in line {node.lineno}, as attacks do."
            case nodes.Name(name=name) if name.startswith("__"):
                yield f"reaches for {name!r} in line {node.lineno}, as attacks do."
            case nodes.Filter(name="attr"):
                yield f"uses the filter 'attr' in line {node.lineno}, by which attacks hide names."
            case nodes.Include() | nodes.Import() | nodes.FromImport() | nodes.Extends():
                kind = type(node).__name__.lower()
                yield f"wants another file ({kind} in line {node.lineno}), which it will not get."


def _all_nodes(tree: nodes.Node) -> Iterator[nodes.Node]:
    """The tree's nodes, in order, however deep it is: a long sum is."""
    left = [tree]
    while left:
        node = left.pop()
        yield node
        left += reversed(list(node.iter_child_nodes()))
