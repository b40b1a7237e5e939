"""A checkpoint on the Hub without its numbers: what is looked at before gigabytes are fetched."""

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from struct import pack
from typing import Any

from hubserve_engine.catalog.hub import Hub, Listing
from hubserve_engine.catalog.raw_checkpoint import CONFIG


def fetch_outline(
    hub: Hub, listing: Listing, names: Sequence[str], folder: Path, report: Callable[[str], None]
) -> Path:
    """The folder that has these files.

    If weights are not on this machine, that is `folder`, and of all weights only the headers are
    fetched: every number is zero, which takes no room. Raises ResolveError.
    """
    weights = [name for name in names if name.endswith(".safetensors")]
    there = [hub.cache.find(listing.model, listing.commit, name) for name in weights]
    others = list(names) if all(there) else [name for name in names if name not in weights]
    paths = hub.fetch(listing, others, report)
    if all(there):
        return paths[others.index(CONFIG)].parent
    for name, path in zip(others, paths, strict=True):
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
    for name in weights:
        report(f"Reading what is in {name}")
        _write_zeros(folder / name, hub.header(listing, name))
    return folder


def _write_zeros(path: Path, header: Mapping[str, Mapping[str, Any]]) -> None:
    """The file as it is described, with a hole where its numbers would be."""
    text = json.dumps(header).encode()
    end = max((entry["data_offsets"][1] for entry in header.values()), default=0)
    with path.open("wb") as file:
        file.write(pack("<Q", len(text)) + text)
        file.truncate(file.tell() + end)
