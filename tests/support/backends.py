"""Small backends to test with, and a few steps over them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.support.checkpoints import checkpoint
from tests.support.process import script

from hubserve_engine import backends
from hubserve_engine.backends.base import Backend, BackendConfig, Chunk, Sampled
from hubserve_engine.choosing import Sampler
from hubserve_engine.model_info import Running
from hubserve_engine.types import EngineName, Sampling

FIXTURES = Path(__file__).parents[1] / "fixtures"
LLAMA = ("tiny-llama", "tiny-qwen35")
SCRIPTED: dict[str, dict[str, Any]] = {
    "scripted": {},
    "scripted-recurrent": {"recurrent": True},
    "scripted-window": {"window": 16},
}
TORCH = ("llama", "gemma3_text", "qwen3_5_text")
NAMES = (*SCRIPTED, *LLAMA, *TORCH)
GREEDY = Sampling(temperature=0.0)
RULES: list[dict[str, Any]] = [
    {"when": "for ever", "letters": 30, "then": "repeat"},
    {"letters": 200},
]


def load(
    name: str,
    folder: Path,
    *,
    context: int = 1024,
    slots: int = 4,
    spare: int = 0,
    batch: int = 256,
    flash_attention: bool = False,
    drafts: int = 15,
    snapshots: int = 7,
    threads: int = 1,
) -> Backend:
    """One of `NAMES`; a script is written into the folder."""
    kind: EngineName
    if name in SCRIPTED:
        kind, file = "scripted", script(folder, *RULES, **SCRIPTED[name])
    elif name in TORCH:
        kind, file = "transformers", checkpoint(name) / "config.json"
    else:
        kind, file = "llama.cpp", FIXTURES / f"{name}.gguf"
    config = BackendConfig(
        files=(str(file),),
        context_length=context,
        parallel=slots,
        spare=spare,
        drafts=drafts,
        snapshots=snapshots,
        running=Running(batch=batch, flash_attention=flash_attention, threads=threads),
    )
    return backends.load(kind, config, lambda _done: None)


def tokens_of(backend: Backend, text: str) -> list[int]:
    return backend.tokenize(text, add_special=False, parse_special=True)


def read(backend: Backend, slot: int, tokens: Sequence[int], position: int = 0) -> None:
    """Append without sampling."""
    backend.launch([Chunk(slot, tokens, position)])
    assert backend.collect() == []


def sample(
    backend: Backend,
    slot: int,
    tokens: Sequence[int],
    position: int,
    sampler: Sampler,
    logprobs: int | None = None,
) -> Sampled:
    """Append, and sample after the last token."""
    backend.launch([Chunk(slot, tokens, position, sampler, logprobs)])
    ((sampled,),) = backend.collect()
    return sampled


def guess(
    backend: Backend,
    slot: int,
    tokens: Sequence[int],
    drafts: Sequence[int],
    position: int,
    sampler: Sampler,
    logprobs: int | None = None,
) -> list[Sampled]:
    """Append tokens and guesses, and sample; what was wrong is cut off again."""
    chunk = Chunk(slot, [*tokens, *drafts], position, sampler, logprobs, len(drafts))
    backend.launch([chunk])
    (sampled,) = backend.collect()
    held = position + len(tokens) + len(sampled) - 1
    assert backend.truncate(slot, held)
    return sampled


def write(
    backend: Backend,
    slot: int,
    prompt: Sequence[int],
    count: int,
    *,
    sampling: Sampling = GREEDY,
    known: int = 0,
    chunk: int = 10**6,
) -> list[int]:
    """`count` tokens after a prompt of which the slot holds the first `known`, read in chunks."""
    sampler = backend.sampler(sampling, prompt)
    while len(prompt) - known > chunk:
        read(backend, slot, prompt[known : known + chunk], known)
        known += chunk
    written = [sample(backend, slot, prompt[known:], known, sampler).token]
    while len(written) < count:
        position = len(prompt) + len(written) - 1
        written.append(sample(backend, slot, written[-1:], position, sampler).token)
    sampler.close()
    return written
