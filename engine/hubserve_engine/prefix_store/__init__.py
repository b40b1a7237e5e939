"""Prefixes on disk: the states of token sequences, kept from one run of the server to the next."""

from hubserve_engine.prefix_store.folder import CacheUnusable, Folder, Usage, default_folder
from hubserve_engine.prefix_store.store import Entry, PrefixStore
from hubserve_engine.prefix_store.writer import PrefixWriter

__all__ = [
    "CacheUnusable",
    "Entry",
    "Folder",
    "PrefixStore",
    "PrefixWriter",
    "Usage",
    "default_folder",
]
