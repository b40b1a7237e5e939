"""Tool calls end to end: what a scripted model writes, and what a client is told."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.support.live_server import error_of, stream
from tests.support.process import script, served

WEATHER: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
            "required": ["city"],
        },
    },
}


def call(city: str) -> str:
    arguments = json.dumps({"city": city}, ensure_ascii=False)
    return f'<tool_call>\n{{"name": "get_weather", "arguments": {arguments}}}\n</tool_call>'


def fenced(name: str, arguments: str) -> str:
    return f'```json\n{{"name": "{name}", "arguments": {arguments}}}\n```'


BROKEN = '<tool_call>\n{"nome": get_weather}}}\n</tool_call> \\u12'
RULES: list[dict[str, Any]] = [
    {"when": "one call", "say": call("São Paulo 👋")},
    {"when": "two calls", "say": f"Let me look.\n{call('Paris')}\n{call('Rome')}"},
    {"when": "own way", "say": fenced("get_weather", "{'city': 'Paris', 'days': '3',}")},
    {"when": "other tool", "say": fenced("delete_all", '{"city": "Paris"}')},
    {"when": "other arguments", "say": fenced("get_weather", '{"town": "Paris"}')},
    {"when": "no sense", "say": BROKEN},
    {"when": "long call", "say": call("x" * 400)},
    {"when": "slow call", "say": call("x" * 100), "seconds": 0.005},
    {"when": "in words", "say": "It is warm. {json} [1] <b>bold</b> ```"},
]


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    model = script(tmp_path_factory.mktemp("script"), *RULES)
    with served(model, "-c", "8192", "-np", "2") as server, server.client() as client:
        yield client


def body(words: str, **fields: Any) -> dict[str, Any]:
    asked: dict[str, Any] = {"messages": [{"role": "user", "content": words}], "tools": [WEATHER]}
    return asked | fields


def choice(client: httpx.Client, words: str, **fields: Any) -> dict[str, Any]:
    response = client.post("/v1/chat/completions", json=body(words, **fields))
    assert response.status_code == 200, response.text
    found: dict[str, Any] = response.json()["choices"][0]
    return found


def streamed(client: httpx.Client, words: str, **fields: Any) -> dict[str, Any]:
    """The choice that a client makes of a stream, with calls put together by their index."""
    content: str | None = None
    calls: dict[int, dict[str, Any]] = {}
    finish = None
    for chunk in stream(client, **body(words, **fields)):
        for part in chunk["choices"]:
            content = (content or "") + (part["delta"].get("content") or "") or None
            finish = part["finish_reason"] or finish
            for delta in part["delta"].get("tool_calls", ()):
                if delta["index"] not in calls:
                    assert delta["index"] == len(calls)
                    assert delta["function"]["arguments"] == ""
                    calls[delta["index"]] = {**delta, "function": dict(delta["function"])}
                else:
                    assert delta.keys() == {"index", "function"}
                    assert delta["function"].keys() == {"arguments"}
                    calls[delta["index"]]["function"]["arguments"] += delta["function"]["arguments"]
    message: dict[str, Any] = {"role": "assistant", "content": content}
    if calls:
        message["tool_calls"] = [calls[index] for index in sorted(calls)]
    return {"message": message, "finish_reason": finish}


def told(found: dict[str, Any]) -> list[tuple[str, Any]]:
    calls = found["message"].get("tool_calls", ())
    return [(c["function"]["name"], json.loads(c["function"]["arguments"])) for c in calls]


each_way = pytest.mark.parametrize("ask", [choice, streamed])


@each_way
def test_a_call_is_no_text(client: httpx.Client, ask: Any) -> None:
    found = ask(client, "one call")
    assert told(found) == [("get_weather", {"city": "São Paulo 👋"})]
    assert found["message"]["content"] is None
    assert found["finish_reason"] == "tool_calls"
    (made,) = found["message"]["tool_calls"]
    assert made["type"] == "function" and made["id"].startswith("call_")


@each_way
def test_calls_have_indexes_from_0_and_ids_of_their_own(client: httpx.Client, ask: Any) -> None:
    answers = [ask(client, "two calls") for _ in range(2)]
    for found in answers:
        assert [arguments["city"] for _, arguments in told(found)] == ["Paris", "Rome"]
        assert found["message"]["content"] == "Let me look."
        assert found["finish_reason"] == "tool_calls"
    ids = [made["id"] for found in answers for made in found["message"]["tool_calls"]]
    assert len(set(ids)) == 4


@each_way
def test_a_call_in_the_models_own_way_is_one_if_it_fits(client: httpx.Client, ask: Any) -> None:
    found = ask(client, "own way")
    assert told(found) == [("get_weather", {"city": "Paris", "days": 3})]
    assert found["message"]["content"] is None
    for words, said in (
        ("other tool", fenced("delete_all", '{"city": "Paris"}')),
        ("other arguments", fenced("get_weather", '{"town": "Paris"}')),
    ):
        found = ask(client, words)
        assert not told(found)
        assert (found["message"]["content"], found["finish_reason"]) == (said, "stop")


@each_way
def test_text_that_is_no_call_is_content_and_no_error(client: httpx.Client, ask: Any) -> None:
    for words, said in (("no sense", BROKEN), ("in words", RULES[-1]["say"])):
        found = ask(client, words)
        assert not told(found)
        assert (found["message"]["content"], found["finish_reason"]) == (said, "stop")


def test_a_call_that_is_cut_off_is_text(client: httpx.Client) -> None:
    found = choice(client, "long call", max_tokens=200)
    assert "tool_calls" not in found["message"]
    assert found["message"]["content"] == call("x" * 400)[:200]
    assert found["finish_reason"] == "length"


def test_a_call_that_is_cut_off_in_a_stream_says_so(client: httpx.Client) -> None:
    found = streamed(client, "long call", max_tokens=200)
    assert found["finish_reason"] == "length"
    # What was sent cannot be taken back, but no text is sent twice.
    assert found["message"]["content"] is None
    early = streamed(client, "long call", max_tokens=20)
    assert "tool_calls" not in early["message"]
    assert (early["message"]["content"], early["finish_reason"]) == (call("")[:20], "length")


def test_arguments_come_as_they_are_written(client: httpx.Client) -> None:
    chunks = stream(client, **body("slow call"))
    deltas = [part["delta"] for chunk in chunks for part in chunk["choices"]]
    parts = [part for delta in deltas for part in delta.get("tool_calls", ())]
    assert len(parts) > 10
    assert [part["id"] for part in parts if "id" in part] == [parts[0]["id"]]


@each_way
def test_one_call_where_more_are_not_wanted(client: httpx.Client, ask: Any) -> None:
    found = ask(client, "two calls", parallel_tool_calls=False)
    assert told(found) == [("get_weather", {"city": "Paris"})]
    assert found["message"]["content"] == "Let me look."


@each_way
def test_without_tools_the_text_is_left_alone(client: httpx.Client, ask: Any) -> None:
    for fields in ({"tools": None}, {"tool_choice": "none"}):
        found = ask(client, "one call", **fields)
        assert not told(found)
        assert found["message"]["content"] == call("São Paulo 👋")
        assert found["finish_reason"] == "stop"


@pytest.mark.parametrize(
    "tool_choice",
    [
        "auto",
        "required",
        {"type": "function", "function": {"name": "get_weather"}},
        {
            "type": "allowed_tools",
            "allowed_tools": {
                "mode": "auto",
                "tools": [{"type": "function", "function": {"name": "get_weather"}}],
            },
        },
    ],
    ids=str,
)
def test_every_form_of_tool_choice_is_taken(client: httpx.Client, tool_choice: Any) -> None:
    found = choice(client, "one call", tool_choice=tool_choice)
    assert told(found) == [("get_weather", {"city": "São Paulo 👋"})]


@pytest.mark.parametrize(
    ("fields", "param", "named"),
    [
        ({"tool_choice": {"type": "function", "function": {"name": "run"}}}, "tool_choice", "run"),
        ({"tool_choice": "sometimes"}, "tool_choice", "sometimes"),
        ({"tool_choice": "required", "tools": []}, "tool_choice", "nothing to call"),
        ({"tools": [{"type": "function"}]}, "tools", "tool 0"),
        ({"tools": "get_weather"}, "tools", "array"),
    ],
    ids=str,
)
def test_tools_that_cannot_be_called_are_refused(
    client: httpx.Client, fields: dict[str, Any], param: str, named: str
) -> None:
    response = client.post("/v1/chat/completions", json=body("one call", **fields))
    assert response.status_code == 400
    error = error_of(response)
    assert error["param"] == param and named in error["message"]


@each_way
def test_a_stop_string_ends_a_call_too(client: httpx.Client, ask: Any) -> None:
    """It is looked for in what the model writes, before calls are."""
    found = choice(client, "one call", stop=["Paulo"])
    assert "tool_calls" not in found["message"]
    assert found["finish_reason"] == "stop"
    found = ask(
        client,
        "two calls",
        stop=['\n<tool_call>\n{"name": "get_weather", "arguments": {"city": "Rome'],
    )
    assert told(found) == [("get_weather", {"city": "Paris"})]


def test_functions_are_answered_in_the_older_form(client: httpx.Client) -> None:
    older = {"tools": None, "functions": [WEATHER["function"]], "function_call": "auto"}
    found = choice(client, "two calls", **older)
    assert found["message"] == {
        "role": "assistant",
        "content": "Let me look.",
        "function_call": {"name": "get_weather", "arguments": '{"city": "Paris"}'},
    }
    assert found["finish_reason"] == "function_call"
    chunks = stream(client, **body("two calls", **older))
    deltas = [part["delta"] for chunk in chunks for part in chunk["choices"]]
    parts = [delta["function_call"] for delta in deltas if "function_call" in delta]
    assert parts[0] == {"name": "get_weather", "arguments": ""}
    assert "".join(part["arguments"] for part in parts) == '{"city": "Paris"}'
    assert chunks[-1]["choices"][0]["finish_reason"] == "function_call"


def test_probabilities_belong_to_the_text(client: httpx.Client) -> None:
    found = choice(client, "two calls", logprobs=True)
    tokens = [each["token"] for each in found["logprobs"]["content"]]
    assert "".join(tokens) == "Let me look."
    found = choice(client, "in words", logprobs=True)
    assert "".join(each["token"] for each in found["logprobs"]["content"]) == RULES[-1]["say"]


def test_the_format_is_shown(client: httpx.Client) -> None:
    assert client.get("/props").json()["tool_format"] == "generic"


def test_tools_and_calls_reach_a_template_without_a_place_for_them(client: httpx.Client) -> None:
    history = [
        {"role": "user", "content": "Weather?"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": "a",
                    "type": "function",
                    "function": {"name": "get_weather", "arguments": '{"city": "Paris"}'},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "a", "content": "22 degrees"},
    ]
    asked = {"messages": history, "tools": [WEATHER]}
    prompt = client.post("/apply-template", json=asked).json()["prompt"]
    assert '"name": "get_weather"' in prompt and call("Paris") in prompt and "22 degrees" in prompt


RECIPIENTS = """{% for m in messages %}{{ m.role + ':' + (m.content or '') }}
{%- for call in m.tool_calls or [] %}
{{- '>>>' + call.function.name + '\\n' + call.function.arguments }}{% endfor %}
{%- if not m.content %}{{ '>>>all\\n' if m.role == 'assistant' else '' }}{% endif %}
{{ '\\n' }}{% endfor %}{{ tools | tojson if tools else '' }}
{%- if add_generation_prompt %}{{ 'assistant:>>>' }}{% endif %}"""


def test_an_answer_that_begins_in_the_prompt(tmp_path: Path) -> None:
    """The mark of the first part is the prompt's, those of the others the model writes."""
    paris = 'get_weather\n{"city": "Paris"}'
    rules = (
        {"when": "call", "say": paris},
        {"when": "both", "say": f"all\nI look.>>>{paris}>>>{paris}"},
        {"when": "words", "say": "all\nIt is warm."},
    )
    template = tmp_path / "template.jinja"
    template.write_text(RECIPIENTS)
    model = script(tmp_path, *rules)
    with served(model, "--chat-template-file", template) as server, server.client() as client:
        assert client.get("/props").json()["tool_format"] == "functionary-recipients"
        for ask in (choice, streamed):
            called = ask(client, "call")
            assert told(called) == [("get_weather", {"city": "Paris"})]
            assert (called["message"]["content"], called["finish_reason"]) == (None, "tool_calls")
            both = ask(client, "both")
            assert told(both) == [("get_weather", {"city": "Paris"})] * 2
            assert both["message"]["content"] == "I look."
            words = ask(client, "words")
            assert words["message"] == {"role": "assistant", "content": "It is warm."}
        words = choice(client, "words", logprobs=True)
        assert "".join(each["token"] for each in words["logprobs"]["content"]) == "It is warm."
        forced = choice(client, "words", tool_choice="required", max_tokens=40)
        assert [name for name, _ in told(forced)] == ["get_weather"], forced
        assert (forced["message"]["content"], forced["finish_reason"]) == (None, "length")
