"""The command `hubserve exports`: the checkpoints that were exported to be served."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from hubserve_engine.config import CACHE_VARIABLE
from hubserve_engine.errors import StartError
from hubserve_engine.prefix_store.folder import default_folder
from hubserve_engine.units import size_text

if TYPE_CHECKING:
    from hubserve_engine.exports.store import Export


def exports(
    action: Annotated[
        Literal["ls", "rm"],
        typer.Argument(metavar="ls|rm", help="What to do.", show_default=False),
    ] = "ls",
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME", help="What to remove: names or keys that ls shows."),
    ] = None,
    everything: Annotated[
        bool,
        typer.Option(
            "--all", metavar="", help="Remove all of them, and what was begun and never finished."
        ),
    ] = False,
    cache_dir: Annotated[
        Path | None,
        typer.Option(file_okay=False, metavar="DIR", help=f"The folder. Also {CACHE_VARIABLE}."),
    ] = None,
) -> int:
    """List or remove the GGUF files that serving checkpoints has made, but for those in use."""
    from hubserve_engine.exports.store import ExportStore

    store = ExportStore((cache_dir or default_folder()).absolute())
    try:
        found = store.all()
        if action == "ls":
            print(f"{store.path}: {size_text(sum(export.size for export, _ in found))}")
            for export, used in found:
                day = time.strftime("%Y-%m-%d %H:%M", time.localtime(used))
                kind = f"{export.dtype:<8}{size_text(export.size):>10}"
                print(f"  {export.key[:8]}  {day}  {kind}  {export.id}")
            return 0
        wanted = set(names or ())
        if not wanted and not everything:
            raise StartError("Name what to remove, as `hubserve exports` lists it, or say --all.")
        there = [export for export, _ in found]
        meant = {export.key for name in sorted(wanted) for export in _meant(name, there)}
        chosen = [export for export in there if everything or export.key in meant]
        if everything:
            store.sweep()
        busy = []
        for export in chosen:
            if store.expel(export):
                print(f"removed {export.id} {export.dtype}, {size_text(export.size)}")
            else:
                busy.append(f"{export.id} {export.dtype}")
        if busy:
            raise StartError(f"A server that runs uses {', '.join(busy)}; stop it first.")
    except OSError as error:
        raise StartError(f"{str(store.path)!r} cannot be used: {error.strerror}.") from error
    return 0


def _meant(name: str, exports: "Sequence[Export]") -> "list[Export]":
    """All of this name, or the one whose key begins so. Raises StartError for none, and several."""
    if found := [export for export in exports if export.id == name]:
        return found
    found = [export for export in exports if name and export.key.startswith(name)]
    if len(found) != 1:
        what = f"{name!r} begins {len(found)} keys" if found else f"There is no export {name!r}"
        raise StartError(f"{what}; `hubserve exports` lists them.")
    return found
