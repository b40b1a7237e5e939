"""Where an answer starts: what the prompt's end says, and answers that the client has begun.

A begun answer is put behind the generation prompt, as llama-server does, and not rendered as a
message: that needs no cutting, and templates change messages (they trim, and drop thinking).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from hubserve_engine.errors import PromptError
from hubserve_engine.profiles import Profile
from hubserve_engine.types import Chat, Rendered

Prompt = Callable[[Chat], str]


@dataclass(frozen=True, slots=True)
class Begun:
    """The text that the answer begins with; with `reasoning` alone it goes on with thinking."""

    content: str
    reasoning: str | None


def opens_thinking(prompt: str, profile: Profile) -> bool:
    """Whether generation starts as thinking: nothing but white space follows the opening tag."""
    return profile.thinking_tags is not None and prompt.rstrip().endswith(profile.thinking_tags[0])


def rendered(prompt: str, profile: Profile) -> Rendered:
    """A prompt behind which an answer begins."""
    start = profile.answer_start
    sizes = range(len(start) - 1, 0, -1)
    mark = next((start[:size] for size in sizes if prompt.endswith(start[:size])), "")
    return Rendered(prompt, opens_thinking(prompt, profile), mark)


def begun(chat: Chat, profile: Profile) -> Begun | None:
    """What the last message begins, if it is one of the assistant that is to be gone on from."""
    last = chat.messages[-1]
    wanted = chat.continue_final or chat.add_generation_prompt
    if last.role != "assistant" or last.tool_calls or not wanted:
        if chat.continue_final:
            raise PromptError(
                "Only a last message of role 'assistant' without tool calls can be continued;"
                f" the last message has the role {last.role!r}.",
                param="messages",
            )
        return None
    content = last.content or ""
    if profile.thinking_tags is None:
        return Begun(content, None)
    start, end = profile.thinking_tags
    if last.reasoning is None and content.lstrip().startswith(start):
        thought, closed, answer = content.lstrip()[len(start) :].partition(end)
        thought = thought.lstrip("\n")
        if closed:
            return Begun(answer.lstrip("\n"), thought.rstrip("\n"))
        return Begun("", thought)
    return Begun(content, last.reasoning or None)


def append(begun: Begun, chat: Chat, profile: Profile, prompt: Prompt) -> Rendered:
    """The prompt of `chat`, which ends before the answer, with the beginning behind it."""
    text = prompt(chat)
    if not begun.content and begun.reasoning is None:
        return rendered(text, profile)
    tags = profile.thinking_tags
    if tags and begun.reasoning is not None and not (begun.content and profile.answer_start):
        return _after_thinking(text, begun, chat, profile, tags, prompt)
    return Rendered(_before_answer(text, chat, profile, prompt) + begun.content, False)


def _after_thinking(
    text: str,
    begun: Begun,
    chat: Chat,
    profile: Profile,
    tags: tuple[str, str],
    prompt: Prompt,
) -> Rendered:
    start, end = tags
    if not opens_thinking(text, profile):
        text = prompt(replace(chat, reasoning="on"))
    if not opens_thinking(text, profile):
        # A tag that is one control token has no newline behind it.
        text += start + ("" if start.endswith("|>") else "\n")
    gap = "\n" if text.endswith("\n") else ""
    text += begun.reasoning or ""
    if not begun.content:
        return Rendered(text, thinking_open=True)
    return Rendered(f"{text}{gap}{end}{gap * 2}{begun.content}", thinking_open=False)


def _before_answer(text: str, chat: Chat, profile: Profile, prompt: Prompt) -> str:
    """The prompt with thinking closed, in the model's own way where that changes only the end."""
    if profile.thinking_tags is None:
        return _started(text, profile)
    start, end = profile.thinking_tags
    stem = text.rstrip().removesuffix(start).rstrip()
    without = prompt(replace(chat, reasoning="off"))
    if without.startswith(stem) and not opens_thinking(without, profile):
        text = without
    elif opens_thinking(text, profile):
        gap = text[len(text.rstrip()) :]
        text = f"{text}{gap}{end}{gap * 2}"
    return _started(text, profile)


def _started(text: str, profile: Profile) -> str:
    """The prompt up to where the words of an answer begin."""
    text = text.removesuffix(profile.answer_start)
    return text + profile.answer_start[len(rendered(text, profile).mark) :]
