"""What a user may type to name a model, taken apart. Nothing is looked up but local paths."""

import re
from dataclasses import dataclass
from pathlib import Path

from hubserve_engine.errors import ResolveError

FORMS = (
    "a path to a .gguf file or to the folder of a checkpoint, 'owner/repo', 'owner/repo:file.gguf'"
    " or 'owner/repo:Q4_K_M'"
)
"""The forms of a model id, for messages."""

_NAME = r"[A-Za-z0-9][\w.-]*"
_HUB = re.compile(
    rf"(?P<repo>{_NAME}/{_NAME})(@(?P<revision>[^:@\s]+))?(:(?P<wanted>[^:]*))?", re.ASCII
)


@dataclass(frozen=True, slots=True)
class LocalModel:
    """A file or a folder on this machine. It need not be there.

    `wanted` is what is meant of a folder, as of a repository.
    """

    path: Path
    wanted: str | None = None


@dataclass(frozen=True, slots=True)
class HubModel:
    """A repository on the Hub.

    `wanted` is the path of a file, which ends in .gguf, or a quantization such as "Q4_K_M", which a
    file has or a checkpoint is exported to; None leaves the choice to us. `revision` is a branch, a
    tag or a commit; None is the main branch.
    """

    repo: str
    revision: str | None = None
    wanted: str | None = None

    @property
    def place(self) -> str:
        """The repository, with its revision if one was named: how ids and messages begin."""
        return self.repo if self.revision is None else f"{self.repo}@{self.revision}"


def parse(model: str) -> LocalModel | HubModel:
    """Takes a model id apart. What exists on disk is local, whatever else the name could mean.

    Raises ResolveError where the text has none of the forms.
    """
    text = model.strip()
    if not text:
        raise ResolveError(f"The model's name is empty; name {FORMS}.", param="model")
    path = _path(text)
    before, colon, wanted = text.rpartition(":")
    if before and colon and not _exists(path) and _is_folder(_path(before)):
        return LocalModel(_path(before), _wanted(text, before, wanted))
    if _exists(path) or text.startswith(("/", "./", "../", "~", "\\")):
        return LocalModel(path)
    match = _HUB.fullmatch(text)
    if match is None:
        if text.lower().endswith(".gguf") and ":" not in text:
            return LocalModel(path)
        raise ResolveError(f"{model!r} names no model; name {FORMS}.", param="model")
    repo, revision, wanted = match.group("repo", "revision", "wanted")
    if text.lower().endswith(".gguf") and revision is None and wanted is None:
        # Far more often a path with a slip in it than a repository that is called so.
        return LocalModel(path)
    return HubModel(repo, revision, None if wanted is None else _wanted(text, repo, wanted))


def _wanted(text: str, place: str, wanted: str) -> str:
    if not wanted.strip("/ "):
        raise ResolveError(
            f"{text!r} ends in a colon; after it comes a file or a quantization, as in"
            f" '{place}:Q4_K_M'.",
            param="model",
        )
    return wanted.strip()


def _path(text: str) -> Path:
    """The path, with the home folder where it begins with one.

    A home that nobody has, or can have, stays as it is typed: it is then a file that is not there.
    """
    try:
        return Path(text).expanduser()
    except (RuntimeError, ValueError):
        return Path(text)


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):
        # Too long for a file name, or a byte that none can hold.
        return False


def _is_folder(path: Path) -> bool:
    return _exists(path) and path.is_dir()
