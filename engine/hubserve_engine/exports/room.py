"""Room for an export that is about to be made: what was not used for longest goes first."""

from collections.abc import Callable

from hubserve_engine.exports.store import Export, ExportStore
from hubserve_engine.units import size_text
from hubserve_exporters.errors import ExportError
from hubserve_exporters.room import check_room, free_room

_STEP = "make room there, or name a folder on another disk with --cache-dir"


def make_room(
    store: ExportStore,
    key: str,
    needed: int,
    limit: int,
    removing: Callable[[Export], None],
) -> None:
    """Claims so many bytes for `key`, on the disk and within the `limit` of all exports.

    `removing` is told of each that goes for it; none goes that is in use, and none where all
    together would not be enough. Call it within `alone`. Raises ExportError, with the next step,
    and OSError.
    """
    with store.deciding():
        claims = store.claims(but=key)
        found = [export for export, _ in store.all() if export.key != key]
        allowed = limit - sum(export.size for export in found) - sum(size for size, _ in claims)
        free = free_room(store.path) - sum(size - taken for size, taken in claims)
        idle = [export for export in reversed(found) if store.is_idle(export)]
        removable = sum(export.size for export in idle)
        _check(store, needed, limit, allowed + removable, free + removable)
        for export in idle:
            if needed <= min(allowed, free):
                break
            removing(export)
            if store.expel(export):
                allowed += export.size
                free += export.size
        # Somebody may have begun to use one since.
        _check(store, needed, limit, allowed, free)
        store.claim(key, needed)


def _check(store: ExportStore, needed: int, limit: int, allowed: int, free: int) -> None:
    if needed > allowed:
        beside = "" if allowed >= limit else " beside those in use"
        raise ExportError(
            f"it needs {size_text(needed)} while it is made, and --export-disk {size_text(limit)}"
            f" leaves {size_text(max(0, allowed))} for exports{beside}: name a larger"
            " --export-disk."
        )
    beside = ", even without the exports that nobody uses"
    check_room(store.path, needed, free, beside=beside, step=_STEP)
