"""The backends by name, each imported only when it is used."""

from hubserve_engine.backends.base import Backend, BackendConfig, Progress


def load(name: str, config: BackendConfig, progress: Progress) -> Backend:
    """Load a model with the backend `name`. Raises LoadError."""
    if name == "scripted":
        from hubserve_engine.backends.scripted import ScriptedBackend

        return ScriptedBackend(config)
    from hubserve_engine.backends.llama_cpp import LlamaCppBackend

    return LlamaCppBackend(config, progress)
