"""What tells one export from another: all that goes into it, and what makes it."""

import hashlib
from importlib import metadata
from pathlib import Path

from hubserve_engine.catalog.identity import identity

_MAKERS = ("hubserve", "gguf", "llama-cpp-python")
_SMALL = 2**26


def export_key(folder: Path, files: list[Path], dtype: str, name: str) -> str:
    """The same for the same content of the checkpoint's files, whatever the folder is called.

    Weights are told by the Hub's hash of them, or by samples; all else is read. Raises OSError.
    """
    parts = [f"{maker} {metadata.version(maker)}" for maker in _MAKERS]
    parts += [f"type {dtype}", f"name {name}"]
    weights = [path for path in files if path.stat().st_size > _SMALL or _is_weights(path)]
    for path in sorted(set(files) - set(weights)):
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        parts.append(f"{path.relative_to(folder).as_posix()} {digest}")
    parts += [path.name for path in sorted(weights)]
    parts.append(identity(sorted(weights)))
    return hashlib.blake2b("\n".join(parts).encode(), digest_size=16).hexdigest()


def _is_weights(path: Path) -> bool:
    return path.suffix == ".safetensors"
