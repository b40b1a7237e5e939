from functools import partial

from hypothesis import given, settings
from tests.support.histories import histories

from hubserve_engine.prompt import history
from hubserve_engine.prompt.tool_text import calls_as_text
from hubserve_engine.tool_formats import GENERIC
from hubserve_engine.types import Message, ToolCall


def call(id: str = "a", name: str = "look") -> ToolCall:
    return ToolCall(id, name, '{"at": 1}')


USER = Message("user", "hi")


def test_results_get_the_ids_and_names_of_their_calls() -> None:
    asked = Message("assistant", tool_calls=(call("a", "one"), call("b", "two")))
    found = history.with_call_ids((asked, Message("tool", "2", tool_call_id="b"), Message("tool")))
    assert [(m.tool_call_id, m.name) for m in found[1:]] == [("b", "two"), ("a", "one")]


def test_calls_without_an_id_get_one() -> None:
    asked = Message("assistant", tool_calls=(call(""), call("")))
    found = history.with_call_ids((asked, Message("tool"), Message("tool")))
    ids = [made.id for made in found[0].tool_calls]
    assert len(set(ids)) == 2 and all(ids)
    assert [m.tool_call_id for m in found[1:]] == ids


def test_an_id_that_no_call_has_is_that_of_the_next_call() -> None:
    asked = Message("assistant", tool_calls=(call("a"),))
    found = history.with_call_ids((asked, Message("tool", "x", tool_call_id="other")))
    assert found[1].tool_call_id == "a"


def test_many_results_find_their_calls_in_any_order() -> None:
    asked = Message("assistant", tool_calls=tuple(call(f"{i}", f"f{i}") for i in range(3000)))
    results = [Message("tool", tool_call_id=f"{i}") for i in reversed(range(3000))]
    found = history.with_call_ids((asked, *results))
    assert [m.name for m in found[1:]] == [f"f{i}" for i in reversed(range(3000))]


def test_a_result_without_an_id_takes_the_first_call_that_is_left() -> None:
    asked = Message("assistant", tool_calls=(call("a", "1"), call("b", "2"), call("a", "3")))
    ids = (None, "a", "none", "b")
    found = history.with_call_ids((asked, *(Message("tool", tool_call_id=id) for id in ids)))
    assert [m.name for m in found[1:]] == ["1", "3", "2", None]


@settings(max_examples=50)
@given(histories())
def test_calls_apart_keep_every_result(messages: tuple[Message, ...]) -> None:
    told = history.with_call_ids(messages)
    before, after = (
        sorted(repr(message) for message in each if message.role == "tool")
        for each in (told, history.calls_apart(told))
    )
    assert before == after


def test_short_ids_are_nine_letters_and_digits() -> None:
    asked = Message("assistant", tool_calls=(call("call_with_a_long_name"),))
    result = Message("tool", "x", tool_call_id="call_with_a_long_name")
    found = history.with_call_ids((asked, result), short=True)
    short = found[0].tool_calls[0].id
    assert len(short) == 9 and short.isalnum()
    assert found[1].tool_call_id == short


def test_system_messages_become_one_at_the_front() -> None:
    late = (Message("system", "a"), USER, Message("system", ""), Message("system", "b"))
    assert history.system_first(late) == (Message("system", "a\n\nb"), USER)


def test_system_messages_go_to_the_first_question() -> None:
    told = (Message("system", "a"), Message("assistant", "yes"), USER)
    assert history.system_to_user(told) == (
        Message("assistant", "yes"),
        Message("user", "a\n\nhi"),
    )
    assert history.system_to_user((Message("system", "a"),)) == (Message("user", "a"),)
    assert history.system_to_user((USER,)) == (USER,)


def test_text_and_calls_are_put_apart() -> None:
    both = Message("assistant", "I look", reasoning="hm", tool_calls=(call(),))
    assert history.text_apart((both,)) == (
        Message("assistant", "I look", reasoning="hm"),
        Message("assistant", tool_calls=(call(),)),
    )


def test_calls_are_put_apart_with_their_results() -> None:
    one, two = call("a"), call("b")
    results = tuple(Message("tool", id, tool_call_id=id) for id in ("b", "a"))
    asked = Message("assistant", "text", tool_calls=(one, two))
    assert history.calls_apart((asked, *results, USER)) == (
        Message("assistant", "text", tool_calls=(one,)),
        results[1],
        Message("assistant", tool_calls=(two,)),
        results[0],
        USER,
    )


def test_results_as_text() -> None:
    result = Message("tool", "42", tool_call_id="a", name="look")
    assert history.results_as_text((result,)) == (Message("user", "Result of look:\n42"),)


def test_results_of_no_call_are_text() -> None:
    result = Message("tool", "42")
    asked = Message("assistant", tool_calls=(call(),))
    found = history.stray_results_as_text((result, asked, result, result))
    assert [message.role for message in found] == ["user", "assistant", "tool", "user"]


def test_the_user_comes_first() -> None:
    system, answer = Message("system", "a"), Message("assistant", "b")
    assert history.user_first((system, answer)) == (system, Message("user", ""), answer)
    assert history.user_first((system, USER)) == (system, USER)
    assert history.user_first(()) == (Message("user", ""),)


def test_neighbours_of_a_role_become_one_message() -> None:
    assert history.alternating((USER, Message("user", "there"))) == (
        Message("user", "hi\n\nthere"),
    )
    text, calls = Message("assistant", "a"), Message("assistant", tool_calls=(call(),))
    assert history.alternating((text, calls)) == (text, calls)
    assert history.alternating((calls, calls))[0].tool_calls == (call(), call())


CHANGES = (
    history.with_call_ids,
    history.system_first,
    history.system_to_user,
    history.text_apart,
    history.calls_apart,
    partial(calls_as_text, format=GENERIC),
    history.results_as_text,
    history.stray_results_as_text,
    history.user_first,
    history.without_empty,
    history.alternating,
)


def words(messages: history.History) -> str:
    """All text and all calls of a history."""
    texts = [message.content or "" for message in messages]
    calls = [call.name for message in messages for call in message.tool_calls]
    return "\n".join(texts + calls)


@given(histories())
def test_no_change_loses_a_word(messages: history.History) -> None:
    for change in CHANGES:
        after = words(change(messages))
        for message in messages:
            assert (message.content or "") in after
            assert all(made.name in after for made in message.tool_calls)
