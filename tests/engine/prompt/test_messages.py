from hubserve_engine.prompt.messages import Traits, complete_tools, plain
from hubserve_engine.types import Message, ToolCall

CALL = Message("assistant", tool_calls=(ToolCall("a", "look", '{"at": 1}'),))


def test_a_message_as_the_template_reads_it() -> None:
    call = {"id": "a", "type": "function", "function": {"name": "look", "arguments": {"at": 1}}}
    assert plain((CALL,), Traits()) == [{"role": "assistant", "content": "", "tool_calls": [call]}]
    result = Message("tool", "42", tool_call_id="a", name="look")
    expected = {"role": "tool", "content": "42", "tool_call_id": "a", "name": "look"}
    assert plain((result,), Traits()) == [expected]


def test_the_shapes_that_a_template_may_want() -> None:
    (made,) = plain((CALL,), Traits(arguments="text", call_content="null"))
    assert made["content"] is None
    assert made["tool_calls"][0]["function"]["arguments"] == '{"at": 1}'
    (made,) = plain((CALL,), Traits(call_content="absent"))
    assert "content" not in made
    (made,) = plain((Message("user", "hi"),), Traits(parts=True))
    assert made["content"] == [{"type": "text", "text": "hi"}]
    thought = Message("assistant", "a", reasoning="hm")
    (made,) = plain((thought,), Traits(reasoning_keys=("reasoning", "thinking")))
    assert made == {"role": "assistant", "content": "a", "reasoning": "hm", "thinking": "hm"}


def test_content_is_never_null_where_it_is_text() -> None:
    assert [made["content"] for made in plain((Message("user"), Message("system")), Traits())] == [
        "",
        "",
    ]


def test_tools_get_what_templates_take_for_granted() -> None:
    given = [
        {"function": {"name": "look", "parameters": {"properties": {"at": {"type": "number"}}}}}
    ]
    (made,) = complete_tools(given)
    assert made == {
        "type": "function",
        "function": {
            "name": "look",
            "description": "",
            "parameters": {
                "type": "object",
                "properties": {"at": {"type": "number", "description": ""}},
                "required": [],
            },
        },
    }
    assert complete_tools([{"function": None}])[0]["function"]["name"] == ""
