"""From the name of a model to its files and facts."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from hubserve_engine.catalog.gguf_files import (
    Candidate,
    candidates,
    describe,
    pick,
    quantization_of,
)
from hubserve_engine.catalog.gguf_model import GgufModel, read_model
from hubserve_engine.catalog.model_id import HubModel, LocalModel, parse
from hubserve_engine.catalog.raw_checkpoint import (
    CONFIG,
    RawCheckpoint,
    checkpoint_files,
    is_checkpoint,
    is_weights,
)
from hubserve_engine.errors import ResolveError
from hubserve_engine.types import Stage

if TYPE_CHECKING:
    from hubserve_engine.catalog.hub import Hub, Listing

Progress = Callable[[Stage, str], None]
Export = Callable[[RawCheckpoint, Progress], tuple[Path, tuple[str, ...]]]
"""Makes a GGUF file of a checkpoint, or finds the one that was made before; with its notices."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedModel(GgufModel):
    """A model whose files are on this machine, with what they say of it.

    `id` is its full name, `aliases` are the others that mean it. `files` has the parts in order,
    for a checkpoint its config.json first.
    `notices` are sentences to show.
    """

    id: str
    aliases: tuple[str, ...]
    files: tuple[Path, ...]
    format: Literal["gguf", "checkpoint"] = "gguf"
    notices: tuple[str, ...] = ()


class Catalog:
    """Finds models on this machine and on the Hub. It blocks: on the disk, and on the network.

    A checkpoint becomes a model by `export`.
    """

    def __init__(self, hub: "Hub | None" = None, export: Export | None = None) -> None:
        self._given = hub
        self._export = export

    @cached_property
    def _hub(self) -> "Hub":
        # A model that is on this machine does not wait for what others need.
        from hubserve_engine.catalog.hub import Hub

        return self._given or Hub()

    def resolve(self, model: str, *, progress: Progress | None = None) -> ResolvedModel:
        """The model that `model` names, downloaded and exported if need be.

        `progress` hears what is being done. Raises ResolveError, which names what is there, and
        what the export raises.
        """
        report = progress or _ignore
        named = parse(model)
        report("resolving", f"Looking for {model}")
        if isinstance(named, LocalModel):
            return self._resolve_local(model, named.path, report)
        return self._resolve_hub(model, named, report)

    def checkpoint(
        self, model: str, *, progress: Progress | None = None, pickles: bool = False
    ) -> RawCheckpoint:
        """The checkpoint that `model` names, also beside GGUF files, downloaded if need be.

        `pickles` accepts weights in that form. Raises ResolveError.
        """
        report = progress or _ignore
        named = parse(model)
        report("resolving", f"Looking for {model}")
        if isinstance(named, LocalModel):
            return _local_checkpoint(model, named.path, pickles=pickles)
        return self._fetch_checkpoint(model, self._hub.list(named), report, pickles=pickles)

    def outline(
        self,
        model: str,
        folder: Path,
        *,
        progress: Progress | None = None,
        pickles: bool = False,
    ) -> RawCheckpoint:
        """As `checkpoint`, but of weights that are not on this machine only the headers are fetched
        if they are safetensors; see `fetch_outline`, which uses the `folder`."""
        report = progress or _ignore
        named = parse(model)
        if isinstance(named, LocalModel):
            return self.checkpoint(model, progress=progress, pickles=pickles)
        from hubserve_engine.catalog.outline import fetch_outline

        report("resolving", f"Looking for {model}")
        listing = self._hub.list(named)
        names = checkpoint_files(listing.paths, named.place, pickles=pickles)
        place = fetch_outline(
            self._hub, listing, names, folder, lambda sentence: report("downloading", sentence)
        )
        return _hub_checkpoint(model, listing, place)

    def _resolve_hub(self, typed: str, named: HubModel, report: Progress) -> ResolvedModel:
        listing = self._hub.list(named)
        if _means_checkpoint(listing):
            return self._exported(self._fetch_checkpoint(typed, listing, report), report)
        chosen = _choose(listing)
        paths = self._fetch(listing, chosen.files, report)
        aliases = [named.repo, typed]
        if chosen.quantization:
            aliases.append(f"{named.place}:{chosen.quantization}")
        return _resolved(f"{named.place}:{chosen.name}", aliases, paths, _notices(listing))

    def _resolve_local(self, typed: str, path: Path, report: Progress) -> ResolvedModel:
        try:
            if path.is_dir():
                files = _files_below(path)
                if not candidates(files) and is_checkpoint(files):
                    return self._exported(_local_checkpoint(typed, path), report)
                folder, chosen = path, _choose_in_folder(path, files)
            else:
                folder = path.parent
                chosen = _choose_file(path)
        except OSError as error:
            raise ResolveError(
                f"{str(path)!r} cannot be read: {error.strerror}.", param="model"
            ) from error
        paths = tuple((folder / name).absolute() for name in chosen.files)
        return _resolved(chosen.name.rsplit("/", 1)[-1], [typed], paths)

    def _fetch_checkpoint(
        self, typed: str, listing: "Listing", report: Progress, *, pickles: bool = False
    ) -> RawCheckpoint:
        named = listing.model
        names = checkpoint_files(listing.paths, named.place, pickles=pickles)
        paths = self._fetch(listing, names, report)
        return _hub_checkpoint(typed, listing, paths[names.index(CONFIG)].parent)

    def _fetch(
        self, listing: "Listing", names: Sequence[str], report: Progress
    ) -> tuple[Path, ...]:
        return self._hub.fetch(listing, names, lambda sentence: report("downloading", sentence))

    def _exported(self, raw: RawCheckpoint, report: Progress) -> ResolvedModel:
        if self._export is None:
            raise ResolveError(
                f"{raw.id!r} is a checkpoint; make a GGUF file of it with `hubserve export`.",
                param="model",
            )
        file, notices = self._export(raw, report)
        return _resolved(raw.id, list(raw.aliases), (file,), (*raw.notices, *notices))


