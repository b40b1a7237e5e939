"""Whether prefixes are kept on disk, and where: settled before the worker starts."""

from dataclasses import dataclass
from pathlib import Path

from hubserve_engine.catalog.identity import identity
from hubserve_engine.config import DiskCache, EngineConfig
from hubserve_engine.model_info import DiskUse
from hubserve_engine.prefix_store.folder import CacheUnusable, Folder, default_folder
from hubserve_engine.surrogates import mended


@dataclass(frozen=True, slots=True)
class Settled:
    """What the worker is told and what is shown; neither where prefixes are not kept on disk.

    `notices` say why, if that is not what was asked for.
    """

    cache: DiskCache | None = None
    use: DiskUse | None = None
    notices: tuple[str, ...] = ()


def settle(config: EngineConfig, files: tuple[Path, ...]) -> Settled:
    """For a model of these files. It reads a little of each, and makes the folder."""
    if not config.cache_disk:
        return Settled()
    cache = (config.cache_dir or default_folder()).absolute()
    folder = Folder(cache)
    try:
        if str(cache) != mended(str(cache)):
            raise CacheUnusable(f"The name of the folder {str(cache)!r} is not UTF-8.")
        folder.open()
        used = folder.usage().size
        weights = identity(files)
    except (CacheUnusable, OSError) as error:
        return Settled(
            notices=(
                f"{error} So prefixes are lost when the server ends; choose another folder with"
                " --cache-dir, or say --cache-disk 0 to go without.",
            )
        )
    return Settled(
        DiskCache(folder=str(cache), limit=config.cache_disk, weights=weights),
        DiskUse(folder=str(folder.path), used=used, limit=config.cache_disk),
    )
