"""PyTorch models through transformers, behind the protocol of `backends.base`."""

from hubserve_engine.backends.transformers.backend import TransformersBackend

__all__ = ["TransformersBackend"]
