"""What of a checkpoint does not go into the file, and what the user is told of it."""

import re
from collections.abc import Iterable

_BUFFER = re.compile(r"\.rotary_emb\.inv_freq$")
_OTHER_SENSES = re.compile(
    r"^(?:model\.)?(?:visual|vision_tower|vision_model|multi_modal_projector|embed_vision|"
    r"audio_tower|embed_audio)\."
)
MTP = "mtp."
"""How the names of layers begin that guess further tokens."""


def left_out(name: str, *, keep_mtp: bool) -> bool:
    """Whether a tensor is a buffer that can be computed, belongs to another sense than text, or
    guesses further tokens where that is not asked for."""
    if _BUFFER.search(name) or _OTHER_SENSES.search(name):
        return True
    return name.startswith(MTP) and not keep_mtp


def omissions(names: Iterable[str]) -> list[str]:
    """A sentence for each kind of tensors that are left out, but for buffers."""
    names = list(names)
    seen = sum(bool(_OTHER_SENSES.search(name)) for name in names)
    guessing = sum(name.startswith(MTP) for name in names)
    sentences = []
    if seen:
        sentences.append(
            f"{seen} tensors for images or sound are left out: the file is for text alone."
        )
    if guessing:
        sentences.append(
            f"{guessing} tensors of layers that guess further tokens (MTP) are left out."
        )
    return sentences
