"""White space beside special tokens, which llama.cpp swallows for Phi-3 alone.

It looks for `phi-3` or `phi3` in the model's name, and then drops white space behind all special
tokens but three (the end of `llama_vocab::impl::load`, llama-cpp-python 0.3.36). So the name of a
file says how text is read; and with such a name it does not load without those tokens.
"""

import re
from collections.abc import Iterable

from .added_tokens import AddedToken

_NAME = re.compile(r"(phi)-?3", re.IGNORECASE)
_KEEP = frozenset(("<unk>", "<s>", "<|endoftext|>"))
_NEEDED = _KEEP | {"</s>"}


def strips_space(added: Iterable[AddedToken]) -> bool:
    """Whether the tokenizer wants just what llama.cpp does for Phi-3."""
    tokens = {token.text: token for token in added}
    return tokens.keys() >= _NEEDED and all(
        token.rstrip == (text not in _KEEP) and not token.lstrip and not token.single_word
        for text, token in tokens.items()
    )


def fitting_name(name: str, *, strips: bool) -> str:
    """A model's name which makes llama.cpp treat white space as its tokenizer does."""
    if not strips:
        return _NAME.sub(r"\1 3", name)
    return name if _NAME.search(name) else f"{name} (Phi-3)"
