"""Real weights: a checkpoint and the file that is made of it write the same.

The checkpoints are made of GGUF files by transformers. What they are compared by is teacher-forced:
where the likeliest token after each token of a text is the one that comes, it would be written.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.support.fetched import real_model
from tests.support.llama_logits import llama_logits

from hubserve_exporters import GGUFExportConfig, export_gguf

pytestmark = pytest.mark.model

PROMPT = "The lighthouse stood at the end of the harbour, and every evening"
WRITTEN = 64
READ = 512
LICENSE = Path(__file__).parents[2] / "LICENSE"

Logits = NDArray[np.float32]


@dataclass(frozen=True)
class Real:
    """A checkpoint; what transformers writes after the prompt, of `start` tokens, in 32 bits; and
    what it makes of the tokens of a text."""

    folder: Path
    start: int
    written: list[int]
    text: list[int]
    logits: Logits

    def export(self, dtype: str) -> tuple[Logits, Logits]:
        """llama.cpp's logits of what was written, and of the text."""
        file = self.folder.parent / f"{dtype}.gguf"
        export_gguf(self.folder, GGUFExportConfig(file, dtype=dtype))
        jobs = [(file, tokens, READ) for tokens in (self.written, self.text)]
        written, text = llama_logits(jobs)
        file.unlink()
        return written, text

    def likeliest(self, written: Logits) -> list[int]:
        """The token that these logits would write, at each place after the prompt."""
        found: list[int] = written.argmax(1)[self.start - 1 : -1].tolist()
        return found

    def perplexity(self, logits: Logits) -> float:
        """Of the text. 1 is certainty."""
        rows = logits[:-1].astype(np.float64)
        rows -= rows.max(1, keepdims=True)
        chosen = rows[np.arange(len(rows)), self.text[1:]]
        return float(np.exp(np.mean(np.log(np.exp(rows).sum(1)) - chosen)))


def make(name: str, folder: Path) -> Real:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

    source = real_model(name)
    where = {"pretrained_model_name_or_path": source.parent, "gguf_file": source.name}
    packed = AutoModelForCausalLM.from_pretrained(
        **where, dtype=torch.bfloat16, quantization_config=GgufConfig(dequantize=True)
    )
    packed.save_pretrained(folder)
    tokenizer = AutoTokenizer.from_pretrained(**where)
    tokenizer.save_pretrained(folder)
    model = packed.float()
    prompt = tokenizer(PROMPT)["input_ids"]
    text = tokenizer(LICENSE.read_text())["input_ids"][:READ]
    with torch.no_grad():
        written = model.generate(
            torch.tensor([prompt]),
            max_new_tokens=WRITTEN,
            min_new_tokens=WRITTEN,
            do_sample=False,
            pad_token_id=0,
        )
        logits = model(torch.tensor([text])).logits[0].numpy()
    return Real(folder, len(prompt), written[0].tolist(), text, logits)


@pytest.fixture(scope="module")
def smollm2(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Real]:
    yield make("smollm2", tmp_path_factory.mktemp("smollm2") / "checkpoint")


def test_in_32_bits_the_same_tokens_are_written(smollm2: Real) -> None:
    written, _ = smollm2.export("f32")
    assert smollm2.likeliest(written) == smollm2.written[smollm2.start :]


def test_in_16_bits_nearly_all_next_tokens_are_the_same(smollm2: Real) -> None:
    _, text = smollm2.export("bf16")
    assert np.mean(text.argmax(1) == smollm2.logits.argmax(1)) >= 0.99


@pytest.mark.long
@pytest.mark.parametrize("name", ["smollm2", "gemma3", "qwen2.5-coder"])
def test_a_text_is_as_likely_as_before(name: str, tmp_path: Path) -> None:
    real = make(name, tmp_path / "checkpoint")
    written, text = real.export("f32")
    assert real.likeliest(written) == real.written[real.start :]
    before = real.perplexity(real.logits)
    found = {"f32": real.perplexity(text) / before - 1}
    for dtype, limit in (("bf16", 0.001), ("q8_0", 0.005)):
        _, text = real.export(dtype)
        agree = np.mean(text.argmax(1) == real.logits.argmax(1))
        found[dtype] = real.perplexity(text) / before - 1
        print(f"{name} {dtype}: {agree:.1%} of next tokens, perplexity {found[dtype]:+.3%}")
        assert abs(found[dtype]) < limit
        if dtype == "bf16":
            assert agree >= 0.99
    assert abs(found["f32"]) < 1e-4