def _choose(listing: "Listing") -> Candidate:
    named = listing.model
    models = candidates(listing.paths)
    if named.wanted in listing.paths and is_weights(named.wanted or ""):
        raise ResolveError(
            f"'{named.place}:{named.wanted}' is a file of a checkpoint, which is served as a whole:"
            f" name {named.place!r}.",
            param="model",
        )
    if not models and named.wanted not in listing.paths and not listing.cached:
        if is_checkpoint(listing.paths):
            raise ResolveError(
                f"{named.wanted!r} is no type that the checkpoint {named.place!r} can be exported"
                f" to; name one, as in '{named.place}:Q4_K_M'.",
                param="model",
            )
        raise ResolveError(
            f"{named.place!r} has neither GGUF files nor a checkpoint; name a repository of a"
            " text model.",
            param="model",
        )
    try:
        return pick(listing.paths, named.wanted, named.place)
    except ResolveError as miss:
        if not listing.cached:
            raise
        there = describe(models) or "no GGUF model"
        raise ResolveError(
            f"{listing.cached} Of {named.place!r} the cache has: {there}.", param="model"
        ) from miss


def _means_checkpoint(listing: "Listing") -> bool:
    """Whether a checkpoint is what is left to serve, and nothing else was asked for."""
    wanted = listing.model.wanted
    named = wanted is None or quantization_of(wanted) == wanted.upper()
    return named and not candidates(listing.paths) and is_checkpoint(listing.paths)


def _hub_checkpoint(typed: str, listing: "Listing", folder: Path) -> RawCheckpoint:
    named = listing.model
    aliases = tuple(dict.fromkeys(a for a in (named.repo, typed) if a != named.place))
    return RawCheckpoint(named.place, aliases, folder, named.wanted, _notices(listing))


def _local_checkpoint(typed: str, path: Path, *, pickles: bool = False) -> RawCheckpoint:
    try:
        if not path.is_dir():
            what = "is a file" if path.exists() else "is not there"
            raise ResolveError(
                f"{str(path)!r} {what}; name the folder of a checkpoint, with {CONFIG} and"
                " model*.safetensors, or 'owner/repo' for one on the Hub.",
                param="model",
            )
        files = _files_below(path)
    except OSError as error:
        raise ResolveError(
            f"{str(path)!r} cannot be read: {error.strerror}.", param="model"
        ) from error
    checkpoint_files(files, str(path), pickles=pickles)
    folder = path.absolute()
    return RawCheckpoint(folder.resolve().name, (typed,), folder)


def _notices(listing: "Listing") -> tuple[str, ...]:
    return (f"{listing.cached} Serving the copy in the cache.",) if listing.cached else ()


def _ignore(stage: Stage, sentence: str) -> None:
    """Nobody listens."""


def _choose_in_folder(folder: Path, files: list[str]) -> Candidate:
    if not candidates(files):
        raise ResolveError(
            f"The folder {str(folder)!r} has neither GGUF files nor a checkpoint (config.json and"
            " *.safetensors).",
            param="model",
        )
    return pick(files, None, str(folder))


def _choose_file(path: Path) -> Candidate:
    folder = path.parent
    if path.is_symlink() and not path.exists():
        raise ResolveError(
            f"{str(path)!r} is a link to {str(path.readlink())!r}, which is not there; mend the"
            " link, or name the file itself.",
            param="model",
        )
    if not folder.is_dir():
        raise ResolveError(
            f"There is no file {str(path)!r}, nor the folder {str(folder)!r}; {_hub_hint(path)}.",
            param="model",
        )
    names = [entry.name for entry in folder.iterdir() if entry.is_file()]
    if path.name in names and not path.name.lower().endswith(".gguf"):
        # Whatever it is called, the file itself says what it is.
        return Candidate((path.name,), None)
    if path.name not in names and not candidates(names):
        raise ResolveError(
            f"There is no file {str(path)!r}, and no GGUF file in {str(folder.absolute())!r};"
            f" {_hub_hint(path)}.",
            param="model",
        )
    return pick(names, path.name, str(folder))


def _hub_hint(path: Path) -> str:
    parts = path.parts
    if not path.is_absolute() and len(parts) >= 3 and path.suffix.lower() == ".gguf":
        return f"if it is on the Hub, write '{parts[0]}/{parts[1]}:{'/'.join(parts[2:])}'"
    return "a file on the Hub is named 'owner/repo:file.gguf'"


def _files_below(folder: Path) -> list[str]:
    """Files in a folder and in the folders in it: models in parts often have one of their own."""
    entries = [*folder.glob("*"), *folder.glob("*/*")]
    return [entry.relative_to(folder).as_posix() for entry in entries if entry.is_file()]


def _resolved(
    id: str, aliases: list[str], files: tuple[Path, ...], notices: tuple[str, ...] = ()
) -> ResolvedModel:
    facts = read_model(files)
    file_name = id.rsplit(":", 1)[-1].rsplit("/", 1)[-1]
    others = dict.fromkeys([*aliases, file_name, file_name.removesuffix(".gguf")])
    others.pop(id, None)
    return ResolvedModel(
        id=id,
        aliases=tuple(others),
        files=files,
        notices=notices,
        **{field.name: getattr(facts, field.name) for field in fields(facts)},
    )
