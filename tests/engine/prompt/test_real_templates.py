"""The chat templates of real models, as llama.cpp collects them (scripts/fetch-templates)."""

import json
from datetime import datetime
from functools import cache, partial
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from jinja2.sandbox import ImmutableSandboxedEnvironment
from tests.support.fetched import real_templates
from tests.support.histories import histories

from hubserve_engine.errors import PromptError
from hubserve_engine.prompt.template import ChatTemplate
from hubserve_engine.types import Chat, Message, ReasoningSwitch, ToolCall

pytestmark = pytest.mark.templates

# What tells thinking from answer, what turns thinking on and off, and how calls are written.
EXPECTED: dict[str, tuple[str, str | None, str]] = {
    "Apertus-8B-Instruct": ("apertus", "enable_thinking", "apertus"),
    "Apriel-1.6-15b-Thinker-fixed": ("apriel", None, "apriel"),
    "Bielik-11B-v3.0-Instruct": ("think", "enable_thinking", "hermes"),
    "ByteDance-Seed-OSS": ("seed", "thinking_budget", "seed"),
    "Cohere2MoE": ("cohere", "reasoning_effort", "cohere"),
    "CohereForAI-c4ai-command-r-plus-tool_use": ("plain", None, "command-r"),
    "CohereForAI-c4ai-command-r7b-12-2024-tool_use": ("cohere", "enable_thinking", "cohere"),
    "GLM-4.6": ("think", "enable_thinking", "glm"),
    "GLM-4.7-Flash": ("think", "enable_thinking", "glm-compact"),
    "GigaChat3-10B-A1.8B": ("plain", None, "gigachat-role"),
    "GigaChat3.1-10B-A1.8B": ("plain", None, "gigachat"),
    "HuggingFaceTB-SmolLM3-3B": ("think", "enable_thinking", "generic"),
    "Kimi-K2-Instruct": ("plain", None, "kimi"),
    "Kimi-K2-Thinking": ("think", None, "kimi"),
    "Kimi-K3": ("kimi-blocks", "thinking", "kimi-k3"),
    "LFM2-8B-A1B": ("plain", None, "lfm2"),
    "LFM2.5-8B-A1B": ("think", None, "lfm2"),
    "LFM2.5-Instruct": ("think", None, "lfm2"),
    "MiMo-VL": ("plain", None, "hermes"),
    "MiniMax-M1": ("plain", None, "minimax-m1"),
    "MiniMax-M2": ("think", None, "minimax-m2"),
    "MiniMax-M3": ("minimax", "thinking_mode", "minimax-m3"),
    "Mistral-Small-3.2-24B-Instruct-2506": ("plain", None, "mistral-ids"),
    "NVIDIA-Nemotron-3-Nano-30B-A3B-BF16": ("think", "enable_thinking", "qwen-xml"),
    "NVIDIA-Nemotron-Nano-v2": ("think", "/think", "nemotron"),
    "NousResearch-Hermes-2-Pro-Llama-3-8B-tool_use": ("plain", None, "hermes"),
    "NousResearch-Hermes-3-Llama-3.1-8B-tool_use": ("plain", None, "hermes"),
    "Qwen-QwQ-32B": ("think", "enable_thinking", "hermes"),
    "Qwen-Qwen2.5-7B-Instruct": ("plain", None, "hermes"),
    "Qwen-Qwen3-0.6B": ("think", "enable_thinking", "hermes"),
    "Qwen3-Coder": ("plain", None, "qwen-xml"),
    "Qwen3.5-4B": ("think", "enable_thinking", "qwen-xml"),
    "Reka-Edge": ("think", "enable_thinking", "hermes"),
    "Spark2.5": ("think", "enable_thinking", "glm-compact"),
    "StepFun3.5-Flash": ("think", None, "qwen-xml"),
    "deepseek-ai-DeepSeek-R1-Distill-Llama-8B": ("think", None, "deepseek-r1"),
    "deepseek-ai-DeepSeek-R1-Distill-Qwen-32B": ("think", "enable_thinking", "deepseek-r1"),
    "deepseek-ai-DeepSeek-V3.1": ("think", "enable_thinking", "deepseek"),
    "deepseek-ai-DeepSeek-V3.2": ("think", "enable_thinking", "deepseek-dsml"),
    "deepseek-ai-DeepSeek-V4-Flash-0731": ("think", "enable_thinking", "deepseek-v4"),
    "deepseek-ai-DeepSeek-V4": ("think", "enable_thinking", "deepseek-v4"),
    "fireworks-ai-llama-3-firefunction-v2": ("plain", None, "firefunction"),
    "google-gemma-2-2b-it": ("plain", None, "generic"),
    "google-gemma-4-31B-it-interleaved": ("gemma-channels", "enable_thinking", "gemma"),
    "google-gemma-4-31B-it": ("gemma-channels", "enable_thinking", "gemma"),
    "ibm-granite-granite-3.3-2B-Instruct": ("granite-response", "thinking", "granite"),
    "ibm-granite-granite-4.0": ("plain", None, "hermes"),
    "ibm-granite-granite-4.1": ("plain", None, "hermes"),
    "inclusionai-ling-3.0-flash": ("think", "enable_thinking", "glm"),
    "llama-cpp-deepseek-r1": ("think", None, "deepseek-r1"),
    "llama-cpp-rwkv-world": ("think", "enable_thinking", "generic"),
    "meetkai-functionary-medium-v3.1": ("plain", None, "functionary"),
    "meetkai-functionary-medium-v3.2": ("functionary", None, "functionary-recipients"),
    "meta-llama-Llama-3.1-8B-Instruct": ("plain", None, "llama"),
    "meta-llama-Llama-3.2-3B-Instruct": ("plain", None, "llama"),
    "meta-llama-Llama-3.3-70B-Instruct": ("plain", None, "llama"),
    "microsoft-Phi-3.5-mini-instruct": ("plain", None, "generic"),
    "mistralai-Ministral-3-14B-Reasoning-2512": ("mistral", None, "mistral"),
    "mistralai-Mistral-Nemo-Instruct-2407": ("plain", None, "mistral-list"),
    "moonshotai-Kimi-K2": ("plain", None, "kimi"),
    "muse-glimmer": ("recipients", "reasoning_strength", "muse"),
    "openai-gpt-oss-120b": ("harmony", "reasoning_effort", "harmony"),
    "openbmb-MiniCPM5-1B": ("think", "enable_thinking", "minicpm"),
    "poolside-Laguna-S-2.1": ("think", "enable_thinking", "glm-compact"),
    "poolside-Laguna-XS-2.1": ("think", "enable_thinking", "glm"),
    "poolside-Laguna-XS.2": ("think", "enable_thinking", "glm"),
    "tencent-Hy3": ("hunyuan", "reasoning_effort", "hunyuan"),
    "unsloth-Apriel-1.5": ("apriel", None, "apriel"),
    "unsloth-mistral-Devstral-Small-2507": ("plain", None, "mistral"),
    "upstage-Solar-Open-100B": ("solar", "reasoning_effort", "solar"),
}

