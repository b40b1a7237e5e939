"""A model's name -> its files and what they say, on this machine or through the Hub's cache."""

from hubserve_engine.catalog.raw_checkpoint import RawCheckpoint
from hubserve_engine.catalog.resolve import Catalog, ResolvedModel

__all__ = ["Catalog", "RawCheckpoint", "ResolvedModel"]
