"""Changes to a history that some templates need. Each keeps every word of it."""

from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain

from hubserve_engine.types import Message, ToolCall

History = tuple[Message, ...]


def with_call_ids(messages: History, *, short: bool = False) -> History:
    """Every call has an id, every result the id and the name of its call.

    A result whose id is none of a call's belongs to the first call before it that has none yet.
    `short` makes all ids nine letters and digits, as some templates demand.
    """
    done: list[Message] = []
    pending = _Pending()
    count = 0
    for message in messages:
        if message.tool_calls:
            pending = _Pending()
            calls = []
            for call in message.tool_calls:
                count += 1
                given = call.id
                if short or not given:
                    call = replace(call, id=f"call{count:05d}")
                calls.append(call)
                pending.add(given, call)
            message = replace(message, tool_calls=tuple(calls))
        elif message.role == "tool" and (asked := pending.take(message.tool_call_id)):
            message = replace(message, tool_call_id=asked.id, name=message.name or asked.name)
        if message.role == "tool" and not message.tool_call_id:
            count += 1
            message = replace(message, tool_call_id=f"call{count:05d}")
        done.append(message)
    return tuple(done)


class _Pending:
    """Calls that have no result yet. There may be thousands, so none is looked for in a list."""

    def __init__(self) -> None:
        self._calls: dict[int, ToolCall] = {}
        self._places: dict[str, deque[int]] = {}
        self._first = 0

    def add(self, id: str, call: ToolCall) -> None:
        place = len(self._calls)
        self._calls[place] = call
        self._places.setdefault(id, deque()).append(place)

    def take(self, id: str | None) -> ToolCall | None:
        """The first call of that id, or else the first of all; None where none is left."""
        if not self._calls:
            return None
        places = self._places.get(id, deque()) if id else deque[int]()
        while places and places[0] not in self._calls:
            places.popleft()
        if places:
            return self._calls.pop(places.popleft())
        while self._first not in self._calls:
            self._first += 1
        return self._calls.pop(self._first)


def system_first(messages: History) -> History:
    """All system messages as one, at the front, a blank line between them."""
    texts = [message.content or "" for message in messages if message.role == "system"]
    rest = tuple(message for message in messages if message.role != "system")
    if not texts:
        return rest
    return (Message("system", joined(texts)), *rest)


def system_to_user(messages: History) -> History:
    """System messages at the front of the first user message, for models that have none."""
    system, *rest = system_first(messages) or (None,)
    if system is None or system.role != "system":
        return messages
    for at, message in enumerate(rest):
        if message.role == "user":
            rest[at] = replace(message, content=joined([system.content, message.content]))
            return tuple(rest)
    return (Message("user", system.content), *rest)


def text_apart(messages: History) -> History:
    """A message with both text and calls as two, where a template would drop one of them."""
    done: list[Message] = []
    for message in messages:
        if message.tool_calls and message.content:
            done.append(replace(message, tool_calls=()))
            message = replace(message, content=None, reasoning=None)
        done.append(message)
    return tuple(done)


def calls_apart(messages: History) -> History:
    """Each call in a message of its own, with its result behind it."""
    done: list[Message] = []
    at = 0
    while at < len(messages):
        message = messages[at]
        at += 1
        if len(message.tool_calls) < 2:
            done.append(message)
            continue
        begin = at
        while at < len(messages) and messages[at].role == "tool":
            at += 1
        results = messages[begin:at]
        left: dict[str | None, list[Message]] = {}
        for result in results:
            left.setdefault(result.tool_call_id, []).append(result)
        for number, call in enumerate(message.tool_calls):
            first = replace(message, tool_calls=(call,))
            done.append(first if number == 0 else replace(first, content=None, reasoning=None))
            done.extend(left.pop(call.id, ()))
        done.extend(result for result in results if result.tool_call_id in left)
    return tuple(done)


def results_as_text(messages: History) -> History:
    """Results as messages of the user, for templates that know no role `tool`."""
    return tuple(_result_as_text(m) if m.role == "tool" else m for m in messages)


def stray_results_as_text(messages: History) -> History:
    """Results that follow no call as messages of the user."""
    done: list[Message] = []
    open_calls = 0
    for message in messages:
        if message.role != "tool":
            open_calls = len(message.tool_calls)
        elif open_calls:
            open_calls -= 1
        else:
            message = _result_as_text(message)
        done.append(message)
    return tuple(done)


def _result_as_text(message: Message) -> Message:
    title = f"Result of {message.name}:" if message.name else "Result:"
    return Message("user", f"{title}\n{message.content or ''}")


def user_first(messages: History) -> History:
    """The turns begin with the user; an empty message is put in where they do not."""
    at = next((i for i, message in enumerate(messages) if message.role != "system"), len(messages))
    if at < len(messages) and messages[at].role == "user":
        return messages
    return (*messages[:at], Message("user", ""), *messages[at:])


def without_empty(messages: History) -> History:
    """Messages of the assistant that say nothing left out."""
    return tuple(m for m in messages if m.role != "assistant" or m.content or m.tool_calls)


def alternating(messages: History) -> History:
    """Neighbours of the same role (user or assistant) as one message, a blank line between.

    Text and calls are left apart: templates that want roles to alternate let calls be an exception,
    and some would drop the text.
    """
    groups: list[list[Message]] = []
    for message in messages:
        last = groups[-1][-1] if groups else None
        if (
            last is None
            or last.role != message.role
            or message.role in ("system", "tool")
            or bool(last.tool_calls) != bool(message.tool_calls)
        ):
            groups.append([])
        groups[-1].append(message)
    return tuple(_as_one(group) for group in groups)


def _as_one(messages: Sequence[Message]) -> Message:
    if len(messages) == 1:
        return messages[0]
    return replace(
        messages[0],
        content=joined([message.content for message in messages]),
        reasoning=joined([message.reasoning for message in messages]) or None,
        tool_calls=tuple(chain.from_iterable(message.tool_calls for message in messages)),
    )


def without_reasoning(messages: History) -> History:
    """Earlier thinking left out: the one thing that may go, where a template refuses it."""
    return tuple(replace(message, reasoning=None) for message in messages)


def joined(texts: Sequence[str | None]) -> str:
    return "\n\n".join(text for text in texts if text)
