"""Chat templates, as they go into the file: unchanged, but looked at first.

A template is a program that strangers wrote, and that others will run. What a harmless one has no
use for is named; nothing is run here.
"""

import re
from collections.abc import Iterator, Mapping

from jinja2 import Environment, TemplateSyntaxError, nodes
from jinja2.ext import Extension
from jinja2.parser import Parser

from hubserve_exporters.errors import ExportError
from hubserve_exporters.gguf.writer import Value

from .files import DEFAULT_TEMPLATE

MAX_TEMPLATE_BYTES = 2**20
"""The longest of those in use has some 20 KB."""
_KEY = "tokenizer.chat_template"
_FOREIGN = re.compile(r"[^A-Za-z0-9_]")


class _Generation(Extension):
    """`{% generation %}` marks what a model is trained on, in transformers."""

    tags = {"generation"}  # noqa: RUF012 - as Jinja declares it

    def parse(self, parser: Parser) -> list[nodes.Node]:
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


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
    environment = Environment(extensions=["jinja2.ext.loopcontrols", _Generation])
    try:
        tree = environment.parse(text)
    except (TemplateSyntaxError, RecursionError) as error:
        yield f"is not valid Jinja: {error}."
        return
    for node in tree.find_all(nodes.Node):
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
