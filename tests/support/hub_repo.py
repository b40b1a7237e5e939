"""The repositories of a local Hub: what is in them, and how the Hub describes it."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha1, sha256
from pathlib import Path
from typing import Any, Self

LARGE = (".gguf", ".safetensors")
"""Files that end so are kept in the store for large files, as with Git LFS."""


@dataclass
class Repo:
    """A repository: files by their path in it, for each revision, the first of which is main.

    `gated` files are listed but not given out; a `private` repository is not there for those
    without the server's token.
    """

    revisions: dict[str, dict[str, Path]]
    gated: bool = False
    private: bool = False

    @classmethod
    def of_folder(cls, folder: Path) -> Self:
        """A repository with the files that are below a folder."""
        files = {
            path.relative_to(folder).as_posix(): path
            for path in sorted(folder.rglob("*"))
            if path.is_file()
        }
        return cls({"main": files})

    @classmethod
    def of_files(cls, files: Mapping[str, Path]) -> Self:
        """A repository with these files, by their path in it."""
        return cls({"main": dict(files)})

    def commit(self, revision: str) -> str | None:
        """The commit of a revision, which may be a commit itself; None where there is none."""
        for name, files in self.revisions.items():
            digest = sha1(repr([(path, sha256_of(file)) for path, file in files.items()]).encode())
            commit = digest.hexdigest()
            if revision in (name, commit):
                return commit
        return None

    def files(self, commit: str) -> dict[str, Path]:
        """The files at a commit."""
        return next(f for name, f in self.revisions.items() if self.commit(name) == commit)


def entry_of(path: str, file: Path) -> dict[str, Any]:
    """A file in a listing with metadata."""
    size = file.stat().st_size
    entry: dict[str, Any] = {"rfilename": path, "size": size, "blobId": git_sha1_of(file)}
    if path.endswith(LARGE):
        entry["lfs"] = {"sha256": sha256_of(file), "size": size, "pointerSize": 134}
    return entry


def tree_entry_of(path: str, file: Path) -> dict[str, Any]:
    """A file in a tree, which has other names for the same things."""
    size, digest = file.stat().st_size, sha256_of(file)
    entry: dict[str, Any] = {"type": "file", "path": path, "size": size, "oid": git_sha1_of(file)}
    if path.endswith(LARGE):
        entry["lfs"] = {"oid": digest, "size": size, "pointerSize": 134}
    return entry


def sha256_of(file: Path) -> str:
    """The SHA-256 of a file, which is the ETag of a large one."""
    return _digest_of(file, file.stat().st_mtime_ns)


@cache
def _digest_of(file: Path, modified: int) -> str:
    return sha256(file.read_bytes()).hexdigest()


def git_sha1_of(file: Path) -> str:
    """The id that git gives a file's content, which is the ETag of a small one."""
    content = file.read_bytes()
    return sha1(b"blob %d\0" % len(content) + content).hexdigest()
