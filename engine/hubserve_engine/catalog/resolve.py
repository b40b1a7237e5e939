"""From the name of a model to its files and facts."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from hubserve_engine.catalog.export_type import export_type, servable
from hubserve_engine.catalog.gguf_files import Candidate, candidates, describe, pick
from hubserve_engine.catalog.gguf_model import GgufModel, read_model
from hubserve_engine.catalog.local_files import (
    choose_file,
    choose_in_folder,
    files_below,
    local_checkpoint,
)
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

Look = Callable[[RawCheckpoint], None]
"""Looks at all of a checkpoint but its weights, before they are fetched; raises what ends that."""


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

    A checkpoint becomes a model by `export`: of the type that its name ends in, or of
    `export_type`, as --export-type says it. `look` is asked before weights are fetched.
    """

    def __init__(
        self,
        hub: "Hub | None" = None,
        export: Export | None = None,
        export_type: str | None = None,
        look: Look = lambda raw: None,
    ) -> None:
        self._given = hub
        self._export = export
        self._export_type = export_type
        self._look = look

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
            return self._resolve_local(model, named, report)
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
            return local_checkpoint(model, named.path, named.wanted, pickles=pickles)
        listing = self._hub.list(named)
        return self._fetch_checkpoint(model, listing, named.wanted, report, pickles=pickles)

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
        return _hub_checkpoint(model, listing, place, named.wanted)

    def _resolve_hub(self, typed: str, named: HubModel, report: Progress) -> ResolvedModel:
        listing = self._hub.list(named)
        if _is_checkpoint_alone(listing.paths):
            # Before gigabytes are fetched.
            type_ = self._type(listing.paths, named.wanted, named.place)
            return self._exported(self._fetch_checkpoint(typed, listing, type_, report), report)
        chosen = _choose(listing)
        paths = self._fetch(listing, chosen.files, report)
        aliases = [named.repo, typed]
        if chosen.quantization:
            aliases.append(f"{named.place}:{chosen.quantization}")
        return _resolved(f"{named.place}:{chosen.name}", aliases, paths, _notices(listing))

    def _resolve_local(self, typed: str, named: LocalModel, report: Progress) -> ResolvedModel:
        path = named.path
        try:
            if path.is_dir():
                files = files_below(path)
                if _is_checkpoint_alone(files):
                    type_ = self._type(files, named.wanted, str(path))
                    return self._exported(local_checkpoint(typed, path, type_), report)
                folder, chosen = path, choose_in_folder(path, files, named.wanted)
            else:
                folder = path.parent
                chosen = choose_file(path)
        except OSError as error:
            raise ResolveError(
                f"{str(path)!r} cannot be read: {error.strerror}.", param="model"
            ) from error
        paths = tuple((folder / name).absolute() for name in chosen.files)
        return _resolved(chosen.name.rsplit("/", 1)[-1], [typed], paths)

    def _type(self, files: Sequence[str], wanted: str | None, place: str) -> str | None:
        """What the checkpoint is to be exported to, if that was named."""
        if wanted in files and is_weights(wanted or ""):
            raise ResolveError(
                f"'{place}:{wanted}' is a file of a checkpoint, which is served as a whole: name"
                f" {place!r}.",
                param="model",
            )
        if self._export is None:
            alone = f", or name it without {wanted!r} to run it as it is" if wanted else ""
            raise ResolveError(
                f"{place!r} is a checkpoint; make a GGUF file of it with `hubserve export`{alone}.",
                param="model",
            )
        return servable(export_type(place, wanted, self._export_type, "--export-type"))

    def _fetch_checkpoint(
        self,
        typed: str,
        listing: "Listing",
        wanted: str | None,
        report: Progress,
        *,
        pickles: bool = False,
    ) -> RawCheckpoint:
        named = listing.model
        names = checkpoint_files(listing.paths, named.place, pickles=pickles)
        others = [name for name in names if not is_weights(name)]
        folder = self._fetch(listing, others, report)[others.index(CONFIG)].parent
        raw = _hub_checkpoint(typed, listing, folder, wanted)
        self._look(raw)
        self._fetch(listing, [name for name in names if is_weights(name)], report)
        return raw

    def _fetch(
        self, listing: "Listing", names: Sequence[str], report: Progress
    ) -> tuple[Path, ...]:
        return self._hub.fetch(listing, names, lambda sentence: report("downloading", sentence))

    def _exported(self, raw: RawCheckpoint, report: Progress) -> ResolvedModel:
        assert self._export is not None, "or else it has no type"
        file, notices = self._export(raw, report)
        return _resolved(raw.id, list(raw.aliases), (file,), (*raw.notices, *notices))


def _choose(listing: "Listing") -> Candidate:
    named = listing.model
    models = candidates(listing.paths)
    if not models and named.wanted not in listing.paths and not listing.cached:
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


def _is_checkpoint_alone(files: Sequence[str]) -> bool:
    return not candidates(files) and is_checkpoint(files)


def _hub_checkpoint(
    typed: str, listing: "Listing", folder: Path, wanted: str | None
) -> RawCheckpoint:
    named = listing.model
    aliases = tuple(dict.fromkeys(a for a in (named.repo, typed) if a != named.place))
    return RawCheckpoint(named.place, aliases, folder, wanted, _notices(listing))


def _notices(listing: "Listing") -> tuple[str, ...]:
    return (f"{listing.cached} Serving the copy in the cache.",) if listing.cached else ()


def _ignore(stage: Stage, sentence: str) -> None:
    """Nobody listens."""


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
