"""What a file has to pass before it gets its name."""

from collections.abc import Sequence
from pathlib import Path

from hubserve_exporters.checkpoint import Checkpoint
from hubserve_exporters.errors import ExportError
from hubserve_exporters.export_config import CheckLevel
from hubserve_exporters.gguf.errors import GGUFError
from hubserve_exporters.gguf.reader import open_gguf
from hubserve_exporters.parity import check_logits, check_run
from hubserve_exporters.vocab.compare import check_tokenizers
from hubserve_exporters.vocab.corpus import corpus
from hubserve_exporters.vocab.templates import check_templates


def check(
    files: Sequence[Path], checkpoint: Checkpoint, level: CheckLevel, *, known_error: float = 0
) -> list[str]:
    """What was checked, as the user is told. Raises ExportError if something is wrong.

    `files` are the parts of the model, the first one first; they have the names that they are to
    have, in a folder where nobody looks for them yet. "none" reads them by the format alone, "fast"
    compares the tokenizer with the checkpoint's, renders the chat templates and runs a few tokens,
    "full" compares the logits with those of transformers, too: see `Architecture.known_error`.
    """
    has_weights = _check_structure(files)
    checked = ["structure"]
    if level != "none" and _has_tokens(files[0]):
        check_tokenizers(files[0], checkpoint)
        checked.append(f"tokens of {len(corpus())} texts")
        with open_gguf(files[0]) as file:
            if said := check_templates(file.metadata):
                checked.append(said)
    if level != "none" and has_weights:
        check_run(files)
        checked.append("a decode in llama.cpp")
    if level == "full" and has_weights:
        checked.append(check_logits(files, checkpoint, known_error=known_error))
    return checked


def _check_structure(files: Sequence[Path]) -> bool:
    """Whether there are any weights."""
    count = 0
    for path in files:
        try:
            with open_gguf(path) as file:
                count += len(file.tensors)
        except GGUFError as error:
            raise ExportError(f"The file that was written is not sound: {error}.") from error
    return count > 0


def _has_tokens(path: Path) -> bool:
    with open_gguf(path) as file:
        return "tokenizer.ggml.tokens" in file.metadata