# These have no place for tools, so the model is told in words.
TOOLLESS = {
    "HuggingFaceTB-SmolLM3-3B",
    "deepseek-ai-DeepSeek-R1-Distill-Llama-8B",
    "deepseek-ai-DeepSeek-R1-Distill-Qwen-32B",
    "deepseek-ai-DeepSeek-V3.1",
    "google-gemma-2-2b-it",
    "llama-cpp-rwkv-world",
    "microsoft-Phi-3.5-mini-instruct",
}
# These leave the thinking before a call out, in every turn.
FORGETFUL = {
    "Apertus-8B-Instruct",
    "Apriel-1.6-15b-Thinker-fixed",
    "HuggingFaceTB-SmolLM3-3B",
    "LFM2.5-Instruct",
    "NVIDIA-Nemotron-Nano-v2",
    "Qwen-QwQ-32B",
    "deepseek-ai-DeepSeek-R1-Distill-Llama-8B",
    "deepseek-ai-DeepSeek-R1-Distill-Qwen-32B",
    "deepseek-ai-DeepSeek-V3.1",
    "ibm-granite-granite-3.3-2B-Instruct",
    "llama-cpp-deepseek-r1",
    "llama-cpp-rwkv-world",
    "unsloth-Apriel-1.5",
}
# These cannot be rendered by plain Jinja: they mark what is trained on, or want more than they get.
STRANGE = {
    "CohereForAI-c4ai-command-r-plus-tool_use",
    "LFM2.5-8B-A1B",
    "fireworks-ai-llama-3-firefunction-v2",
    "llama-cpp-deepseek-r1",
    "poolside-Laguna-S-2.1",
    "poolside-Laguna-XS-2.1",
    "poolside-Laguna-XS.2",
}

TOOL: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather of a city",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}},
            "required": ["city"],
        },
    },
}
SYSTEM = Message("system", "Be brief.")
ASK = Message("user", "How is the weather?")
CALL = Message(
    "assistant",
    None,
    reasoning="I have to look.",
    tool_calls=(ToolCall("call_0123456789", "get_weather", '{"city": "Paris"}'),),
)
RESULT = Message("tool", "22 degrees", tool_call_id="call_0123456789")

each = pytest.mark.parametrize("name", EXPECTED)


@cache
def template(name: str) -> ChatTemplate:
    path = next(path for path in real_templates() if path.stem == name)
    return ChatTemplate(path.read_text(), bos="<s>", eos="</s>")


def render(
    name: str, *messages: Message, tools: bool = False, reasoning: ReasoningSwitch = "auto"
) -> str:
    chat = Chat(messages, tools=(TOOL,) if tools else ())
    return template(name).render(chat, reasoning=reasoning).text


def test_the_table_has_every_template() -> None:
    assert {path.stem for path in real_templates()} == set(EXPECTED)


@each
def test_tags_switch_and_tool_format(name: str) -> None:
    found = template(name)
    seen = (found.profile.name, found.thinking_switch, found.tool_format.name)
    assert seen == EXPECTED[name]


@each
def test_a_plain_chat(name: str) -> None:
    text = render(name, SYSTEM, ASK)
    assert "Be brief." in text and "How is the weather?" in text


