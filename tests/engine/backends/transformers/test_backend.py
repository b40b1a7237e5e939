"""What is transformers' own: the same text as its `generate`, and what it loads or refuses."""

import json
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from tests.support.backend_fixtures import TEXT
from tests.support.backends import (
    FIXTURES,
    GREEDY,
    LLAMA,
    TORCH,
    load,
    read,
    sample,
    tokens_of,
    write,
)
from tests.support.checkpoints import checkpoint, make
from transformers import AutoModelForCausalLM

from hubserve_engine import backends
from hubserve_engine.backends.base import Backend, BackendConfig
from hubserve_engine.errors import LoadError

COUNT = 24


def load_folder(folder: Path) -> Backend:
    config = BackendConfig(files=(str(folder / "config.json"),), context_length=256, parallel=1)
    return backends.load("transformers", config, lambda _done: None)


@pytest.mark.parametrize("name", [*TORCH, "qwen2", "gemma2", "mixtral"])
def test_the_text_is_that_of_generate(name: str, tmp_path: Path) -> None:
    """Also where the windows are full, and where the prompt was read in parts."""
    folder = checkpoint(name)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    backend = load_folder(folder)
    prompt = tokens_of(backend, TEXT)
    with torch.no_grad():
        written = model.generate(
            torch.tensor([prompt]), max_new_tokens=COUNT, do_sample=False, eos_token_id=None
        )
    expected = written[0, len(prompt) :].tolist()
    assert write(backend, 0, prompt, COUNT) == expected
    backend.remove(0)
    assert write(backend, 0, prompt, COUNT, chunk=9) == expected
    backend.close()


@pytest.mark.parametrize("name", TORCH)
def test_a_mark_is_a_way_back(name: str, tmp_path: Path) -> None:
    """Also for a state that has no past, and for its copies."""
    backend = load(name, tmp_path)
    prompt = tokens_of(backend, TEXT)
    expected = write(backend, 1, prompt, 8)
    read(backend, 0, prompt[:20])
    assert backend.mark(0)
    read(backend, 0, prompt[20:30], 20)
    assert backend.fork(0, 2)
    read(backend, 0, prompt, 30)
    for slot in (0, 2):
        assert backend.truncate(slot, 20)
        assert write(backend, slot, prompt, 8, known=20) == expected
    assert not backend.mark(3)
    backend.close()


def test_wrong_guesses_cost_a_hybrid_nothing_but_time(tmp_path: Path) -> None:
    """What remains of a step that was taken back is read again, once."""
    backend = load("qwen3_5_text", tmp_path)
    prompt = tokens_of(backend, TEXT)
    expected = write(backend, 1, prompt, 12)
    read(backend, 0, prompt)
    for count in range(0, 9, 3):
        known = len(prompt) + count
        read(backend, 0, [*expected[count : count + 3], 1, 2, 3], known)
        assert backend.truncate(0, known + 3)
        assert backend.state_size(0) > 0
    assert write(backend, 0, [*prompt, *expected[:10]], 2, known=len(prompt) + 9) == expected[10:]
    backend.close()


def test_what_is_missing_is_not_made_up(tmp_path: Path) -> None:
    folder = shutil.copytree(checkpoint("llama"), tmp_path / "model")
    tensors = load_file(folder / "model.safetensors")
    del tensors["model.norm.weight"]
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})
    with pytest.raises(LoadError, match=r"'model' lacks 1 of the tensors .* 'model.norm.weight'"):
        load_folder(folder)


def test_code_of_a_checkpoint_is_not_run(tmp_path: Path) -> None:
    folder = shutil.copytree(checkpoint("llama"), tmp_path / "model")
    config = json.loads((folder / "config.json").read_text())
    config["model_type"] = "its own"
    config["auto_map"] = {"AutoConfig": "code.Config", "AutoModelForCausalLM": "code.Model"}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "code.py").write_text("raise SystemExit('it was run')\n")
    with pytest.raises(LoadError, match="code of its own, which is not run here"):
        load_folder(folder)


def test_pickles_are_not_opened(tmp_path: Path) -> None:
    folder = shutil.copytree(checkpoint("llama"), tmp_path / "model")
    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    with pytest.raises(LoadError, match="safetensors"):
        load_folder(folder)


def test_an_architecture_that_nobody_knows_is_named(tmp_path: Path) -> None:
    folder = shutil.copytree(checkpoint("llama"), tmp_path / "model")
    (folder / "config.json").write_text(json.dumps({"model_type": "flux9"}))
    with pytest.raises(LoadError, match="flux9"):
        load_folder(folder)


def test_ends_are_those_of_the_generation_config(tmp_path: Path) -> None:
    backend = load_folder(checkpoint("llama"))
    ends = {piece for t in backend.end_tokens for piece in [backend.piece(t, special=True)]}
    assert ends == {b"<|im_end|>", b"<|endoftext|>"}
    backend.close()


def test_a_padded_vocabulary_has_no_tokens_that_are_no_text(tmp_path: Path) -> None:
    backend = load_folder(make(tmp_path, "llama", vocab_size=320))
    assert backend.loaded.vocabulary == 279
    assert all(backend.piece(token, special=True) for token in range(279))
    backend.close()


def probabilities(backend: Backend, prompt: list[int]) -> tuple[int, list[float]]:
    """The likeliest token, and how likely it and the next ones are; slot 0 is empty again."""
    sampled = sample(backend, 0, prompt, 0, backend.sampler(GREEDY, prompt), logprobs=5)
    backend.remove(0)
    assert sampled.logprob is not None
    return sampled.token, [each.logprob for each in sampled.logprob.top]


@pytest.mark.parametrize("name", LLAMA)
def test_a_gguf_file_gives_what_llama_cpp_gives(
    name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    config = BackendConfig(files=(str(FIXTURES / f"{name}.gguf"),), context_length=256, parallel=1)
    backend = backends.load("transformers", config, lambda _done: None)
    assert capfd.readouterr().err == ""
    peer = load(name, tmp_path)
    prompt = tokens_of(backend, TEXT + "<|im_end|>")
    assert prompt == tokens_of(peer, TEXT + "<|im_end|>")
    assert backend.end_tokens == peer.end_tokens
    assert backend.loaded.chat_template == peer.loaded.chat_template
    for length in range(8, len(prompt)):
        ours, theirs = (probabilities(each, prompt[:length]) for each in (backend, peer))
        assert ours[1] == pytest.approx(theirs[1], abs=0.05)
        assert ours[0] == theirs[0] or theirs[1][0] - theirs[1][1] < 0.05
    for each in (backend, peer):
        each.close()
