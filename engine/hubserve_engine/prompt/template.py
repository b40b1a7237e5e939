"""A model's chat template: compiled and tried once, rendered for each chat."""

import json
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any, TypeVar

from hubserve_engine.errors import Cancelled, PromptError
from hubserve_engine.profiles import Profile, choose
from hubserve_engine.prompt import history, limits, prefill
from hubserve_engine.prompt.history import History
from hubserve_engine.prompt.limits import Abandoned, OverLimit, TooHeavy, TooSlow
from hubserve_engine.prompt.messages import Plain, Traits, complete_tools, normalize, plain
from hubserve_engine.prompt.program import COMPILE_SECONDS, Program, Refused
from hubserve_engine.prompt.switch import Switch, effort_arguments, find_switch
from hubserve_engine.prompt.tool_text import calls_as_text, tools_told
from hubserve_engine.prompt.traits import find_traits, shown_call
from hubserve_engine.surrogates import mended
from hubserve_engine.tool_formats import ToolFormat, recognise
from hubserve_engine.types import Chat, Message, ReasoningSwitch, Rendered

T = TypeVar("T")
Repair = Callable[[History], History]

# Honest templates need a few milliseconds; some look at all messages for each one, and so take
# seconds where an agent has made thousands. Others wait meanwhile.
_SECONDS = 2.0
_SECONDS_A_MESSAGE = 0.002
_MOST_SECONDS = 8.0
_MOST_MESSAGES = 10_000
_OURS = frozenset(("messages", "tools", "add_generation_prompt", "bos_token", "eos_token"))
# What is tried, one after the other and added up, when a template refuses a history.
_REPAIRS: tuple[Repair, ...] = (
    history.stray_results_as_text,
    history.without_empty,
    history.user_first,
    history.alternating,
    history.without_reasoning,
)


def _all_as_text(format: ToolFormat, messages: History) -> History:
    return history.alternating(history.results_as_text(calls_as_text(messages, format)))


