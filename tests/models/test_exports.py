"""Real weights: a checkpoint and the file that is made of it write the same.

The checkpoints are made of GGUF files by transformers. What they are compared by is teacher-forced:
where the likeliest token after each token of a text is the one that comes, it would be written.
"""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from operator import eq
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.support.fetched import real_model
from tests.support.llama_logits import llama_logits

from hubserve_exporters import GGUFExportConfig, export_gguf, load_gguf_state_dict
from hubserve_exporters.gguf.reader import open_gguf

pytestmark = pytest.mark.model

PROMPT = "The lighthouse stood at the end of the harbour, and every evening"
WRITTEN = 64
READ = 1024
"""Tokens that are read at once. Logits of 1024 take a gigabyte with the largest vocabulary."""
LICENSE = Path(__file__).parents[2] / "LICENSE"

Logits = NDArray[np.float32]


@dataclass(frozen=True)
class Real:
    """A checkpoint; what transformers writes after the prompt, of `start` tokens, in 32 bits; and
    what it makes of the tokens of a text, which is read in parts."""

    folder: Path
    start: int
    written: list[int]
    text: list[list[int]]
    logits: list[Logits]

    def export(self, dtype: str) -> tuple[Logits, list[Logits]]:
        """llama.cpp's logits of what was written, and of the text."""
        file = self.folder.parent / f"{dtype}.gguf"
        export_gguf(self.folder, GGUFExportConfig(file, dtype=dtype))
        jobs = [(file, tokens, READ) for tokens in (self.written, *self.text)]
        written, *text = llama_logits(jobs)
        return written, text

    def numbers(self, dtype: str) -> list[Logits]:
        """transformers' logits of the text, with the numbers of an exported file as weights."""
        import torch
        from transformers import AutoModelForCausalLM

        model = AutoModelForCausalLM.from_pretrained(self.folder, dtype=torch.float32)
        weights = load_gguf_state_dict(self.folder.parent / f"{dtype}.gguf")
        # In place of its own, not beside them: of 1.5 billion each copy is 6 GB.
        tensors = {name: torch.tensor(weights.pop(name)) for name in list(weights)}
        assert not model.load_state_dict(tensors, strict=False, assign=True).unexpected_keys
        model.tie_weights()
        return _logits(model, self.text)

    def likeliest(self, written: Logits) -> list[int]:
        """The token that these logits would write, at each place after the prompt."""
        found: list[int] = written.argmax(1)[self.start - 1 : -1].tolist()
        return found

    def agreement(self, logits: list[Logits]) -> float:
        """The share of the text's places where the likeliest next token is the same."""
        pairs = zip(logits, self.logits, strict=True)
        same = [one.argmax(1) == other.argmax(1) for one, other in pairs]
        return float(np.mean(np.concatenate(same)))

    def perplexity(self, logits: list[Logits]) -> float:
        """Of the text. 1 is certainty."""
        parts = [_surprise(*each) for each in zip(logits, self.text, strict=True)]
        return float(np.exp(np.mean(np.concatenate(parts))))


def _surprise(logits: Logits, tokens: list[int]) -> NDArray[np.float64]:
    """Of each token but the first, in nats. Row by row: the whole in 64 bits may be gigabytes."""
    found = np.empty(len(tokens) - 1)
    for place, token in enumerate(tokens[1:]):
        row = logits[place].astype(np.float64)
        row -= row.max()
        found[place] = np.log(np.exp(row).sum()) - row[token]
    return found


def _logits(model: Any, text: list[list[int]]) -> list[Logits]:
    import torch

    with torch.no_grad():
        return [model(torch.tensor([part])).logits[0].numpy() for part in text]


def make(name: str, folder: Path) -> Real:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

    source = real_model(name)
    where = {"pretrained_model_name_or_path": source.parent, "gguf_file": source.name}
    packed = AutoModelForCausalLM.from_pretrained(
        **where, dtype=torch.bfloat16, quantization_config=GgufConfig(dequantize=True)
    )
    packed.save_pretrained(folder)
    del packed
    tokenizer = AutoTokenizer.from_pretrained(**where)
    tokenizer.save_pretrained(folder)
    # Not packed.float(): that keeps constants as 16 bits round them, such as gemma's scale of
    # embeddings, 25.25 in the place of 25.298.
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    with open_gguf(source) as file:
        begins = file.metadata.flag("tokenizer.ggml.add_bos_token")
    # What transformers makes of the file's tokenizer puts no BOS token first, without which gemma
    # is not itself.
    start = [tokenizer.bos_token_id] if begins else []
    prompt = [*start, *tokenizer(PROMPT)["input_ids"]]
    read = tokenizer(LICENSE.read_text())["input_ids"]
    size = READ - len(start)
    text = [[*start, *read[place : place + size]] for place in range(0, len(read), size)]
    with torch.no_grad():
        written = model.generate(
            torch.tensor([prompt]),
            max_new_tokens=WRITTEN,
            min_new_tokens=WRITTEN,
            do_sample=False,
            pad_token_id=0,
        )
    return Real(folder, len(prompt), written[0].tolist(), text, _logits(model, text))


@pytest.fixture(scope="module")
def smollm2(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Real]:
    yield make("smollm2", tmp_path_factory.mktemp("smollm2") / "checkpoint")


def test_in_32_bits_the_same_tokens_are_written(smollm2: Real) -> None:
    written, _ = smollm2.export("f32")
    assert smollm2.likeliest(written) == smollm2.written[smollm2.start :]


def test_in_16_bits_nearly_all_next_tokens_are_the_same(smollm2: Real) -> None:
    _, text = smollm2.export("bf16")
    assert smollm2.agreement(text) >= 0.99


@pytest.fixture
def real(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Real]:
    """One that is named; its files, gigabytes, go away."""
    yield make(request.param, tmp_path / "checkpoint")
    shutil.rmtree(tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("real", ["smollm2", "gemma3", "qwen2.5-coder"], indirect=True)
def test_a_text_is_as_likely_as_before(
    real: Real, request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]
) -> None:
    before = real.perplexity(real.logits)
    changes, same = dict[str, float](), dict[str, float]()

    def look(what: str, text: list[Logits]) -> None:
        changes[what] = real.perplexity(text) / before - 1
        same[what] = real.agreement(text)

    written, text = real.export("f32")
    look("f32", text)
    del text  # gigabytes
    for dtype in ("bf16", "q8_0", "q4_k_m"):
        look(dtype, real.export(dtype)[1])
    # llama.cpp rounds what is multiplied by 8 bits to 8 bits, too, which is not the file's doing.
    look("q8_0, the weights alone", real.numbers("q8_0"))
    likeliest, expected = real.likeliest(written), real.written[real.start :]
    count = sum(map(len, real.text))
    with capsys.disabled():
        print(f"\n{request.node.callspec.id}, perplexity {before:.3f} of {count} tokens:")
        print(f"  f32 writes {sum(map(eq, likeliest, expected))} of {WRITTEN} tokens the same")
        for what, change in changes.items():
            print(f"  {what}: perplexity {change:+.3%}, next tokens {same[what]:.1%} the same")
    assert likeliest == expected
    assert same["bf16"] >= 0.99
    assert abs(changes["f32"]) < 0.0001
    assert abs(changes["bf16"]) < 0.001
    assert abs(changes["q8_0, the weights alone"]) < 0.005
    assert abs(changes["q8_0"]) < 0.005