@each
def test_a_chat_with_tools(name: str) -> None:
    text = render(name, SYSTEM, ASK, tools=True)
    assert "Be brief." in text and "How is the weather?" in text
    assert "get_weather" in text
    assert ("You can call these functions:" in text) is (name in TOOLLESS)


@pytest.mark.parametrize("name", sorted(EXPECTED.keys() - STRANGE))
def test_the_text_is_what_plain_jinja_makes_of_it(name: str) -> None:
    """Our bounds change nothing: the reference is set up as transformers sets it up."""
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
    )
    environment.filters["tojson"] = partial(json.dumps, ensure_ascii=False)
    environment.globals["strftime_now"] = lambda form: datetime.now().strftime(form)
    source = template(name).source
    arguments = {"bos_token": "<s>", "eos_token": "</s>", "add_generation_prompt": True}
    reference = environment.from_string(source).render(
        messages=[{"role": "user", "content": "How is the weather?"}],
        tools=None if name in TOOLLESS else [TOOL],
        documents=None,
        **arguments,
    )
    assert render(name, ASK, tools=name not in TOOLLESS) == reference


@each
def test_a_chat_with_tool_results(name: str) -> None:
    text = render(name, SYSTEM, ASK, CALL, RESULT, tools=True)
    for word in ("How is the weather?", "get_weather", "Paris", "22 degrees"):
        assert word in text
    assert "{'city': 'Paris'" not in text and '\\"Paris' not in text


@each
def test_thinking_before_a_call_is_shown_to_models_that_are_to_see_it(name: str) -> None:
    text = render(name, SYSTEM, ASK, CALL, RESULT, tools=True, reasoning="on")
    if template(name).profile.thinking_tags is not None:
        assert ("I have to look." in text) is (name not in FORGETFUL)
    assert "'I have to look.'" not in text


@each
def test_late_system_messages_and_calls_beside_text(name: str) -> None:
    spoken = Message("assistant", "Let me look.", tool_calls=CALL.tool_calls)
    late = Message("system", "In French.")
    text = render(name, SYSTEM, ASK, spoken, RESULT, late, Message("user", "And now?"))
    for word in ("Be brief.", "In French.", "Let me look.", "Paris", "22 degrees", "And now?"):
        assert word in text


@each
def test_thinking_is_open_where_the_prompt_ends_in_a_tag(name: str) -> None:
    for reasoning in ("on", "off", "auto"):
        found = template(name).render(Chat((ASK,)), reasoning=reasoning)
        tags = template(name).profile.thinking_tags
        assert found.thinking_open == (tags is not None and found.text.strip().endswith(tags[0]))
        if reasoning == "off" and template(name).thinking_switch:
            assert not found.thinking_open


# Templates that say how hard to think, an effort that is asked for, and what then is in the prompt.
EFFORTS = [
    ("openai-gpt-oss-120b", "low", "Reasoning: low"),
    ("openai-gpt-oss-120b", "minimal", "Reasoning: low"),
    ("openai-gpt-oss-120b", "xhigh", "Reasoning: high"),
    ("Kimi-K3", "low", "`thinking_effort=low`"),
    ("Kimi-K3", "max", "`thinking_effort=max`"),
    ("tencent-Hy3", "high", "reasoning_effort:high"),
    ("deepseek-ai-DeepSeek-V4", "max", "Reasoning Effort: "),
    ("deepseek-ai-DeepSeek-V4-Flash-0731", "high", "Reasoning Effort: "),
    ("muse-glimmer", "medium", "medium"),
]


@pytest.mark.parametrize(("name", "effort", "words"), EFFORTS)
def test_an_effort_reaches_a_template_that_knows_it(name: str, effort: str, words: str) -> None:
    chat = Chat((ASK,), reasoning="on", reasoning_effort=effort)
    text = template(name).render(chat, reasoning="auto").text
    assert words in text


@each
def test_an_effort_is_no_fault_of_any_template(name: str) -> None:
    for effort in ("minimal", "medium", "max", "odd"):
        chat = Chat((ASK,), reasoning="on", reasoning_effort=effort)
        assert "How is the weather?" in template(name).render(chat, reasoning="auto").text


def test_a_budget_is_told_where_the_template_has_words_for_it() -> None:
    chat = Chat((ASK,), reasoning="on", template_arguments={"thinking_budget": 512})
    text = template("ByteDance-Seed-OSS").render(chat, reasoning="auto").text
    assert "thinking within 512 tokens" in text


@each
def test_a_begun_answer_ends_the_prompt(name: str) -> None:
    found = template(name).render(
        Chat((SYSTEM, ASK, Message("assistant", "It is "))), reasoning="auto"
    )
    assert found.text.endswith("It is ")
    assert not found.thinking_open


@settings(
    deadline=None, max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@each
@given(messages=histories())
def test_no_history_is_a_fault_of_ours(name: str, messages: tuple[Message, ...]) -> None:
    for tools in (False, True):
        try:
            render(name, *messages, tools=tools)
        except PromptError as error:
            assert error.param == "messages"