class ChatTemplate:
    """Renders chats by a template of Jinja, as transformers does, within limits of time and size.

    `thinking_switch` is what turns thinking on and off, by the name of its argument (or `/think`,
    where a word in the system message does it); None where the template has none. `may_exit` is for
    a process that is started again when it ends: see `limits.run_limited`.

    Raises `PromptError` where the source is no valid template.
    """

    def __init__(
        self,
        source: str,
        *,
        bos: str,
        eos: str,
        profile: Profile | None = None,
        may_exit: bool = False,
    ) -> None:
        self.source = source
        self.profile = choose(source, ()) if profile is None else profile
        self._tokens = {"bos_token": bos, "eos_token": eos}
        self._may_exit = may_exit
        self._program = Program(source, may_exit=may_exit)
        self._traits = Traits()
        self._switch: Switch | None = None
        with suppress(OverLimit):  # then each chat is going to say so
            self._limited(self._try_out, COMPILE_SECONDS)

    @property
    def tool_format(self) -> ToolFormat:
        """How this model writes calls, as its template shows."""
        return self._traits.tool_format

    @property
    def thinking_switch(self) -> str | None:
        return self._switch.name if self._switch else None

    def render(
        self,
        chat: Chat,
        *,
        reasoning: ReasoningSwitch,
        wanted: Callable[[], bool] = limits.wanted,
    ) -> Rendered:
        """The prompt of `chat`; `reasoning` is the default that the chat's own wish overrides.

        A last message of the assistant is gone on from, unless the chat wants no generation prompt.
        Raises `PromptError` with the template's own words, for all that it does not take, and
        `Cancelled` once the prompt is not `wanted`.
        """
        if not chat.messages:
            raise PromptError("'messages' is empty; send at least one message.", param="messages")
        count = sum(1 + len(message.tool_calls) for message in chat.messages)
        if count > _MOST_MESSAGES:
            raise PromptError(
                f"The conversation has {count} messages and tool calls; at most {_MOST_MESSAGES}"
                " are read. Leave out the oldest, or sum them up.",
                param="messages",
            )
        if taken := sorted(_OURS & chat.template_arguments.keys()):
            raise PromptError(
                f"The template argument {taken[0]!r} is set by the server; leave it out.",
                param="chat_template_kwargs",
            )
        chat = replace(chat, reasoning=chat.reasoning or reasoning)
        seconds = min(_SECONDS + _SECONDS_A_MESSAGE * count, _MOST_SECONDS)
        try:
            rendered = self._limited(partial(self._rendered, chat), seconds, wanted)
        except Abandoned:
            raise Cancelled("The client went away.") from None
        except TooSlow:
            raise PromptError(
                f"The model's chat template ran for over {seconds:.1f} s on these messages and was"
                " stopped; another template can be given with --chat-template-file.",
                param="messages",
            ) from None
        except TooHeavy:
            raise PromptError(
                "The model's chat template took too much memory on these messages and was stopped;"
                " another template can be given with --chat-template-file.",
                param="messages",
            ) from None
        except Refused as error:
            raise PromptError(
                f"The model's chat template refuses these messages: {error}", param="messages"
            ) from error
        # Arguments of calls are JSON in JSON, so whatever a client wrote is read only here.
        return replace(rendered, text=mended(rendered.text))

    def _rendered(self, chat: Chat) -> Rendered:
        begun = prefill.begun(chat, self.profile)
        if begun is None:
            return prefill.rendered(self._prompt(chat), self.profile)
        chat = replace(chat, messages=chat.messages[:-1], add_generation_prompt=True)
        return prefill.append(begun, chat, self.profile, self._prompt)

    def _prompt(self, chat: Chat) -> str:
        """Renders the chat; tools that the template does not take are told in words."""
        if not chat.tools:
            return self._repaired(chat)
        words = tools_told(chat.messages, chat.tools, self.tool_format)
        told = replace(chat, messages=words, tools=())
        if not self._traits.tools:
            return self._repaired(told)
        try:
            return self._repaired(chat)
        except Refused as refusal:
            try:
                return self._repaired(told)
            except Refused:
                raise refusal from None

    def _repaired(self, chat: Chat) -> str:
        """Renders the chat as it is, and repairs it only as far as the template demands."""
        messages = normalize(chat.messages, self._traits)
        tools = list(chat.tools)
        render = partial(self._run, chat)
        try:
            return render(messages, tools)
        except Refused as error:
            refusal = error
        if tools and (completed := complete_tools(tools)) != tools:
            tools = completed
            try:
                return render(messages, tools)
            except Refused:
                pass
        repairs: Iterable[Repair] = (*_REPAIRS, partial(_all_as_text, self.tool_format))
        for repair in repairs:
            repaired = repair(messages)
            if repaired == messages:
                continue
            messages = repaired
            try:
                return render(messages, tools)
            except Refused:
                pass
        raise refusal

    def _run(self, chat: Chat, messages: History, tools: list[Plain]) -> str:
        words: str | None = None
        arguments: dict[str, Any] = {}
        if chat.reasoning in ("on", "off"):
            on = chat.reasoning == "on"
            arguments["enable_thinking"] = on
            if self._switch:
                arguments.update(self._switch.on if on else self._switch.off)
                words = self._switch.on_text if on else self._switch.off_text
        if chat.reasoning_effort and chat.reasoning != "off":
            arguments.update(
                effort_arguments(
                    chat.reasoning_effort,
                    self._program.variables,
                    self._program.constants,
                    self._probe,
                )
            )
        arguments.update(chat.template_arguments)
        return self._call(messages, tools, arguments, words, chat.add_generation_prompt)

    def _call(
        self,
        messages: History,
        tools: list[Plain],
        arguments: Mapping[str, Any],
        words: str | None,
        add_generation_prompt: bool,
    ) -> str:
        if words:
            messages = history.system_first((*messages, Message("system", words)))
        return self._program.run(
            {
                **self._old_arguments(tools),
                "documents": None,
                **arguments,
                **self._tokens,
                "messages": plain(messages, self._traits),
                "tools": tools or (None if self._traits.tools_null else []),
                "add_generation_prompt": add_generation_prompt,
            }
        )

    def _old_arguments(self, tools: list[Plain]) -> dict[str, Any]:
        """What some older templates want to be given, and cannot do without."""
        if "functions" not in self._program.variables or "tools" in self._program.variables:
            return {}
        functions = json.dumps(tools, indent=4, ensure_ascii=False)
        return {"functions": functions, "datetime": datetime.now().strftime("%b %d %Y")}

    def _try_out(self) -> None:
        program = self._program
        base = {"documents": None, **self._tokens}

        def render(messages: list[Plain], tools: list[Plain] | None) -> str:
            given = {"messages": messages, "tools": tools, "add_generation_prompt": True}
            return program.run({**self._old_arguments(tools or []), **base, **given})

        traits = find_traits(program.attributes, render)
        format = recognise(shown_call(traits, render), self.source)
        self._traits = replace(traits, tool_format=format)
        self._switch = find_switch(program.variables, program.constants, self._probe)

    def _probe(self, arguments: Mapping[str, Any], words: str | None) -> str:
        return self._call((Message("user", "x"),), [], arguments, words, True)

    def _limited(
        self, work: Callable[[], T], seconds: float, wanted: Callable[[], bool] = limits.wanted
    ) -> T:
        return limits.run_limited(work, seconds, may_exit=self._may_exit, wanted=wanted)
