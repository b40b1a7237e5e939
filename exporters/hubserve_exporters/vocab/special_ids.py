"""The ids of tokens with a purpose: where text begins and ends, where an answer stops.

Several files name them, some as lists, some by text. llama.cpp has three keys for tokens that end
an answer, and finds more by their texts alone (src/llama-vocab.cpp of llama-cpp-python 0.3.36).
"""

from collections.abc import Iterable, Iterator, Mapping

from hubserve_exporters.errors import ExportError

from .added_tokens import text_of
from .files import TokenizerFiles

_KEYS = {
    "bos": "bos_token_id",
    "eos": "eos_token_id",
    "unk": "unknown_token_id",
    "sep": "seperator_token_id",  # as llama.cpp spells it
    "pad": "padding_token_id",
    "mask": "mask_token_id",
}
_END_OF_MESSAGE = "<|eom_id|>"
_FOUND_BY_TEXT = frozenset(
    (
        *("<|eot_id|>", "<|im_end|>", "<|end|>", "<|return|>", "<|call|>", "<|flush|>"),
        *("<|calls|>", "<end_of_turn>", "<|endoftext|>", "</s>", _END_OF_MESSAGE, "<EOT>"),
        *("_<EOT>", "[EOT]", "[EOS]", "<|end_of_text|>", "<end_of_utterance>", "<eos>"),
        *("<turn|>", "<|tool_response>", "<｜end▁of▁sentence｜>", "[e~["),
    )
)


def special_ids(
    files: TokenizerFiles, ids: Mapping[str, int], own: Mapping[str, int], warnings: list[str]
) -> dict[str, int]:
    """The keys, without `tokenizer.ggml.`. `ids` are those of all texts.

    `own` are ids by purpose ("bos") that the tokenizer's model gives itself; they count where no
    file says otherwise. Raises ExportError if nothing ends a text: llama.cpp would take whatever
    token has the number that it expects there.
    """
    size = max(ids.values(), default=-1) + 1
    found: dict[str, int] = {}
    for purpose, key in _KEYS.items():
        candidates = _candidates(purpose, files, ids, size, warnings)
        if purpose in own:
            candidates.append(own[purpose])
        if purpose == "unk" and "unk" in own:
            candidates = [own["unk"]]
        if candidates:
            found[key] = candidates[0]
        if purpose == "eos":
            if not candidates:
                raise ExportError(
                    "No file says which token ends a text: set 'eos_token' in"
                    " tokenizer_config.json, or 'eos_token_id' in generation_config.json."
                )
            said = candidates[: len(candidates) - (purpose in own)] or candidates
            found |= _further_ends(said[1:], ids, warnings)
    return found


def _candidates(
    purpose: str, files: TokenizerFiles, ids: Mapping[str, int], size: int, warnings: list[str]
) -> list[int]:
    """In order of trust, each once."""
    found: dict[int, None] = {}
    for file in (files.tokenizer_config, files.special_tokens):
        text = text_of(file.get(f"{purpose}_token"))
        if text is None:
            continue
        if text in ids:
            found[ids[text]] = None
        else:
            warnings.append(
                f"The tokenizer has no token {text!r}, which a file names as '{purpose}_token': it"
                " is left out."
            )
    for name, values in (
        ("generation_config.json", files.generation),
        ("config.json", files.config),
    ):
        for id in _numbers(values.get(f"{purpose}_token_id")):
            if 0 <= id < size:
                found[id] = None
            elif id >= 0:
                warnings.append(
                    f"{name}: '{purpose}_token_id' is {id}, and the tokenizer has {size} tokens: it"
                    " is left out."
                )
    return list(found)


def _numbers(value: object) -> Iterator[int]:
    for number in value if isinstance(value, list) else [value]:
        if type(number) is int:
            yield number


def _further_ends(
    ends: Iterable[int], ids: Mapping[str, int], warnings: list[str]
) -> dict[str, int]:
    """Which of them go into the two keys beside eos: first those that no text tells."""
    texts = {id: text for text, id in ids.items()}
    unknown = [id for id in ends if texts.get(id) not in _FOUND_BY_TEXT]
    known = [id for id in ends if texts.get(id) in _FOUND_BY_TEXT]
    keys: dict[str, int] = {}
    for id in (*unknown, *known):
        message = texts.get(id) == _END_OF_MESSAGE
        order = ("eom_token_id", "eot_token_id") if message else ("eot_token_id", "eom_token_id")
        free = [key for key in order if key not in keys]
        if free and (id in unknown or free[0] == order[0]):
            keys[free[0]] = id
        elif id in unknown:
            warnings.append(
                f"An answer is to end at {texts.get(id)!r} as well, and llama.cpp has no key left"
                " to be told so: give it as a stop string."
            )
    return keys
