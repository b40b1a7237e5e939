"""The task `reference`: what transformers makes of the same tokens."""

from collections.abc import Callable, Mapping
from importlib.util import find_spec
from typing import Any

import numpy as np

from hubserve_exporters.errors import ExportError
from hubserve_exporters.state_dict import load_gguf_state_dict

_MOST_SCORES = 2**32
"""Bytes of a layer's attention scores. Beyond it they are not all computed at once, which costs
the models that bend them (gemma 2) their exactness."""


def run(arguments: Mapping[str, Any], report: Callable[[float], None]) -> dict[str, Any]:
    """Writes the logits at the positions `keep` to `logits`, as the task `evaluating` does.

    The model is the checkpoint in `folder`, in 32 bits. Where `weights` names a GGUF file, its
    numbers take the place of the checkpoint's: what a quantized file is measured by. No code of the
    checkpoint is run. Raises ExportError.
    """
    if find_spec("torch") is None or find_spec("transformers") is None:
        raise ExportError(
            "--check full compares with transformers, which is not installed: install"
            " 'hubserve[transformers]', or use --check fast."
        )
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    folder, tokens = arguments["folder"], arguments["tokens"]
    torch.set_grad_enabled(False)
    given: dict[str, Any] = {
        "dtype": torch.float32,
        "trust_remote_code": False,
        "local_files_only": True,
    }
    try:
        config = AutoConfig.from_pretrained(folder, trust_remote_code=False, local_files_only=True)
        text = config.get_text_config()
        scores = 4 * text.num_attention_heads * len(tokens) ** 2
        given["attn_implementation"] = "eager" if scores < _MOST_SCORES else "sdpa"
        if arguments["weights"] is None:
            model = AutoModelForCausalLM.from_pretrained(folder, use_safetensors=True, **given)
        else:
            with torch.device("meta"):
                class_: Any = type(AutoModelForCausalLM.from_config(config))
            state = _state(arguments["weights"])
            model = class_.from_pretrained(None, config=config, state_dict=state, **given)
    except (OSError, ValueError, ImportError, AttributeError) as error:
        raise ExportError(
            f"transformers does not load the checkpoint ({str(error).strip().splitlines()[0]});"
            " use --check fast to export it without comparing."
        ) from error
    report(0.5)
    keep = torch.tensor(arguments["keep"])
    output = model.eval()(torch.tensor([tokens]), logits_to_keep=keep, use_cache=False)
    np.save(arguments["logits"], output.logits[0].float().numpy())
    return {}


def _state(path: str) -> dict[str, Any]:
    """The numbers of a file by the checkpoint's names, in 32 bits."""
    import torch

    return {
        name: torch.from_numpy(np.array(values, np.float32))
        for name, values in load_gguf_state_dict(path).items()
    }
