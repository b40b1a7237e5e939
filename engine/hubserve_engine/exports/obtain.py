"""The GGUF file of a checkpoint: the one that was made before, or a new one."""

import re
from collections.abc import Callable
from pathlib import Path
from threading import Event

from hubserve_engine.catalog.raw_checkpoint import RawCheckpoint, checkpoint_files
from hubserve_engine.catalog.resolve import Progress
from hubserve_engine.config import EngineConfig
from hubserve_engine.errors import ResolveError
from hubserve_engine.exports.key import export_key
from hubserve_engine.exports.room import make_room
from hubserve_engine.exports.store import Export, ExportStore
from hubserve_engine.prefix_store.folder import default_folder
from hubserve_exporters.errors import ExportError
from hubserve_exporters.isolated.call import call

Share = Callable[[float], None]
"""Takes how much is done, from 0 to 1."""

_SMALL_MODEL = 3 * 10**9


def obtain(
    raw: RawCheckpoint,
    config: EngineConfig,
    progress: Progress,
    share: Share,
    ended: Event | None = None,
) -> tuple[Path, tuple[str, ...]]:
    """The file, checked and whole, and notices on it. It stays there while this process lives.

    It is made in a process of its own, by one of those who want it. Raises ResolveError, with the
    next step, where the checkpoint cannot be exported, and where another thread sets `ended`.
    """
    store = ExportStore((config.cache_dir or default_folder()).absolute())
    try:
        files = _files(raw)
        dtype = raw.wanted or fitting_type(files)
        name = raw.id.rpartition("/")[2].partition("@")[0]
        key = export_key(raw.folder, files, dtype, name)

        def wait() -> None:
            progress("exporting", f"Waiting for another process that exports {raw.id}")

        with store.alone(key, wait):
            export = store.find(key)
            if export is None:
                store.remove(key)
                doing = f"Exporting {raw.id} to {dtype}"
                progress("exporting", doing)

                def remove(old: Export) -> None:
                    gone = f"; the one of {old.id} to {old.dtype} goes to make room"
                    progress("exporting", doing + gone)

                def room(needed: int) -> None:
                    make_room(store, key, needed, config.export_disk, remove)

                export = _export(store, raw, key, dtype, name, share, room, ended)
            store.hold(export)
            store.shrink(config.export_disk, keep=key)
    except ExportError as error:
        raise ResolveError(f"{raw.id!r} cannot be exported: {error}", param="model") from error
    except OSError as error:
        raise ResolveError(
            f"The export of {raw.id!r} cannot be kept in {str(store.path)!r}: {error.strerror};"
            " name another folder with --cache-dir.",
            param="model",
        ) from error
    return store.file(export), export.notices


def _files(raw: RawCheckpoint) -> list[Path]:
    entries = (*raw.folder.glob("*"), *raw.folder.glob("*/*"))
    paths = [path for path in entries if path.is_file()]
    names = [path.relative_to(raw.folder).as_posix() for path in paths]
    return [raw.folder / name for name in checkpoint_files(names, raw.id)]


def fitting_type(files: list[Path]) -> str:
    """What weights of such a size are exported to, where nobody has named a type."""
    size = sum(path.stat().st_size for path in files if path.suffix == ".safetensors")
    return "q8_0" if size < _SMALL_MODEL else "q4_k_m"


def _export(
    store: ExportStore,
    raw: RawCheckpoint,
    key: str,
    dtype: str,
    name: str,
    share: Share,
    room: Callable[[int], None],
    ended: Event | None,
) -> Export:
    file = f"{re.sub(r'[^A-Za-z0-9_.-]', '-', name) or 'model'}-{dtype.upper()}.gguf"
    path = store.path / key / file
    path.parent.mkdir(mode=0o700)
    try:
        answer = call(
            "exporting",
            {"folder": str(raw.folder), "out_path": str(path), "dtype": dtype, "name": name},
            doing=f"exporting {raw.id}",
            report=share,
            allow=room,
            ended=ended,
        )
        if export_key(raw.folder, _files(raw), dtype, name) != key:
            raise ExportError("it was changed meanwhile; start again when it is complete.")
        notices = tuple(map(str, answer["warnings"]))
        export = Export(key, raw.id, dtype, file, path.stat().st_size, notices)
        store.add(export)
    except BaseException:
        store.remove(key)
        raise
    return export
