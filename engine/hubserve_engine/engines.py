"""Which engine serves a model: the one place that knows them all."""

import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from threading import Event

from hubserve_engine import select, select_transformers
from hubserve_engine.catalog import Catalog, RawCheckpoint, ResolvedModel
from hubserve_engine.catalog.model_id import LocalModel, parse
from hubserve_engine.catalog.resolve import Progress
from hubserve_engine.config import EngineConfig
from hubserve_engine.errors import ResolveError, StartError
from hubserve_engine.gpus import detect_gpus, detect_torch_gpus
from hubserve_engine.hardware import Gpu, Hardware, detect
from hubserve_engine.rehearsal import scripted
from hubserve_engine.select import Choice

Share = Callable[[float], None]
"""Takes how much is done, from 0 to 1."""


class _NoExporter(Exception):
    """Of a checkpoint's architecture no GGUF file can be made."""

    def __init__(self, raw: RawCheckpoint, architecture: str) -> None:
        super().__init__(architecture)
        self.raw = raw
        self.architecture = architecture


def find(
    config: EngineConfig, report: Progress, share: Share, ended: Event | None = None
) -> tuple[ResolvedModel, Choice]:
    """The model's files, and how it is run. It blocks; `report` hears what is being done, and
    `share` how much of an export is, which `ended` ends when it is set.

    Raises StartError.
    """
    if config.engine == "scripted":
        return scripted(config.model)
    if config.engine == "transformers":
        _check_installed()
        return _in_transformers(config, _for_transformers(config, report), "--engine")
    catalog = Catalog(
        export=partial(_export, config, share, ended),
        export_type=config.export_type,
        look=partial(_look, config),
    )
    try:
        model = catalog.resolve(config.model.model, progress=report)
    except _NoExporter as found:
        from hubserve_engine.catalog.checkpoint_model import read_checkpoint

        reason = f"no GGUF file can be made of {found.architecture}"
        return _in_transformers(config, read_checkpoint(found.raw), reason)
    return model, select.choose(model, _machine(detect_gpus), config.model)


def _export(
    config: EngineConfig,
    share: Share,
    ended: Event | None,
    raw: RawCheckpoint,
    report: Progress,
) -> tuple[Path, tuple[str, ...]]:
    # What these import is for those who serve checkpoints.
    from hubserve_engine.exports.obtain import obtain
    from hubserve_exporters.architectures import TABLE
    from hubserve_exporters.checkpoint import open_checkpoint
    from hubserve_exporters.errors import ExportError

    if _may_be_any(config, raw):
        with suppress(ExportError):  # which the export will tell
            architecture = open_checkpoint(raw.folder).architecture
            if architecture not in TABLE:
                raise _NoExporter(raw, architecture)
    return obtain(raw, config, report, share, ended)


def _look(config: EngineConfig, raw: RawCheckpoint) -> None:
    """Raises ResolveError for a checkpoint whose weights are not worth fetching."""
    from hubserve_exporters.errors import ExportError
    from hubserve_exporters.preview import check_config

    try:
        check_config(raw.folder, "" if _may_be_any(config, raw) else None)
    except ExportError as error:
        raise ResolveError(f"{raw.id!r} cannot be served: {error}", param="model") from error


def _may_be_any(config: EngineConfig, raw: RawCheckpoint) -> bool:
    """Whether transformers can serve it. Whoever names a type wants a file of it."""
    if config.engine == "transformers":
        return True
    return config.engine == "auto" and raw.wanted is None and _installed()


def _in_transformers(
    config: EngineConfig, model: ResolvedModel, reason: str
) -> tuple[ResolvedModel, Choice]:
    machine = _machine(detect_torch_gpus)
    return model, select_transformers.choose(model, machine, config.model, reason)


def _for_transformers(config: EngineConfig, report: Progress) -> ResolvedModel:
    """The GGUF file that is named, or else a checkpoint."""
    from hubserve_engine.catalog.checkpoint_model import read_checkpoint

    name = config.model.model
    catalog = Catalog(look=partial(_look, config))
    if not _names_file(name):
        return read_checkpoint(catalog.checkpoint(name, progress=report))
    model = catalog.resolve(name, progress=report)
    if len(model.files) > 1:
        raise StartError(
            f"{model.id!r} is in {len(model.files)} parts, and transformers reads one file: serve"
            " it with llama.cpp (--engine auto), or choose a file that is whole."
        )
    return model


def _names_file(name: str) -> bool:
    """Whether a model's name means a GGUF file, or a quantization, rather than all of a place."""
    named = parse(name)
    return named.wanted is not None or (isinstance(named, LocalModel) and not named.path.is_dir())


def _installed() -> bool:
    return find_spec("torch") is not None and find_spec("transformers") is not None


def _check_installed() -> None:
    if not _installed():
        raise StartError(
            "The engine 'transformers' needs PyTorch and transformers, which are not installed:"
            f" {sys.executable} -m pip install 'hubserve[transformers]'"
        )


def _machine(gpus: Callable[[Hardware], tuple[Gpu, ...]]) -> Hardware:
    machine = detect()
    return replace(machine, gpus=gpus(machine))
