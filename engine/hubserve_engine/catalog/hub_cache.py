"""The cache of huggingface_hub on disk, where its own functions need a network or do not reach.

The layout is public: `models--owner--name` has `refs/BRANCH` with a commit in it,
`snapshots/COMMIT` with links by file name, and `blobs` with what they point to.
"""

import os
import shutil
from pathlib import Path

from hubserve_engine.catalog.model_id import HubModel
from hubserve_engine.errors import ResolveError

_VARIABLES = ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HOME", "XDG_CACHE_HOME")
"""What says where the cache is, the strongest first."""


class HubCache:
    """All cached repositories, below one folder. It need not be there yet."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def check(self) -> None:
        """Raises ResolveError, which names the variable, where this can be no folder."""
        variable = next((name for name in _VARIABLES if os.environ.get(name)), None)
        named = f"{variable}={os.environ[variable]}" if variable else "HF_HOME is not set"
        if str(self.folder).startswith("~"):
            raise ResolveError(
                f"{named} begins with the home folder of a user that is not there: set it to a"
                " folder for downloaded models.",
                param="model",
            )
        there = next(path for path in (self.folder, *self.folder.parents) if os.path.lexists(path))
        if not os.path.isdir(there):
            raise ResolveError(
                f"The cache {str(self.folder)!r} ({named}) cannot be used, as {str(there)!r} is no"
                f" folder: set {variable or 'HF_HOME'} to a folder for downloaded models.",
                param="model",
            )

    def commit(self, model: HubModel) -> str:
        """The commit that a revision was at when it was last seen; the revision if never."""
        revision = model.revision or "main"
        reference = self._repository(model) / "refs" / revision
        return reference.read_text().strip() if reference.is_file() else revision

    def files(self, model: HubModel, commit: str) -> list[str]:
        """The paths of the files that are there at a commit."""
        snapshot = self._snapshot(model, commit)
        files = (path for path in snapshot.rglob("*") if path.is_file())
        return sorted(path.relative_to(snapshot).as_posix() for path in files)

    def find(self, model: HubModel, commit: str, path: str) -> Path | None:
        """A file at a commit; None where it is not there."""
        file = self._snapshot(model, commit) / path
        return file if file.is_file() else None

    def remember(self, model: HubModel, commit: str) -> None:
        """Notes the commit of a branch or tag, as the library does for what it resolves itself.

        A download by commit does not tell it the name, by which the files are looked for offline.
        """
        revision = model.revision or "main"
        if revision == commit or self.commit(model) == commit:
            return
        reference = self._repository(model) / "refs" / revision
        try:
            reference.parent.mkdir(parents=True, exist_ok=True)
            reference.write_text(commit)
        except OSError:
            # A cache that cannot be written still serves.
            return

    def blob(self, model: HubModel, etag: str) -> Path:
        """Where the content of a file is kept, by its ETag."""
        return self._repository(model) / "blobs" / etag

    def lock(self, model: HubModel, etag: str) -> Path:
        """The lock of a blob, which the library takes too."""
        return self.folder / ".locks" / self._repository(model).name / f"{etag}.lock"

    def free(self) -> tuple[Path, int]:
        """The folder whose disk holds the cache, and the bytes that are free on it."""
        folder = self.folder
        while not folder.exists() and folder != folder.parent:
            folder = folder.parent
        return folder, shutil.disk_usage(folder).free

    def _snapshot(self, model: HubModel, commit: str) -> Path:
        return self._repository(model) / "snapshots" / commit

    def _repository(self, model: HubModel) -> Path:
        return self.folder / f"models--{model.repo.replace('/', '--')}"
