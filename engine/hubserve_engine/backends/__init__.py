"""The backends by name, each imported only when it is used."""

from collections.abc import Callable

from hubserve_engine.backends.base import Backend, BackendConfig, Progress


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


def load(name: str, config: BackendConfig, progress: Progress) -> Backend:
    """Load a model with the backend `name`. Raises LoadError."""
    return find(name)(config, progress)
