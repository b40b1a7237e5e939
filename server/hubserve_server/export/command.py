"""The command `hubserve export`: a checkpoint becomes a GGUF file. Help imports nothing heavy."""

import sys
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from hubserve_engine.errors import StartError
from hubserve_engine.types import Stage
from hubserve_engine.units import size_text
from hubserve_server.arguments import size
from hubserve_server.export.bar import bar
from hubserve_server.export.ending import cleared_up
from hubserve_server.export.explained import explained
from hubserve_server.export.summary import histogram, notes

if TYPE_CHECKING:
    from hubserve_engine.catalog import RawCheckpoint
    from hubserve_exporters import Exported, GGUFExportConfig

AUTO = "auto"


def export(
    checkpoint: Annotated[
        str,
        typer.Argument(
            metavar="CHECKPOINT",
            help="owner/repo, owner/repo@revision, or the folder of a checkpoint; with :TYPE or"
            " without.",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="Where to; NAME-TYPE.gguf in this folder otherwise.",
        ),
    ] = None,
    type_: Annotated[
        str,
        typer.Option(
            "--type",
            "-t",
            metavar="TYPE",
            help="auto (as the checkpoint has it), f32, f16, bf16, q8_0, q6_k, q5_k_m, q4_k_m,"
            " q4_0, mxfp4, iq4_xs ...",
        ),
    ] = AUTO,
    imatrix: Annotated[
        Path | None,
        typer.Option(
            exists=True,
            dir_okay=False,
            metavar="FILE",
            help="An importance matrix of llama-imatrix.",
        ),
    ] = None,
    name: Annotated[
        str | None, typer.Option(metavar="NAME", help="What the model is called.")
    ] = None,
    architecture: Annotated[
        str | None,
        typer.Option(metavar="CLASS", help="The class of transformers, if config.json is wrong."),
    ] = None,
    pre: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="llama.cpp's pre-tokenizer, where it is not found."),
    ] = None,
    split_max_size: Annotated[
        int,
        typer.Option(
            parser=size,
            metavar="SIZE",
            show_default="0, one file",
            help="Write parts of at most this size, such as 4GiB.",
        ),
    ] = 0,
    vocab_only: Annotated[
        bool, typer.Option("--vocab-only", metavar="", help="The tokenizer without the weights.")
    ] = False,
    mtp: Annotated[
        bool, typer.Option("--mtp", metavar="", help="Keep the layers that guess further tokens.")
    ] = False,
    strict: Annotated[
        bool,
        typer.Option("--strict", metavar="", help="Refuse what is suspicious in a chat template."),
    ] = False,
    allow_pickle: Annotated[
        bool,
        typer.Option(
            "--allow-pickle", metavar="", help="Read .bin weights, if you trust whoever made them."
        ),
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            metavar="",
            help="Say what would be written, and write nothing. Of the Hub's weights the headers"
            " are enough.",
        ),
    ] = False,
    check: Annotated[
        Literal["fast", "full", "none"],
        typer.Option(
            help="fast: tokenizer, chat template and a decode in llama.cpp; full: the logits of"
            " transformers, too."
        ),
    ] = "fast",
    push: Annotated[
        str | None,
        typer.Option(metavar="OWNER/REPO", help="Upload what was made, to a private repository."),
    ] = None,
    public: Annotated[
        bool, typer.Option("--public", metavar="", help="Let everyone see it there.")
    ] = False,
) -> int:
    """Make a GGUF file of a checkpoint, checked before it has its name."""
    from hubserve_engine.catalog import Catalog
    from hubserve_exporters import GGUFExportConfig, export_gguf
    from hubserve_exporters.hub import check_repository
    from hubserve_exporters.preview import check_config
    from hubserve_exporters.quantize import scheme_of

    # What is wrong with the arguments is said before anything is fetched.
    type_ = _type(checkpoint, type_)
    with explained():
        scheme_of(type_, imatrix)
        if push is not None:
            check_repository(push)
    with explained(), cleared_up() as ended, ExitStack() as stack:
        catalog = Catalog(look=lambda raw: check_config(raw.folder, architecture))
        if dry_run:
            folder = Path(stack.enter_context(TemporaryDirectory(prefix="hubserve-")))
            raw = catalog.outline(checkpoint, folder, progress=_tell, pickles=allow_pickle)
        else:
            raw = catalog.checkpoint(checkpoint, progress=_tell, pickles=allow_pickle)
        called = name or raw.id.rpartition("/")[2].partition("@")[0]
        config = GGUFExportConfig(
            out_path=_target(out, called, type_, raw),
            dtype=type_,
            importance=imatrix,
            architecture=architecture,
            name=called,
            pre=pre,
            split_max_size=split_max_size or None,
            vocab_only=vocab_only,
            keep_mtp=mtp,
            strict=strict,
            allow_pickle=allow_pickle,
            check=check,
        )
        if dry_run:
            _show_plan(raw, config)
            return 0
        with bar("Writing ", "Checking") as report:
            done = export_gguf(raw.folder, config, report)
        _show(done)
        if push is not None:
            _push(push, raw, config, done, private=not public, ended=ended)
    return 0


