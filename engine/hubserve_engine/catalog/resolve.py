"""From the name of a model to its files and facts."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Literal

from hubserve_engine.catalog.gguf_files import Candidate, candidates, describe, pick
from hubserve_engine.catalog.gguf_model import GgufModel, read_model
from hubserve_engine.catalog.hub import Hub, Listing
from hubserve_engine.catalog.model_id import HubModel, LocalModel, parse
from hubserve_engine.errors import ResolveError
from hubserve_engine.types import Stage

Progress = Callable[[Stage, str], None]

_NO_EXPORT = (
    "is a raw checkpoint, and exporting one to GGUF is not there yet; name a GGUF version of it"
    " (many repositories end in -GGUF)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedModel(GgufModel):
    """A model whose files are on this machine, with what they say of it.

    `id` is its full name, `aliases` are the others that mean it. `files` has the parts in order.
    `notices` are sentences to show.
    """

    id: str
    aliases: tuple[str, ...]
    files: tuple[Path, ...]
    format: Literal["gguf"] = "gguf"
    notices: tuple[str, ...] = ()


class Catalog:
    """Finds models on this machine and on the Hub. It blocks: on the disk, and on the network."""

    def __init__(self, hub: Hub | None = None) -> None:
        self._hub = hub or Hub()

    def resolve(self, model: str, *, progress: Progress | None = None) -> ResolvedModel:
        """The model that `model` names, downloaded if need be.

        `progress` hears what is being done. Raises ResolveError, which names what is there.
        """
        report = progress or (lambda stage, text: None)
        named = parse(model)
        report("resolving", f"Looking for {model}")
        if isinstance(named, LocalModel):
            return _resolve_local(model, named.path)
        return self._resolve_hub(model, named, report)

    def _resolve_hub(self, typed: str, named: HubModel, report: Progress) -> ResolvedModel:
        listing = self._hub.list(named)
        chosen = _choose(listing)
        paths = self._hub.fetch(
            listing, chosen.files, lambda sentence: report("downloading", sentence)
        )
        aliases = [named.repo, typed]
        if chosen.quantization:
            aliases.append(f"{named.place}:{chosen.quantization}")
        notices = (f"{listing.cached} Serving the copy in the cache.",) if listing.cached else ()
        return _resolved(f"{named.place}:{chosen.name}", aliases, paths, notices)


def _choose(listing: Listing) -> Candidate:
    named = listing.model
    models = candidates(listing.paths)
    if named.wanted in listing.paths and _is_weights(named.wanted or ""):
        raise ResolveError(f"'{named.place}:{named.wanted}' {_NO_EXPORT}.", param="model")
    if not models and not (named.wanted and named.wanted in listing.paths):
        if any(_is_weights(path) for path in listing.paths):
            raise ResolveError(f"{named.place!r} {_NO_EXPORT}.", param="model")
        if not listing.cached:
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


def _resolve_local(typed: str, path: Path) -> ResolvedModel:
    try:
        if path.is_dir():
            folder, chosen = path, _choose_in_folder(path)
        else:
            folder = path.parent
            chosen = _choose_file(path)
    except OSError as error:
        raise ResolveError(
            f"{str(path)!r} cannot be read: {error.strerror}.", param="model"
        ) from error
    paths = tuple((folder / name).absolute() for name in chosen.files)
    return _resolved(chosen.name.rsplit("/", 1)[-1], [typed], paths)


def _choose_in_folder(folder: Path) -> Candidate:
    files = _files_below(folder)
    if not candidates(files):
        if "config.json" in files and any(_is_weights(name) for name in files):
            raise ResolveError(f"{str(folder)!r} {_NO_EXPORT}.", param="model")
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


def _is_weights(path: str) -> bool:
    return path.lower().endswith((".safetensors", ".bin", ".pt", ".pth"))


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
