"""Conversations as clients send them, the odd ones above all, for property tests."""

from hypothesis import strategies as st

from hubserve_engine.types import Message, ToolCall

ARGUMENTS = ('{"city": "Paris"}', "", "null", "{broken", "[1]", '"{\\"city\\": \\"Rome\\"}"', "7")

# No white space at the ends, which templates are free to cut off.
_words = st.text(alphabet="abcXYZ09 é<|>{}%'\"\\", max_size=12).map(str.strip)
_texts = st.none() | st.just("") | _words
_ids = st.sampled_from(["", "a", "b", "call_0123456789abcdef"])
_calls = st.builds(ToolCall, _ids, st.just("get_weather"), st.sampled_from(ARGUMENTS))
_messages = st.one_of(
    st.builds(Message, st.sampled_from(["system", "user"]), _texts),
    st.builds(Message, st.just("assistant"), _texts, st.none() | _words),
    st.builds(
        Message,
        st.just("assistant"),
        _texts,
        st.none() | _words,
        st.lists(_calls, max_size=3).map(tuple),
    ),
    st.builds(
        Message, st.just("tool"), _texts, tool_call_id=st.none() | _ids, name=st.none() | _words
    ),
)


def histories() -> st.SearchStrategy[tuple[Message, ...]]:
    """Up to six messages in any order, with calls that are broken and results that are stray."""
    return st.lists(_messages, max_size=6).map(tuple)