def _type(checkpoint: str, asked: str) -> str:
    """The type that stands behind the name or with its option. Raises StartError."""
    from hubserve_engine.catalog.export_type import export_type
    from hubserve_engine.catalog.model_id import parse

    wanted = parse(checkpoint).wanted
    place = checkpoint.strip().removesuffix(f":{wanted}")
    given = None if wanted and asked.lower() == AUTO else asked
    return export_type(place, wanted, given, "--type") or AUTO


def _tell(stage: Stage, sentence: str) -> None:
    print(sentence, file=sys.stderr, flush=True)


def _target(out: Path | None, name: str, type_: str, raw: "RawCheckpoint") -> Path:
    if out is not None and not out.is_dir():
        return out if out.suffix == ".gguf" else out.with_name(f"{out.name}.gguf")
    kind = type_
    if kind.lower() == "auto":
        from hubserve_exporters.checkpoint import WEIGHTS, open_checkpoint
        from hubserve_exporters.types import source_type

        checkpoint = open_checkpoint(raw.folder)
        pickled = not any(raw.folder.glob(f"*{Path(WEIGHTS).suffix}"))
        kind = "auto" if pickled else source_type(checkpoint.tensors.values()).name
    return (out or Path()) / f"{name.replace('/', '-')}-{kind.upper()}.gguf"


def _show_plan(raw: "RawCheckpoint", config: "GGUFExportConfig") -> None:
    from hubserve_exporters import preview_export

    seen = preview_export(raw.folder, config)
    parts = f" in {seen.parts} parts" if seen.parts > 1 else ""
    before = f" before llama.cpp makes {seen.scheme} of it" if seen.scheme else ""
    print(f"{config.out_path} would have {size_text(seen.size)}{parts}{before}:")
    for line in (*histogram(seen.types), *notes((), seen.warnings)):
        print(line)


def _show(done: "Exported") -> None:
    parts = f" in {len(done.files)} parts" if len(done.files) > 1 else ""
    print(f"{done.files[0]}: {done.architecture}, {size_text(done.size)}{parts}")
    for line in (*histogram(done.types), *notes(done.checked, done.warnings)):
        print(line)


def _push(
    repo: str,
    raw: "RawCheckpoint",
    config: "GGUFExportConfig",
    done: "Exported",
    *,
    private: bool,
    ended: Event,
) -> None:
    from hubserve_server.export.publish import publish

    try:
        pushed, warnings = publish(repo, raw, config, done, private=private, ended=ended.is_set)
    except StartError as error:
        raise StartError(f"{done.files[0]} is made, but not published: {error.message}") from error
    for line in notes((), warnings):
        print(line)
    print(pushed)
