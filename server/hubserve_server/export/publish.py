"""What an export made, with a card of it, onto the Hub; and nothing that lies beside it."""

import os
import shutil
import tempfile
import warnings
from collections.abc import Callable, Mapping
from importlib import metadata
from pathlib import Path

from hubserve_engine.catalog import RawCheckpoint
from hubserve_engine.units import size_text
from hubserve_exporters import Exported, GGUFExportConfig
from hubserve_exporters.card import CardWarning, generate_model_card
from hubserve_exporters.checkpoint import open_checkpoint
from hubserve_exporters.hub import Pushed, push_to_hub
from hubserve_server.export.explained import explained
from hubserve_server.export.uploading import uploading


def publish(
    repo: str,
    raw: RawCheckpoint,
    config: GGUFExportConfig,
    done: Exported,
    *,
    private: bool,
    ended: Callable[[], bool],
) -> tuple[Pushed, tuple[str, ...]]:
    """Uploads the files of an export, with a card and the licence; and says what the card lacks.

    `ended` is asked by its threads, and stops it.
    Raises StartError.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", CardWarning)
        card = generate_model_card(
            raw.id.partition("@")[0],
            _recipe(raw, config, done),
            dict.fromkeys(done.checked, "passed"),
            name=repo.rpartition("/")[2],
            source=raw.folder,
        )
    said = tuple(str(one.message) for one in caught if one.category is CardWarning)
    beside = done.files[0].parent
    with explained(), tempfile.TemporaryDirectory(dir=beside, prefix=".push-") as name:
        folder = Path(name)
        for file in done.files:
            _place(file, folder / file.name)
        source = open_checkpoint(raw.folder)
        for path in (*raw.folder.glob("LICENSE*"), *raw.folder.glob("NOTICE*")):
            # One that leads out of the checkpoint is refused: nobody publishes that unawares.
            if path.is_file() and (real := source.file(path.name)):
                _place(real, folder / path.name)
        with uploading() as report:
            pushed = push_to_hub(folder, repo, card, private, report=report, ended=ended)
    return pushed, said


def _recipe(raw: RawCheckpoint, config: GGUFExportConfig, done: Exported) -> Mapping[str, object]:
    recipe: dict[str, object] = {
        "Checkpoint": raw.id,
        "Architecture": done.architecture,
        "Type": config.dtype.lower(),
        "Tensors": ", ".join(f"{count} {kind}" for kind, (count, _) in done.types.items()),
        "Size": size_text(done.size),
    }
    if config.importance is not None:
        recipe["Importance matrix"] = config.importance.name
    if config.pre is not None:
        recipe["Pre-tokenizer, named by hand"] = config.pre
    return {**recipe, "Made with": f"hubserve {metadata.version('hubserve')}"}


def _place(file: Path, target: Path) -> None:
    """A second name for a file, or a copy of it where there can be none."""
    real = file.resolve()
    try:
        os.link(real, target)
    except OSError:
        shutil.copyfile(real, target)
