"""What catalog and select say of a model that is only a script (see `backends.scripted`)."""

from pathlib import Path

from hubserve_engine.catalog import ResolvedModel
from hubserve_engine.catalog.gguf_state import StateSize
from hubserve_engine.config import ModelConfig
from hubserve_engine.context_size import USUAL_CONTEXT
from hubserve_engine.model_info import Running
from hubserve_engine.select import DRAFTS, SPARE, Choice
from hubserve_engine.types import Sampling


def scripted(config: ModelConfig) -> tuple[ResolvedModel, Choice]:
    """The script's path is the model's name, as for a local GGUF file."""
    path = Path(config.model)
    model = ResolvedModel(
        id=path.name,
        aliases=(path.stem,),
        files=(path,),
        architecture="scripted",
        name=None,
        quantization="none",
        size=0,
        parameters=0,
        vocabulary=0,
        embedding_length=0,
        context_trained=0,
        layers=0,
        state=StateSize(keys=0, values=0, per_sequence=0, heads=0, windowed=False),
        chat_template=None,
        sampling=Sampling(),
    )
    choice = Choice(
        context_length=config.context_length or USUAL_CONTEXT,
        context_limit="--ctx-size" if config.context_length else "the script",
        parallel=config.parallel,
        spare=SPARE,
        kept=config.context_length or USUAL_CONTEXT,
        drafts=DRAFTS if config.draft_max is None else config.draft_max,
        snapshots=0,
        running=Running(
            cache_type_k=config.cache_type_k,
            cache_type_v=config.cache_type_v,
            batch=config.batch or 512,
            micro_batch=config.micro_batch or 512,
        ),
        engine="scripted",
        engine_reason="the model is a script",
        memory=0,
    )
    return model, choice
