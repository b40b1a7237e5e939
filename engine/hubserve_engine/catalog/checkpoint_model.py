"""What a checkpoint says of itself, for an engine that loads it as it is.

Keys: the configurations of transformers 5.22.2.
"""

from collections import Counter
from dataclasses import replace
from math import isfinite, prod
from typing import Any

from hubserve_engine.catalog.gguf_state import StateSize
from hubserve_engine.catalog.raw_checkpoint import CONFIG, RawCheckpoint
from hubserve_engine.catalog.resolve import ResolvedModel
from hubserve_engine.errors import ResolveError
from hubserve_engine.types import Sampling
from hubserve_exporters.checkpoint import Checkpoint, open_checkpoint
from hubserve_exporters.config import Config
from hubserve_exporters.errors import ExportError

_SINGLE = 4
_RECURRENT = ("linear_attention", "conv", "mamba", "recurrent")
_SAMPLING_NUMBERS = {
    "temperature": "temperature",
    "top_p": "top_p",
    "min_p": "min_p",
    "typical_p": "typical_p",
    "repetition_penalty": "repeat_penalty",
}


def read_checkpoint(raw: RawCheckpoint) -> ResolvedModel:
    """The checkpoint as a model of its own; `files` are config.json, and then the weights.

    Raises ResolveError where it is damaged, or its weights are quantized or pickles.
    """
    try:
        checkpoint = open_checkpoint(raw.folder)
        tensors = checkpoint.tensors
        config = checkpoint.config
        bits = Counter[str]()
        for tensor in tensors.values():
            bits[tensor.dtype] += tensor.size
        layers = config.integer("num_hidden_layers", 0)
        return ResolvedModel(
            id=raw.id,
            aliases=raw.aliases,
            files=(raw.folder / CONFIG, *sorted({tensor.path for tensor in tensors.values()})),
            format="checkpoint",
            notices=raw.notices,
            architecture=config.text("model_type", "unknown"),
            name=None,
            quantization=bits.most_common(1)[0][0] if bits else "none",
            size=sum(tensor.size for tensor in tensors.values()),
            parameters=sum(prod(tensor.shape) for tensor in tensors.values()),
            vocabulary=config.integer("vocab_size", 0),
            embedding_length=config.integer("hidden_size", 0),
            context_trained=config.integer("max_position_embeddings", 0),
            layers=layers,
            state=_state_size(config, layers),
            chat_template=None,
            sampling=_sampling(checkpoint),
        )
    except ExportError as error:
        raise ResolveError(f"{raw.id!r} cannot be served: {error}", param="model") from error
    except OSError as error:
        raise ResolveError(
            f"{error.filename or raw.folder} cannot be read: {error.strerror}.", param="model"
        ) from error


def _state_size(config: Config, layers: int) -> StateSize:
    """As transformers keeps it: keys and values of every token, but in recurrent layers."""
    heads = config.integer("num_attention_heads", 0)
    kv_heads = config.integer("num_key_value_heads", heads)
    head = config.integer("head_dim", config.integer("hidden_size", 0) // max(heads, 1))
    keys = values = kv_heads * head
    if "kv_lora_rank" in config:  # which is unpacked before it is kept
        nope, rope = config.integer("qk_nope_head_dim", 0), config.integer("qk_rope_head_dim", 0)
        keys, values = heads * (nope + rope), heads * config.integer("v_head_dim", head)
    kinds = config.texts("layer_types", ())
    recurrent = sum(kind.startswith(_RECURRENT) for kind in kinds[:layers])
    kept = max(layers - recurrent - config.integer("num_kv_shared_layers", 0), 0)
    return StateSize(
        keys=keys * kept,
        values=values * kept,
        per_sequence=recurrent * _recurrent_state(config),
        heads=heads,
        windowed="sliding_attention" in kinds,
    )


def _recurrent_state(config: Config) -> int:
    """Bytes of one recurrent layer's state of one sequence, in 32 bits."""
    if "linear_num_value_heads" not in config:  # a short convolution, as LFM2 has it
        return config.integer("hidden_size", 0) * config.integer("conv_L_cache", 0) * _SINGLE
    keys = config.integer("linear_num_key_heads") * config.integer("linear_key_head_dim")
    values = config.integer("linear_num_value_heads") * config.integer("linear_value_head_dim")
    past = (2 * keys + values) * config.integer("linear_conv_kernel_dim", 4)
    return (past + values * config.integer("linear_key_head_dim")) * _SINGLE


def _sampling(checkpoint: Checkpoint) -> Sampling:
    """What generation_config.json recommends, over the usual settings."""
    found = checkpoint.json("generation_config.json") or {}
    values: dict[str, Any] = {}
    if found.get("do_sample") is False:
        return Sampling()
    for key, field in _SAMPLING_NUMBERS.items():
        value = found.get(key)
        if isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value):
            values[field] = float(value)
    if type(found.get("top_k")) is int:
        values["top_k"] = found["top_k"]
    return replace(Sampling(), **values)
