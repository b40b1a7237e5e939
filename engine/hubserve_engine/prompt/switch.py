"""How a template turns thinking on and off, found by trying it.

A switch is known by what it does: the argument is one that the template takes, and "on" renders
another prompt than "off". No model's name is looked at.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from hubserve_engine.prompt.program import Refused

Probe = Callable[[Mapping[str, Any], str | None], str]
"""Renders a short chat with these arguments and this system message; may raise `Refused`."""

EFFORTS = ("minimal", "low", "medium", "high", "xhigh", "max")
EFFORT_ARGUMENTS = ("reasoning_effort", "thinking_effort", "reasoning_strength")
_ANY_TEMPLATE_KNOWS = ("low", "medium", "high")


@dataclass(frozen=True, slots=True)
class Switch:
    """`on` and `off` are arguments; the `_text`s stand at the end of the system message."""

    name: str
    on: Mapping[str, Any] = field(default_factory=dict)
    off: Mapping[str, Any] = field(default_factory=dict)
    on_text: str | None = None
    off_text: str | None = None


def _by(argument: str, on: Any, off: Any) -> Switch:
    return Switch(argument, {argument: on}, {argument: off})


# In the order of preference. An effort is a switch only where nothing else is. The last entries are
# for templates that print any effort: they have no real "off", so the least is asked for instead.
_SWITCHES = (
    _by("enable_thinking", True, False),
    _by("thinking", True, False),
    _by("thinking_mode", "enabled", "disabled"),
    _by("thinking_option", "on", "off"),
    _by("thinking_budget", -1, 0),
    Switch("/think", on_text="/think", off_text="/no_think"),
    *(
        _by("reasoning_effort", on, off)
        for off in ("none", "no_think")
        for on in ("medium", "high")
    ),
    _by("reasoning_effort", "high", "minimal"),
    *(Switch(argument, off={argument: "low"}) for argument in EFFORT_ARGUMENTS),
)


def find_switch(
    variables: frozenset[str], constants: frozenset[str], probe: Probe
) -> Switch | None:
    """The switch of the template which takes `variables` and mentions `constants`."""
    for switch in _SWITCHES:
        argument = next(iter(switch.off), None)
        if argument is None:
            known = any(switch.off_text in text for text in constants if switch.off_text)
        else:
            off = switch.off[argument]
            known = argument in variables and (
                not isinstance(off, str) or off in constants or off in _ANY_TEMPLATE_KNOWS
            )
        if known and _differs(switch, probe):
            return switch
    return None


def _differs(switch: Switch, probe: Probe) -> bool:
    try:
        return probe(switch.on, switch.on_text) != probe(switch.off, switch.off_text)
    except Refused:
        return False


def effort_arguments(
    effort: str, variables: frozenset[str], constants: frozenset[str], probe: Probe
) -> Mapping[str, Any]:
    """`effort` as an argument of the template; empty where it takes none.

    An effort which the template does not speak of becomes the nearest that it takes.
    """
    argument = next((name for name in EFFORT_ARGUMENTS if name in variables), None)
    if argument is None or effort not in EFFORTS:
        return {}
    wanted = EFFORTS.index(effort)
    near = sorted(EFFORTS, key=lambda other: abs(EFFORTS.index(other) - wanted))
    for candidate in near:
        if candidate in constants or candidate in _ANY_TEMPLATE_KNOWS:
            arguments = {argument: candidate}
            try:
                probe(arguments, None)
            except Refused:
                continue
            return arguments
    return {}
