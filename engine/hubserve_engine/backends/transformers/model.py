"""A model of transformers on a device: loading it, and a forward pass over one sequence's tokens.

Facts of transformers: version 5.22.2.
"""

import inspect
import os
from collections.abc import Sequence
from contextlib import redirect_stderr
from io import StringIO
from pathlib import Path
from typing import Any

import torch
import transformers
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoTokenizer,
    Cache,
    GenerationConfig,
    PreTrainedConfig,
    PreTrainedTokenizerBase,
)
from transformers.utils import logging

from hubserve_engine.backends.transformers.vocabulary import Vocabulary
from hubserve_engine.errors import LoadError

CONFIG = "config.json"
"""The file that is named for a checkpoint's folder."""
_ENDS = (
    *("<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<end_of_turn>", "<turn|>", "<|end|>"),
    *("<|endoftext|>", "<|end_of_text|>"),
)
"""Ends of turns and of texts, for GGUF files, which name but one of them."""


class Model:
    """Weights and vocabulary. `size` is how many tokens there are that are both in the vocabulary
    and in the output matrix, which often is the larger of the two."""

    def __init__(self, file: Path) -> None:
        logging.set_verbosity_error()
        logging.disable_progress_bar()
        raw = file.name == CONFIG
        self._name = file.parent.name if raw else file.name
        self.device = _device()
        self.dtype = torch.float32 if self.device.type == "cpu" else torch.bfloat16
        place = os.fspath(file.parent)
        # Only files that are there, and no code of theirs.
        how: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
        if not raw:
            how["gguf_file"] = file.name
        try:
            # Their bars and warnings are not for the server's terminal.
            with redirect_stderr(StringIO()):
                config = AutoConfig.from_pretrained(place, **how)
                tokenizer = AutoTokenizer.from_pretrained(place, **how)
                self._model = self._load_weights(config, place, how)
        except LoadError:
            raise
        except Exception as error:
            # What its loaders raise has no common base, and comes from many libraries.
            raise LoadError(self._explain(error)) from error
        if not isinstance(tokenizer, PreTrainedTokenizerBase) or not tokenizer.is_fast:
            raise LoadError(f"{self._name!r} has no tokenizer.json, which is needed to read text.")
        self._eager_rows = "logits_to_keep" not in inspect.signature(self._model.forward).parameters
        self.vocabulary = Vocabulary(tokenizer)
        self.config: PreTrainedConfig = config.get_text_config(decoder=True)
        self.size = min(self.vocabulary.size, int(self.config.vocab_size))
        self.end_tokens = self._end_tokens(told=raw)

    def _load_weights(self, config: PreTrainedConfig, place: str, how: dict[str, Any]) -> Any:
        if "gguf_file" in how:
            how = how | {"quantization_config": transformers.GgufConfig(dequantize=True)}
        # Nothing is given for a device that `accelerate` would have to move weights to later.
        on_device = {} if self.device.type == "cpu" else {"device_map": {"": self.device}}
        loaded: Any = AutoModelForCausalLM.from_pretrained(
            place,
            config=config,
            dtype=self.dtype,
            use_safetensors=True,
            output_loading_info=True,
            **how,
            **on_device,
        )
        model, told = loaded
        if lacking := sorted(told["missing_keys"]):
            raise LoadError(
                f"{self._name!r} lacks {len(lacking)} of the tensors of {type(model).__name__},"
                f" such as {lacking[0]!r}: download it again, or choose another model."
            )
        return model.eval()

    def _explain(self, error: Exception) -> str:
        said = str(error).strip()
        reason = said.splitlines()[0] if said else type(error).__name__
        if "trust_remote_code" in said:
            reason = "it needs code of its own, which is not run here"
        return f"transformers cannot load {self._name!r}: {reason.rstrip('.')}."

    def _end_tokens(self, *, told: bool) -> frozenset[int]:
        found: set[int] = set()
        generation: GenerationConfig | None = self._model.generation_config
        for ids in (generation and generation.eos_token_id, self.config.eos_token_id):
            found.update([ids] if isinstance(ids, int) else ids or ())
        texts = (self.vocabulary.eos, *(() if told else _ENDS))
        found.update(t for t in map(self.vocabulary.token, texts) if t is not None)
        return frozenset(token for token in found if 0 <= token < self.size)

    @property
    def architecture(self) -> str:
        return str(self.config.model_type)

    @property
    def parameters(self) -> int:
        return sum(each.numel() for each in self._model.parameters())

    def forward(self, tokens: Sequence[int], cache: Cache, rows: int) -> torch.Tensor:
        """Append tokens to what the cache holds; logits after the last `rows` of them, shape
        (rows, size), in 32 bits, which may still be computed."""
        ids = torch.tensor([list(tokens)], device=self.device)
        keep = {} if self._eager_rows else {"logits_to_keep": rows}
        with torch.no_grad():
            result = self._model(input_ids=ids, past_key_values=cache, use_cache=True, **keep)
        logits: torch.Tensor = result.logits
        return logits[0, -rows:, : self.size].float()

    def close(self) -> None:
        self._model = None


def _device() -> torch.device:
    if torch.cuda.is_available():
        return torch.device("cuda")
    return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
