"""The requests that a server is tried with, and what is right; `tools.yaml` says them."""

from importlib.resources import files
from typing import Any, Literal

import msgspec

Kind = Literal["call", "text"]
MAX_TOKENS = 512
"""More than any of the answers takes."""
CHANCE = {"temperature": 1}
"""So that a call is forced on a model that says anything, and does not repeat itself for ever."""


class Tool(msgspec.Struct, frozen=True):
    description: str
    parameters: dict[str, Any]


class Case(msgspec.Struct, frozen=True):
    """`offer` names the tools; `send` are more fields of the request; `expect` are the calls that
    are right, each a name and its arguments. With `forced` any one call of these tools is right
    whose arguments fit."""

    title: str
    ask: str
    offer: tuple[str, ...]
    streamed: bool = False
    send: dict[str, Any] = {}
    expect: tuple[dict[str, dict[str, Any]], ...] = ()
    forced: tuple[str, ...] = ()


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


def forced(cases: CaseSet, seed: int) -> CaseSet:
    """Every request that offers tools, asked for a call twice: of any, and of the last one; what
    is by chance begins with the seed."""
    calls: list[Case] = []
    for case in (case for case in (*cases.calls, *cases.texts) if case.offer):
        last = case.offer[-1]
        named = {"type": "function", "function": {"name": last}}
        wanted: tuple[tuple[str, tuple[str, ...], object], ...]
        wanted = (("any tool", case.offer, "required"), (f"{last} named", (last,), named))
        for how, names, choice in wanted:
            send = {"tool_choice": choice, "parallel_tool_calls": False, **CHANCE, "seed": seed}
            title = f"{case.title}: {how}"
            calls.append(Case(title, case.ask, case.offer, case.streamed, send, forced=names))
    return CaseSet(cases.tools, tuple(calls), ())


def load() -> CaseSet:
    """The set that the package carries."""
    text = files("hubserve_server.eval").joinpath("tools.yaml").read_bytes()
    return msgspec.yaml.decode(text, type=CaseSet)


def _fields(tool: Tool) -> dict[str, Any]:
    return {"description": tool.description, "parameters": tool.parameters}
