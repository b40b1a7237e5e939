"""`GET /v1/models` and `GET /props`.

Shapes follow llama-server 0.5.0 (`get_res_models`, `get_res_props` in its server-context.cpp, and
the router's `status`), because clients discover models and their context length through them.
"""

import msgspec


class ModelStatus(msgspec.Struct):
    value: str


class ModelMeta(msgspec.Struct):
    """`size` is in bytes; `n_ctx` is what is served, `n_ctx_train` what the model was made for."""

    n_ctx: int
    n_ctx_train: int
    n_vocab: int
    n_embd: int
    n_params: int
    size: int


class Architecture(msgspec.Struct):
    name: str
    input_modalities: list[str]
    output_modalities: list[str]


class Model(msgspec.Struct, kw_only=True):
    id: str
    object: str = "model"
    owned_by: str = "hubserve"
    created: int
    aliases: list[str]
    meta: ModelMeta
    architecture: Architecture
    status: ModelStatus
    quantization: str


class ModelList(msgspec.Struct, kw_only=True):
    object: str = "list"
    data: list[Model]


class GenerationSettings(msgspec.Struct):
    params: dict[str, object]
    n_ctx: int
    speculative: bool


class Running(msgspec.Struct):
    """What was chosen for this machine, or asked for, under the names of the flags."""

    threads: int
    gpu_layers: int
    flash_attn: bool
    cache_type_k: str
    cache_type_v: str
    batch_size: int
    ubatch_size: int


class Modalities(msgspec.Struct):
    vision: bool = False
    video: bool = False
    audio: bool = False


class Props(msgspec.Struct):
    default_generation_settings: GenerationSettings
    total_slots: int
    model_alias: str
    model_ftype: str
    model_path: str
    modalities: Modalities
    chat_template: str
    tool_format: str
    bos_token: str
    eos_token: str
    build_info: str
    running: Running
    is_sleeping: bool = False
    models_autoload: bool = False
