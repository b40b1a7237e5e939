"""The backends by name, each imported only when it is used."""

from collections.abc import Callable

from hubserve_engine.backends.base import Backend, BackendConfig, Progress
from hubserve_engine.errors import LoadError
from hubserve_engine.types import EngineName


def find(name: str) -> Callable[[BackendConfig, Progress], Backend]:
    """What loads a model with the backend `name`. To import it takes a while the first time."""
    if name == "scripted":
        from hubserve_engine.backends.scripted import ScriptedBackend

        return ScriptedBackend
    if name == "transformers":
        from hubserve_engine.backends.transformers import TransformersBackend

        return TransformersBackend
    from hubserve_engine.backends.llama_cpp import LlamaCppBackend

    return LlamaCppBackend


def load(name: EngineName, config: BackendConfig, progress: Progress) -> Backend:
    """Load a model with the backend `name`. Raises LoadError."""
    try:
        found = find(name)
    except ImportError as error:
        raise LoadError(
            f"The engine {name!r} is not installed as it should be: {error}."
        ) from error
    return found(config, progress)
