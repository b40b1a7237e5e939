"""What a path on this machine means: a GGUF file, one out of a folder, or a checkpoint."""

from pathlib import Path

from hubserve_engine.catalog.gguf_files import Candidate, candidates, pick
from hubserve_engine.catalog.raw_checkpoint import CONFIG, RawCheckpoint, checkpoint_files
from hubserve_engine.errors import ResolveError


def files_below(folder: Path) -> list[str]:
    """Files in a folder and in the folders in it: models in parts often have one of their own.

    Raises OSError.
    """
    entries = [*folder.glob("*"), *folder.glob("*/*")]
    return [entry.relative_to(folder).as_posix() for entry in entries if entry.is_file()]


def choose_in_folder(folder: Path, files: list[str], wanted: str | None) -> Candidate:
    """The model that is meant of a folder with these files. Raises ResolveError."""
    if not candidates(files):
        raise ResolveError(
            f"The folder {str(folder)!r} has neither GGUF files nor a checkpoint (config.json and"
            " *.safetensors).",
            param="model",
        )
    return pick(files, wanted, str(folder))


def choose_file(path: Path) -> Candidate:
    """The model that a file's path means. Raises ResolveError, with what is there, and OSError."""
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
    before, colon, wanted = path.name.rpartition(":")
    if colon and path.name not in names:
        place = path.with_name(before) if before else folder
        what = "is a file; name it alone" if before in names else "is not there"
        raise ResolveError(
            f"{str(place)!r} {what}: behind a colon, as {wanted!r} is, stands what is meant of a"
            " folder.",
            param="model",
        )
    if path.name not in names and not candidates(names):
        raise ResolveError(
            f"There is no file {str(path)!r}, and no GGUF file in {str(folder.absolute())!r};"
            f" {_hub_hint(path)}.",
            param="model",
        )
    return pick(names, path.name, str(folder))


def local_checkpoint(
    typed: str, path: Path, wanted: str | None = None, *, pickles: bool = False
) -> RawCheckpoint:
    """The checkpoint in a folder; see `checkpoint_files` for `pickles`. Raises ResolveError."""
    try:
        if not path.is_dir():
            what = "is a file" if path.exists() else "is not there"
            raise ResolveError(
                f"{str(path)!r} {what}; name the folder of a checkpoint, with {CONFIG} and"
                " model*.safetensors, or 'owner/repo' for one on the Hub.",
                param="model",
            )
        files = files_below(path)
    except OSError as error:
        raise ResolveError(
            f"{str(path)!r} cannot be read: {error.strerror}.", param="model"
        ) from error
    checkpoint_files(files, str(path), pickles=pickles)
    folder = path.absolute()
    return RawCheckpoint(folder.resolve().name, (typed,), folder, wanted)


def _hub_hint(path: Path) -> str:
    parts = path.parts
    if not path.is_absolute() and len(parts) >= 3 and path.suffix.lower() == ".gguf":
        return f"if it is on the Hub, write '{parts[0]}/{parts[1]}:{'/'.join(parts[2:])}'"
    return "a file on the Hub is named 'owner/repo:file.gguf'"
