"""Repositories on the Hub: what is in them, and their files on this machine.

All of it goes through huggingface_hub, whose cache and HF_* variables users know. Its import is
slow, so it happens where the Hub is really needed.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hubserve_engine.errors import ResolveError
from hubserve_engine.gguf_files import pick
from hubserve_engine.hub_cache import HubCache, delete, sha256_of
from hubserve_engine.hub_errors import Situation, explain, is_network
from hubserve_engine.model_id import HubModel
from hubserve_engine.units import size_text

if TYPE_CHECKING:
    from huggingface_hub import HfApi

Report = Callable[[str], None]
"""Takes a sentence on what is being done."""

_TIMEOUT = 10.0
_ATTEMPTS = 3


@dataclass(frozen=True, slots=True)
class HubFile:
    """A file of a repository; `size` in bytes and `sha256` are None where the Hub has none."""

    path: str
    size: int | None = None
    sha256: str | None = None


@dataclass(frozen=True, slots=True)
class Listing:
    """The files of a repository at one commit.

    `cached` is set where the Hub did not answer, and says why: these are then the files on disk.
    """

    model: HubModel
    commit: str
    files: tuple[HubFile, ...]
    cached: str | None = None

    @property
    def paths(self) -> list[str]:
        """The paths of all files."""
        return [file.path for file in self.files]


class Hub:
    """The Hub as huggingface_hub's variables describe it, or as the arguments say instead."""

    def __init__(
        self,
        *,
        endpoint: str | None = None,
        cache: Path | None = None,
        token: str | None = None,
    ) -> None:
        self._endpoint = endpoint
        self._cache_folder = cache
        self._token = token

    @property
    def endpoint(self) -> str:
        """The address of the Hub, without a slash at its end."""
        from huggingface_hub import constants

        return (self._endpoint or constants.ENDPOINT).rstrip("/")

    @property
    def cache(self) -> HubCache:
        """The cache that files are kept in."""
        from huggingface_hub import constants

        return HubCache(self._cache_folder or Path(constants.HF_HUB_CACHE))

    def list(self, model: HubModel) -> Listing:
        """The files of a repository.

        A file that is named together with a commit, and is in the cache, needs no network. Where
        the Hub cannot be asked, the cache answers. Raises ResolveError.
        """
        from huggingface_hub import HfApi, constants, errors

        if pinned := self._list_pinned(model):
            return pinned
        if constants.HF_HUB_OFFLINE:
            return self._list_offline(model)
        api = HfApi(endpoint=self._endpoint, token=self._token)
        try:
            info = api.model_info(
                model.repo, revision=model.revision, files_metadata=True, timeout=_TIMEOUT
            )
        except errors.RevisionNotFoundError as error:
            raise explain(
                error, self._situation(model, revisions=_revisions(api, model))
            ) from error
        except Exception as error:
            # The library lets its HTTP client's exceptions through; they have no base of their own.
            reason = explain(error, self._situation(model))
            if listing := self._list_cache(model, reason.message):
                return listing
            raise reason from error
        files = tuple(
            HubFile(sibling.rfilename, sibling.size, sibling.lfs.sha256 if sibling.lfs else None)
            for sibling in info.siblings or ()
        )
        return Listing(model, info.sha or model.revision or "main", files)

    def fetch(self, listing: Listing, paths: Sequence[str], report: Report) -> tuple[Path, ...]:
        """The files on disk, downloaded where the cache lacks them, and then checked.

        Raises ResolveError; a file that is not what the Hub announced is deleted first.
        """
        model, commit, cache = listing.model, listing.commit, self.cache
        found = {path: cache.find(model, commit, path) for path in paths}
        absent = [f for f in listing.files if f.path in found and found[f.path] is None]
        self._check_space(model, absent)
        for file in absent:
            report(f"Downloading {file.path}" + (f" ({size_text(file.size)})" if file.size else ""))
            found[file.path] = path = self._download(listing, file, report)
            if file.sha256:
                report(f"Checking {file.path}")
                _check_hash(path, file, model)
        if listing.cached is None:
            cache.remember(model, commit)
        return tuple(path for path in found.values() if path is not None)

    def _download(self, listing: Listing, file: HubFile, report: Report) -> Path:
        from huggingface_hub import hf_hub_download

        attempt = 1
        while True:
            try:
                return Path(
                    hf_hub_download(
                        listing.model.repo,
                        file.path,
                        revision=listing.commit,
                        endpoint=self._endpoint,
                        cache_dir=self._cache_folder,
                        token=self._token,
                    )
                )
            except Exception as error:
                if attempt == _ATTEMPTS or not is_network(error):
                    situation = self._situation(listing.model, path=file.path)
                    raise explain(error, situation) from error
            # The library itself goes on after most losses of a connection, but not after a reset.
            report(f"The connection was lost; downloading {file.path} again")
            attempt += 1

    def _list_pinned(self, model: HubModel) -> Listing | None:
        """The cache's files, if all of the named file at the named commit is among them."""
        if not (model.revision and model.wanted and _is_commit(model.revision)):
            return None
        listing = self._list_cache(model)
        try:
            if listing:
                pick(listing.paths, model.wanted, model.place)
        except ResolveError:
            return None
        return listing

    def _list_offline(self, model: HubModel) -> Listing:
        listing = self._list_cache(model, "HF_HUB_OFFLINE is set: unset it to ask the Hub.")
        if listing is None:
            raise ResolveError(
                f"{model.place!r} is not in the cache ({self.cache.folder}) and HF_HUB_OFFLINE is"
                " set: unset it to download the model, or name one that is in the cache.",
                param="model",
            )
        return listing

    def _list_cache(self, model: HubModel, why: str | None = None) -> Listing | None:
        cache = self.cache
        commit = cache.commit(model)
        files = tuple(HubFile(path) for path in cache.files(model, commit))
        return Listing(model, commit, files, cached=why) if files else None

    def _check_space(self, model: HubModel, files: Sequence[HubFile]) -> None:
        needed = sum(file.size or 0 for file in files)
        folder, free = self.cache.free()
        if needed > free:
            raise ResolveError(
                f"{model.place!r} needs {size_text(needed)} and {folder} has {size_text(free)}"
                " free: make room there, or set HF_HOME to a folder on a larger disk.",
                param="model",
            )

    def _situation(
        self, model: HubModel, *, path: str | None = None, revisions: tuple[str, ...] = ()
    ) -> Situation:
        from huggingface_hub import get_token

        has_token = bool(self._token or get_token())
        return Situation(model, self.endpoint, str(self.cache.folder), has_token, path, revisions)


def _is_commit(revision: str) -> bool:
    return len(revision) == 40 and not revision.strip("0123456789abcdef")


def _check_hash(path: Path, file: HubFile, model: HubModel) -> None:
    found = sha256_of(path)
    if found == file.sha256:
        return
    delete(path)
    raise ResolveError(
        f"{file.path!r} of {model.place!r} arrived damaged (its SHA-256 is {found[:12]}…, not"
        f" {str(file.sha256)[:12]}…) and was deleted: run the command again to download it anew.",
        param="model",
    )


def _revisions(api: "HfApi", model: HubModel) -> tuple[str, ...]:
    try:
        refs = api.list_repo_refs(model.repo)
    except Exception:
        # Only the message would have been better for it.
        return ()
    return tuple(ref.name for ref in (*refs.branches, *refs.tags))
