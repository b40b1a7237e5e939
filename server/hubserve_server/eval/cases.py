"""The requests that a server is tried with, and what is right; `tools.yaml` says them."""

from importlib.resources import files
from typing import Any, Literal

import msgspec

Kind = Literal["call", "text"]
MAX_TOKENS = 512
"""More than any of the answers takes."""


class Tool(msgspec.Struct, frozen=True):
    description: str
    parameters: dict[str, Any]


class Case(msgspec.Struct, frozen=True):
    """`offer` names the tools; `send` are more fields of the request; `expect` are the calls that
    are right, each a name and its arguments."""

    title: str
    ask: str
    offer: tuple[str, ...]
    streamed: bool = False
    send: dict[str, Any] = {}
    expect: tuple[dict[str, dict[str, Any]], ...] = ()


class CaseSet(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`calls` are answered as they `expect`, and `texts` with text, though tools are offered."""

    tools: dict[str, Tool]
    calls: tuple[Case, ...]
    texts: tuple[Case, ...]

    def request(self, case: Case) -> dict[str, Any]:
        """The body of a chat request, but for the model and whether it is streamed."""
        tools = [
            {"type": "function", "function": {"name": name, **_fields(self.tools[name])}}
            for name in case.offer
        ]
        return {
            "messages": [{"role": "user", "content": case.ask}],
            **({"tools": tools} if tools else {}),
            "temperature": 0,
            "max_tokens": MAX_TOKENS,
            **case.send,
        }


def load() -> CaseSet:
    """The set that the package carries."""
    text = files("hubserve_server.eval").joinpath("tools.yaml").read_bytes()
    return msgspec.yaml.decode(text, type=CaseSet)


def _fields(tool: Tool) -> dict[str, Any]:
    return {"description": tool.description, "parameters": tool.parameters}
