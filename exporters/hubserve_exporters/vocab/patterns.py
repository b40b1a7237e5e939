# ruff: noqa: RUF001 - patterns name the letters of many scripts
"""How llama.cpp's pre-tokenizers split text, by the name that a file gives them.

The patterns are those of the tokenizers that each was made for, as they stand in the comments of
src/llama-vocab.cpp (llama-cpp-python 0.3.36) and in the tokenizer.json of those models; which name
takes tokens whole that no merge makes (`ignore_merges`) stands in `llama_vocab::impl::load` there.
Where several names do the same, one stands for all: what else they change (whether a BOS token is
put first, spaces in decoded text) is said by keys of its own, or not used by this server. A name
is left out where llama.cpp splits otherwise than the pattern in its comment, such as `tiny_aya`.
"""

from dataclasses import dataclass

GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
"""What `ByteLevel` of tokenizers splits by, unless it is told not to."""
DIGIT = r"\p{N}"

_CONTRACTION = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_REST = r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
_UPPER, _LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_WORDS = rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}*{_LOWER}+%s|[^\r\n\p{{L}}\p{{N}}]?{_UPPER}+{_LOWER}*%s"
_CASED_REST = r" ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
_LLAMA3 = rf"{_CONTRACTION}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}{{1,3}}|{_REST}"
_O200K = _WORDS % ((f"{_CONTRACTION}?",) * 2) + rf"|\p{{N}}{{1,3}}|{_CASED_REST}"
_DEEPSEEK_LETTERS = (
    r"\s?[A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-ՖႠ-ჅᎠ-Ᏽᏸ-ᏽᲐ-ᲺᲽ-Ჿᴀ-ᴫᵫ-ᵷᵹ"
    r"-ᶚḀ-ἕἘ-Ἕἠ-ὅὈ-Ὅὐ-ὗὙὛὝὟ-ώᾀ-ᾴᾶ-ᾼιῂ-ῄῆ-ῌῐ-ΐῖ-Ίῠ-Ῥῲ-ῴῶ-ῼℂℇℊ-ℓℕℙ-ℝℤΩℨK-ℭℯ-ℴℹℼ-ℿⅅ-ⅉⅎↃↄⰀ"
    r"-ⱻⱾ-ⳤⳫ-ⳮⳲⳳꙀ-ꙭꚀ-ꚛꜢ-ꝯꝱ-ꞇꞋ-ꞎꭰ-ꮿﬀ-ﬆﬓ-ﬗＡ-Ｚａ-ｚ𐐀-𐑏𐒰-𐓓𐓘-𐓻𐲀-𐲲𐳀-𐳲𑢠-𑣟𞤀-𞥃]+"
)
_HAN = "[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+"
_HAN_AND_KANA = "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+"
_DEEPSEEK3 = (
    r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+"""
    r"|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"
    r"| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


@dataclass(frozen=True, slots=True)
class Splitting:
    """Patterns that are applied one after the other, each to the pieces that the last one left."""

    patterns: tuple[str, ...]
    ignore_merges: bool = False


SPLITTINGS: dict[str, Splitting] = {
    "gpt-2": Splitting((GPT2,)),
    "smollm": Splitting((DIGIT, GPT2)),
    "llama-bpe": Splitting((_LLAMA3,), ignore_merges=True),
    "dbrx": Splitting((_LLAMA3,)),
    "qwen2": Splitting(
        (rf"{_CONTRACTION}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}|{_REST}",),
    ),
    "qwen35": Splitting(
        (
            rf"{_CONTRACTION}|[^\r\n\p{{L}}\p{{N}}]?[\p{{L}}\p{{M}}]+|\p{{N}}"
            r"| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
        ),
    ),
    "ufakzeka": Splitting((rf"[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}|{_REST}",)),
    "tekken": Splitting(
        (_WORDS % ("", "") + rf"|\p{{N}}|{_CASED_REST}",),
        ignore_merges=True,
    ),
    "gpt-4o": Splitting((_O200K,)),
    "deepseek-llm": Splitting(
        (
            r"[\r\n]",
            _DEEPSEEK_LETTERS,
            "\\s?[!-/:-~\uff01-\uff0f\uff1a-\uff5e\u2018-\u201f\u3000-\u3002]+",
            r"\s+$",
            _HAN,
            r"\p{N}+",
        ),
    ),
    "deepseek-coder": Splitting(
        (r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", _HAN, DIGIT),
    ),
    "deepseek-v3": Splitting((r"\p{N}{1,3}", _HAN_AND_KANA, _DEEPSEEK3)),
    "seed-coder": Splitting(
        (
            rf"{_CONTRACTION}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}{{1}}"
            r"| ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+|\s+(?!\S)|\s+",
        ),
    ),
    "bailingmoe": Splitting(
        (
            r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*"
            r"|\s*[\r\n]|\s+(?!\S)|\s+",
        ),
    ),
    "exaone-moe": Splitting(
        (
            rf"{_CONTRACTION}|[^\r\n\p{{L}}\p{{N}}]?(?:\p{{L}}\p{{M}}*(?: \p{{L}}\p{{M}}*)*)+"
            r"|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+",
        ),
    ),
    "minicpm5": Splitting(
        (
            r"\p{N}{1,3}",
            rf"{_CONTRACTION}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}+|{_REST}",
        ),
        ignore_merges=True,
    ),
    "jais-2": Splitting(
        (
            rf"{_CONTRACTION}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}{{1,3}}"
            r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|"
            + "|".join(rf"\s{{{2**n}}}(?!\S)" for n in range(9, 1, -1))
            + r"|\s{1,2}(?!\S)|\s{1}",
        ),
    ),
}

SAME: dict[str, str] = {
    **dict.fromkeys(
        (
            *("a.x-4.0", "exaone4", "gigachat", "granite-docling", "jais", "jina-de", "jina-es"),
            *("jina-v1-en", "jina-v2-code", "jina-v2-de", "jina-v2-es", "mellum", "modern-bert"),
            *("mpt", "olmo", "phi-2", "roberta-bpe", "trillion"),
        ),
        "gpt-2",
    ),
    **dict.fromkeys(
        ("codeshell", "command-r", "exaone", "mellum2", "minerva-7b", "refact", "starcoder"),
        "smollm",
    ),
    **dict.fromkeys(
        (
            *("falcon-h1", "falcon3", "glm4", "glm5", "jina-v5-nano", "lfm2", "llama-v3", "llama3"),
            *("midm-2.0", "pixtral"),
        ),
        "llama-bpe",
    ),
    **dict.fromkeys(("chatglm-bpe", "smaug-bpe"), "dbrx"),
    **dict.fromkeys(
        (
            *("deepseek-r1-qwen", "f2llmv2", "grok-2", "hunyuan", "kormo", "megrez", "solar-open"),
            "stablelm2",
        ),
        "qwen2",
    ),
    **dict.fromkeys(("kanana2", "llama4", "minimax-m2", "talkie"), "gpt-4o"),
    **dict.fromkeys(("hunyuan-dense", "hy_v4", "joyai-llm"), "deepseek-v3"),
    **dict.fromkeys(("bailingmoe2", "llada-moe"), "bailingmoe"),
}
"""Names that split text as another does, by that other."""

NAMES = frozenset(
    (
        *(*SPLITTINGS, *SAME, "afmoe", "bloom", "chameleon", "cohere2moe", "falcon"),
        "gpt3-finnish",
        *("granite-embed-multi-97m", "kimi-k2", "laguna", "poro-chat", "spark2_5", "superbpe"),
        *("tiny_aya", "viking", "youtu"),
    )
)
"""All names that llama.cpp knows for byte-level tokenizers, but for `default`, which is none."""
