"""Repositories on the Hub: what is in them, and their files on this machine.

All of it goes through huggingface_hub, whose cache and HF_* variables users know. Its import is
slow, so it happens where the Hub is really needed.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hubserve_engine.catalog.gguf_files import pick
from hubserve_engine.catalog.hub_cache import HubCache
from hubserve_engine.catalog.hub_download import Report, download, partial_of
from hubserve_engine.catalog.hub_errors import Situation, explain
from hubserve_engine.catalog.model_id import HubModel
from hubserve_engine.errors import ResolveError
from hubserve_engine.units import size_text

if TYPE_CHECKING:
    from huggingface_hub import HfApi

_TIMEOUT = 10.0
_LARGEST = 50 * 10**9
"""More than these bytes the Hub gives only to the library's own way of downloading."""


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
        from huggingface_hub import HfApi, errors

        self.cache.check()
        if pinned := self._list_pinned(model):
            return pinned
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
            listing = self._list_cache(model)
            reason = explain(error, self._situation(model, in_cache=listing is not None))
            if listing is None:
                raise reason from error
            return replace(listing, cached=reason.message)
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
            found[file.path] = self._download(listing, file, report)
        if listing.cached is None:
            cache.remember(model, commit)
        return tuple(path for path in found.values() if path is not None)

    def header(self, listing: Listing, path: str) -> dict[str, dict[str, Any]]:
        """What a safetensors file says of its tensors, as it says it, without their numbers.

        Raises ResolveError.
        """
        from huggingface_hub import HfApi

        model = listing.model
        api = HfApi(endpoint=self._endpoint, token=self._token)
        try:
            found = api.parse_safetensors_file_metadata(
                model.repo, path, revision=listing.commit, timeout=_TIMEOUT
            )
        except Exception as error:
            raise explain(error, self._situation(model, path=path)) from error
        return {
            name: {"dtype": one.dtype, "shape": one.shape, "data_offsets": one.data_offsets}
            for name, one in found.tensors.items()
        }

    def _download(self, listing: Listing, file: HubFile, report: Report) -> Path:
        from huggingface_hub import hf_hub_download

        model = listing.model
        try:
            if file.sha256 and file.size and file.size <= _LARGEST:
                self._download_blob(listing, file, file.size, file.sha256, report)
            return Path(
                hf_hub_download(
                    model.repo,
                    file.path,
                    revision=listing.commit,
                    endpoint=self._endpoint,
                    cache_dir=self._cache_folder,
                    token=self._token,
                )
            )
        except ResolveError:
            raise
        except Exception as error:
            raise explain(error, self._situation(model, path=file.path)) from error

    def _download_blob(
        self, listing: Listing, file: HubFile, size: int, sha256: str, report: Report
    ) -> None:
        from huggingface_hub import hf_hub_url
        from huggingface_hub.utils import build_hf_headers  # type: ignore[attr-defined]

        model, cache = listing.model, self.cache
        download(
            hf_hub_url(model.repo, file.path, revision=listing.commit, endpoint=self._endpoint),
            cache.blob(model, sha256),
            lock=cache.lock(model, sha256),
            # A compressed answer could not be taken up in the middle.
            headers={**build_hf_headers(token=self._token), "Accept-Encoding": "identity"},
            name=file.path,
            size=size,
            sha256=sha256,
            report=report,
        )

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

    def _list_cache(self, model: HubModel) -> Listing | None:
        cache = self.cache
        commit = cache.commit(model)
        files = tuple(HubFile(path) for path in cache.files(model, commit))
        return Listing(model, commit, files) if files else None

    def _check_space(self, model: HubModel, files: Sequence[HubFile]) -> None:
        cache = self.cache
        partials = [partial_of(cache.blob(model, f.sha256)) for f in files if f.sha256]
        there = sum(partial.stat().st_size for partial in partials if partial.exists())
        needed = sum(file.size or 0 for file in files) - there
        folder, free = cache.free()
        if needed > free:
            raise ResolveError(
                f"{model.place!r} needs {size_text(needed)} and {folder} has {size_text(free)}"
                " free: make room there, or set HF_HOME to a folder on a larger disk.",
                param="model",
            )

    def _situation(
        self,
        model: HubModel,
        *,
        path: str | None = None,
        revisions: tuple[str, ...] = (),
        in_cache: bool = False,
    ) -> Situation:
        return Situation(
            model,
            self.endpoint,
            str(self.cache.folder),
            bool(self._token) or _has_token(),
            path=path,
            revisions=revisions,
            in_cache=in_cache,
        )


def _has_token() -> bool:
    from huggingface_hub import get_token

    try:
        return bool(get_token())
    except Exception:
        # That it cannot be had is told as what it makes fail.
        return False


def _is_commit(revision: str) -> bool:
    return len(revision) == 40 and not revision.strip("0123456789abcdef")


def _revisions(api: "HfApi", model: HubModel) -> tuple[str, ...]:
    try:
        refs = api.list_repo_refs(model.repo)
    except Exception:
        # Only the message would have been better for it.
        return ()
    return tuple(ref.name for ref in (*refs.branches, *refs.tags))
