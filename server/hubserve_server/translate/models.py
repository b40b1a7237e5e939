"""What is known of the served model, as clients look for it."""

from dataclasses import asdict

from hubserve_engine.model_info import ModelInfo
from hubserve_server.translate.heading import fingerprint
from hubserve_server.wire.models import (
    Architecture,
    GenerationSettings,
    Modalities,
    Model,
    ModelMeta,
    ModelStatus,
    Props,
    Running,
)


def model(info: ModelInfo) -> Model:
    return Model(
        id=info.id,
        created=info.created,
        aliases=list(info.aliases),
        meta=ModelMeta(
            n_ctx=info.context_length,
            n_ctx_train=info.context_trained,
            n_vocab=info.vocabulary,
            n_embd=info.embedding_length,
            n_params=info.parameters,
            size=info.size,
        ),
        architecture=Architecture(
            name=info.architecture, input_modalities=["text"], output_modalities=["text"]
        ),
        status=ModelStatus("loaded"),
        quantization=info.quantization,
    )


def props(info: ModelInfo) -> Props:
    sampling = asdict(info.sampling)
    sampling["logit_bias"] = []
    sampling["seed"] = -1 if info.sampling.seed is None else info.sampling.seed
    sampling["speculative.n_max"] = info.draft_max
    return Props(
        default_generation_settings=GenerationSettings(
            params=sampling, n_ctx=info.context_length, speculative=info.draft_max > 0
        ),
        total_slots=info.parallel,
        model_alias=info.id,
        model_ftype=info.quantization,
        model_path=info.path,
        modalities=Modalities(),
        chat_template=info.chat_template,
        tool_format=info.tool_format,
        bos_token=info.bos,
        eos_token=info.eos,
        build_info=fingerprint(),
        running=Running(
            threads=info.running.threads,
            gpu_layers=info.running.gpu_layers,
            flash_attn=info.running.flash_attention,
            cache_type_k=info.running.cache_type_k,
            cache_type_v=info.running.cache_type_v,
            batch_size=info.running.batch,
            ubatch_size=info.running.micro_batch,
        ),
    )
