"""What a worker is told to load, and what is known of the model once it has."""

import time

from hubserve_engine.backends.base import BackendConfig
from hubserve_engine.catalog import ResolvedModel
from hubserve_engine.config import EngineConfig, ModelConfig
from hubserve_engine.disk_cache import Settled
from hubserve_engine.errors import StartError
from hubserve_engine.model_info import ModelInfo
from hubserve_engine.select import Choice, shrunk
from hubserve_engine.surrogates import mended
from hubserve_engine.worker.protocol import Load, Ready


def order(config: EngineConfig, model: ResolvedModel, choice: Choice, disk: Settled) -> Load:
    """What a worker is told. Raises StartError."""
    asked = config.model
    for file in map(str, model.files):
        if file != mended(file):
            raise StartError(f"The name of the file {file!r} is not UTF-8; rename it.")
    template = None
    if asked.chat_template is not None:
        try:
            template = asked.chat_template.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise StartError(
                f"The chat template {str(asked.chat_template)!r} cannot be read: {error}."
            ) from error
    return Load(
        backend=choice.engine,
        config=BackendConfig(
            files=tuple(str(file) for file in model.files),
            context_length=choice.context_length,
            parallel=choice.parallel,
            spare=choice.spare,
            drafts=choice.drafts,
            snapshots=choice.snapshots,
            running=choice.running,
        ),
        sampling=model.sampling,
        chat_template=template,
        reasoning=asked.reasoning,
        reasoning_budget=asked.reasoning_budget,
        reasoning_format=asked.reasoning_format,
        max_gap=asked.max_gap,
        kept=choice.kept,
        memory=config.cache_memory,
        disk=disk.cache,
    )


def loaded_model(
    config: ModelConfig, model: ResolvedModel, choice: Choice, disk: Settled, ready: Ready
) -> ModelInfo:
    """What came of it, with the notices of all who had one."""
    loaded = ready.loaded
    if ready.context_length < choice.context_length:
        choice = shrunk(model, choice, ready.context_length)
    notices = (*model.notices, *choice.notices, *disk.notices, *ready.notices)
    if config.reasoning != "auto" and ready.thinking_switch is None:
        notices += (
            f"The chat template has no switch for thinking, so --reasoning {config.reasoning}"
            " changes nothing.",
        )
    return ModelInfo(
        id=model.id,
        aliases=tuple(dict.fromkeys((*config.aliases, *model.aliases))),
        architecture=model.architecture,
        name=model.name,
        quantization=model.quantization,
        size=model.size,
        parameters=model.parameters or loaded.parameters,
        vocabulary=loaded.vocabulary,
        embedding_length=loaded.embedding_length,
        context_length=ready.context_length,
        context_trained=loaded.context_trained,
        context_limit=choice.context_limit,
        parallel=choice.parallel,
        engine=choice.engine,
        engine_reason=choice.engine_reason,
        hardware=loaded.hardware,
        draft_max=ready.draft_max,
        running=choice.running,
        memory=choice.memory,
        path=str(model.files[0]),
        chat_template=ready.chat_template,
        bos=loaded.bos,
        eos=loaded.eos,
        sampling=model.sampling,
        thinking_tags=ready.thinking_tags,
        thinking_switch=ready.thinking_switch,
        tool_format=ready.tool_format,
        disk=disk.use,
        notices=notices,
        created=int(time.time()),
    )
