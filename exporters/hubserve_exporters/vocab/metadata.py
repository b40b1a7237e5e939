"""A checkpoint's tokenizer as the keys of a GGUF file."""

from collections.abc import Mapping
from dataclasses import dataclass

from hubserve_exporters.checkpoint import Checkpoint
from hubserve_exporters.errors import AS_IT_IS, ExportError
from hubserve_exporters.gguf.writer import Value

from .added_tokens import added_tokens
from .byte_level import read_byte_level, vocabulary_of
from .files import SENTENCEPIECE, TOKENIZER, TokenizerFiles, read_tokenizer_files
from .framing import framing
from .runtime import as_run
from .sentencepiece_model import SentencePieceModel, parse_model
from .special_ids import special_ids
from .spm import read_byte_fallback, read_pieces
from .stripping import fitting_name, strips_space
from .templates import template_keys
from .vocabulary import Vocabulary


@dataclass(frozen=True, slots=True)
class TokenizerMetadata:
    """The keys, and a sentence for each thing that a user has to know of them."""

    keys: Mapping[str, Value]
    warnings: tuple[str, ...]
    strips_space: bool

    def model_name(self, name: str) -> str:
        """The name, or one like it: llama.cpp reads text otherwise if a name has Phi-3 in it."""
        return fitting_name(name, strips=self.strips_space)


def tokenizer_metadata(
    checkpoint: Checkpoint, rows: int, *, pre: str | None = None, strict: bool = False
) -> TokenizerMetadata:
    """`rows` is the number of rows of the embedding; `pre` names llama.cpp's pre-tokenizer, which
    is found otherwise. `strict` makes an error of whatever is suspicious in a chat template.

    Raises ExportError where the file would give other tokens than the checkpoint.
    """
    files = read_tokenizer_files(checkpoint)
    try:
        return _metadata(files, rows, pre, strict=strict)
    except RecursionError:
        raise ExportError(
            f"{TOKENIZER} is nested too deeply; take it from the original checkpoint."
        ) from None


def _metadata(
    files: TokenizerFiles, rows: int, pre: str | None, *, strict: bool
) -> TokenizerMetadata:
    model = read_sentencepiece(files)
    if pre is not None and (model is not None or files.tokenizer is None):
        raise ExportError(
            f"The pre-tokenizer {pre!r} was named, and this is a SentencePiece tokenizer, which has"
            " none; leave --pre out."
        )
    vocabulary = _vocabulary(files, model, pre)
    added = added_tokens(files, base_ids(files, model))
    vocabulary.complete(added, rows)
    warnings = vocabulary.warnings
    strips = strips_space(added)
    if files.tokenizer is not None:
        warnings += as_run(files.tokenizer, added, strips=strips)[1]
    ids = special_ids(files, vocabulary.ids(), _own_ids(model), warnings)
    keys = vocabulary.metadata()
    frame = framing(files, ids, warnings)
    keys |= {f"tokenizer.ggml.{key}": value for key, value in (ids | frame).items()}
    keys |= template_keys(files.templates, warnings, strict=strict)
    _check_texts(keys)
    return TokenizerMetadata(keys, tuple(warnings), strips)


def read_sentencepiece(files: TokenizerFiles) -> SentencePieceModel | None:
    """tokenizer.model, where it is what counts: tokenizer.json says otherwise if it is not of the
    same kind, and some repositories have another tokenizer under that name."""
    if files.sentencepiece is None or (
        files.tokenizer is not None and not falls_back_to_bytes(files.tokenizer)
    ):
        return None
    return parse_model(files.sentencepiece)


def _check_texts(keys: Mapping[str, Value]) -> None:
    """Raises ExportError for halves of characters, which JSON can say and UTF-8 cannot."""
    for key, value in keys.items():
        for text in value if isinstance(value, list) else (value,):
            try:
                if isinstance(text, str):
                    text.encode()
            except UnicodeEncodeError:
                raise ExportError(
                    f"What is to become {key!r} has a text that is none: {text!r:.60}. Take the"
                    " tokenizer from the original checkpoint."
                ) from None


def base_ids(files: TokenizerFiles, model: SentencePieceModel | None) -> dict[str, int]:
    """The id of each text, before anything is added."""
    if model is not None:
        return {piece.text: id for id, piece in enumerate(model.pieces)}
    return vocabulary_of(files.tokenizer["model"]) if files.tokenizer is not None else {}


def falls_back_to_bytes(tokenizer: Mapping[str, object]) -> bool:
    """Whether it is SentencePiece's BPE, as tokenizer.json has it."""
    match tokenizer.get("model"):
        case {"type": "BPE", "byte_fallback": True}:
            return True
    return False


def _vocabulary(
    files: TokenizerFiles, model: SentencePieceModel | None, pre: str | None
) -> Vocabulary:
    if model is not None:
        return read_pieces(model, files.tokenizer)
    if files.tokenizer is None:
        raise ExportError(
            f"The checkpoint has neither {TOKENIZER} nor {SENTENCEPIECE}; save its tokenizer there"
            " with save_pretrained in transformers."
        )
    match files.tokenizer.get("model"):
        case {"type": "BPE", "byte_fallback": True}:
            return read_byte_fallback(files.tokenizer)
        case {"type": "BPE"}:
            return read_byte_level(files.tokenizer, pre)
        case {"type": str(kind)}:
            raise ExportError(
                f"{TOKENIZER} is of the type {kind!r}, and BPE is what can be exported. {AS_IT_IS}"
            )
    raise ExportError(f"{TOKENIZER} does not say what its model is; fetch it again.")


def _own_ids(model: SentencePieceModel | None) -> dict[str, int]:
    if model is None:
        return {}
    ids = {"bos": model.bos_id, "eos": model.eos_id, "unk": model.unknown_id, "pad": model.pad_id}
    return {purpose: id for purpose, id in ids.items() if 0 <= id < len(model.pieces)}
