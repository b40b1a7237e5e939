"""llama.cpp through the low-level API of llama-cpp-python: one unified KV cache, many sequences."""

from hubserve_engine.backends.llama_cpp.backend import LlamaCppBackend

__all__ = ["LlamaCppBackend"]
