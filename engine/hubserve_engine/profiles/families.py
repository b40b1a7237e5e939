"""The families that are known, the more particular first.

A family is recognised by `signs` (all of them) in its template's source, or by its tags being
special tokens of the vocabulary. Sources: the templates in `models/templates` of llama.cpp (the
version in llama-cpp-python 0.3.36) and the models' own cards.
"""

from dataclasses import dataclass

from hubserve_engine.profiles.profile import Profile


@dataclass(frozen=True, slots=True)
class Family:
    profile: Profile
    signs: tuple[str, ...]


def _tags(name: str, start: str, end: str) -> Profile:
    return Profile(name, (start, end))


FAMILIES = (
    Family(_tags("seed", "<seed:think>", "</seed:think>"), ("</seed:think>",)),
    Family(_tags("minimax", "<mm:think>", "</mm:think>"), ("</mm:think>",)),
    Family(
        _tags("hunyuan", "<think:opensource>", "</think:opensource>"),
        ("'<think{}>'", "':opensource'"),
    ),
    Family(_tags("mistral", "[THINK]", "[/THINK]"), ("[/THINK]",)),
    Family(_tags("kimi-vl", "◁think▷", "◁/think▷"), ("◁/think▷",)),
    Family(_tags("apertus", "<|inner_prefix|>", "<|inner_suffix|>"), ("<|inner_suffix|>",)),
    Family(
        _tags("granite-phrases", "Here is my thought process:", "Here is my response:"),
        ("Here is my thought process:", "Here is my response:"),
    ),
    Family(
        Profile("granite-response", ("<think>", "</think>"), marks=("<response>", "</response>")),
        ("<think></think>", "<response></response>"),
    ),
    Family(
        Profile(
            "apriel",
            ("Here are my reasoning steps:", "[BEGIN FINAL RESPONSE]"),
            marks=("[END FINAL RESPONSE]",),
        ),
        ("[BEGIN FINAL RESPONSE]",),
    ),
    Family(
        Profile("gemma-channels", ("<|channel>thought", "<channel|>"), thinking_anywhere=True),
        ("<|channel>thought", "<channel|>"),
    ),
    Family(
        Profile(
            "harmony",
            ("<|channel|>analysis<|message|>", "<|end|>"),
            thinking_anywhere=True,
            # A preamble to calls ("commentary" without a recipient) is meant for the user.
            marks=(
                "<|start|>assistant",
                "<|channel|>final<|message|>",
                "<|channel|>commentary<|message|>",
                "<|end|>",
            ),
            answer_start="<|channel|>final<|message|>",
            answer_lead="<|start|>assistant<|channel|>final<|message|>",
        ),
        ("<|channel|>analysis<|message|>",),
    ),
    Family(
        Profile(
            "kimi-blocks",
            ("<|open|>think<|sep|>", "<|close|>think<|sep|>"),
            thinking_anywhere=True,
            marks=(
                # Before calls there is an empty answer.
                "<|open|>response<|sep|><|close|>response<|sep|>",
                "<|open|>response<|sep|>",
                "<|close|>response<|sep|>",
                "<|close|>message<|sep|>",
            ),
            answer_start="<|open|>response<|sep|>",
            answer_lead="<|open|>response<|sep|>",
        ),
        ("'<|open|>'", "'<|close|>'", "'think'"),
    ),
    Family(
        Profile(
            "cohere",
            ("<|START_THINKING|>", "<|END_THINKING|>"),
            thinking_anywhere=True,
            answer_lead="<|START_RESPONSE|>",
            marks=("<|START_RESPONSE|>", "<|END_RESPONSE|>", "<|START_TEXT|>", "<|END_TEXT|>"),
        ),
        ("<|END_THINKING|>",),
    ),
    Family(
        Profile(
            "solar",
            ("<|think|>", "<|end|>"),
            thinking_anywhere=True,
            marks=("<|begin|>assistant", "<|content|>", "<|end|>"),
            answer_start="<|content|>",
            answer_lead="<|begin|>assistant<|content|>",
        ),
        ("<|begin|>assistant<|think|>", "<|begin|>assistant<|content|>"),
    ),
    Family(
        Profile(
            "recipients",
            (" to=self<|message|>", "<|eom|>"),
            thinking_anywhere=True,
            marks=("<|start|>assistant", " to=user<|message|>", "<|eom|>"),
            answer_start=" to=user<|message|>",
            answer_lead="<|start|>assistant to=user<|message|>",
        ),
        ("assistant to=self<|message|>",),
    ),
    Family(
        Profile("functionary", marks=(">>>all\n",), answer_start=">>>all\n"),
        ("'>>>all\\n'",),
    ),
    Family(_tags("think", "<think>", "</think>"), ("</think>",)),
    Family(_tags("think", "<think>", "</think>"), ("<think>",)),
)
