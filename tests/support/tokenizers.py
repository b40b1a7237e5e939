"""Small tokenizers of each kind, made here, and folders of checkpoints that have them."""

import io
import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hubserve_exporters.checkpoint import Checkpoint, open_checkpoint
from hubserve_exporters.gguf.reader import open_gguf
from hubserve_exporters.gguf.writer import Value, encode_header
from hubserve_exporters.vocab.metadata import TokenizerMetadata, tokenizer_metadata
from hubserve_exporters.vocab.patterns import GPT2
from hubserve_exporters.vocab.restore import tokenizer_files

TEXTS = (
    "The man and the land, in an hour of the other line. It's 1234 o'clock, they're 56 of 7.",
    "def find(x):\n    return [y for y in x if y != 0]  # the other one\n\n",
    "Größe über alles, щастие и любов, 漢字と仮名, 你好世界, ﷺ, 🙂🙂",
    "HTTPServer camelCase snake_case 3.14 2024-01-01   ...   !!!   -----",
)
CONTROL = "<|end|>"
TAG = "<think>"


def byte_level(
    patterns: Sequence[str] = (GPT2,),
    *,
    ignore_merges: bool = False,
    normalizer: object = None,
    control: Mapping[str, object] | None = None,
) -> dict[str, Any]:
    """A tokenizer.json that splits by these patterns, trained on TEXTS: bytes, some merges, and the
    tokens CONTROL (flags of it as in `control`) and TAG."""
    trained = json.loads(_trained_bytes(tuple(patterns)))
    trained["model"]["ignore_merges"] = ignore_merges
    trained["normalizer"] = normalizer
    size = len(trained["model"]["vocab"])
    flags = {"lstrip": False, "rstrip": False, "single_word": False, "normalized": False}
    trained["added_tokens"] = [
        {"id": size, "content": CONTROL, **flags, "special": True, **(control or {})},
        {"id": size + 1, "content": TAG, **flags, "special": False},
    ]
    return dict(trained)


@cache
def _trained_bytes(patterns: tuple[str, ...]) -> str:
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    last = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    splits = [pre_tokenizers.Split(Regex(pattern), "isolated") for pattern in patterns]
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([*splits, last])
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=420, initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator(TEXTS, trainer)
    return str(tokenizer.to_str())


@cache
def sentencepiece_model(*user_defined: str, prefix: bool = True) -> bytes:
    """A tokenizer.model: BPE that falls back to bytes, with a space put first, or not."""
    from sentencepiece import SentencePieceTrainer

    out = io.BytesIO()
    SentencePieceTrainer.Train(
        sentence_iterator=iter(TEXTS),
        model_writer=out,
        vocab_size=420,
        model_type="bpe",
        byte_fallback=True,
        normalization_rule_name="identity",
        remove_extra_whitespaces=False,
        add_dummy_prefix=prefix,
        user_defined_symbols=list(user_defined),
        minloglevel=2,
    )
    return out.getvalue()


def sentencepiece_json() -> dict[str, Any]:
    """A tokenizer.json of the same model."""
    return dict(json.loads(_restored_model()["tokenizer.json"]))


@cache
def _restored_model() -> dict[str, bytes]:
    with TemporaryDirectory() as name:
        checkpoint = folder(Path(name), model=sentencepiece_model())
        file = Path(name) / "v.gguf"
        export_vocabulary(checkpoint, file, 420)
        with open_gguf(file) as opened:
            return tokenizer_files(opened.metadata)


def put_first(text: str, id: int) -> dict[str, Any]:
    """A post_processor that puts this token before a text."""
    first = {"SpecialToken": {"id": text, "type_id": 0}}
    a, b = ({"Sequence": {"id": letter, "type_id": n}} for n, letter in enumerate("AB"))
    return {
        "type": "TemplateProcessing",
        "single": [first, a],
        "pair": [first, a, b],
        "special_tokens": {text: {"id": text, "ids": [id], "tokens": [text]}},
    }


def folder(
    path: Path,
    *,
    tokenizer: Mapping[str, Any] | None = None,
    model: bytes | None = None,
    config: Mapping[str, object] | None = None,
    tokenizer_config: Mapping[str, object] | None = None,
    generation: Mapping[str, object] | None = None,
) -> Checkpoint:
    """A checkpoint with no weights: what says nothing is not written."""
    path.mkdir(parents=True, exist_ok=True)
    for name, value in (
        ("config.json", config or {}),
        ("tokenizer.json", tokenizer),
        ("tokenizer_config.json", tokenizer_config),
        ("generation_config.json", generation),
    ):
        if value is not None:
            (path / name).write_text(json.dumps(value), "utf-8")
    if model is not None:
        (path / "tokenizer.model").write_bytes(model)
    return open_checkpoint(path)


def rows_of(tokenizer: Mapping[str, Any]) -> int:
    """As many as its tokens need."""
    ids = [*tokenizer["model"]["vocab"].values(), *(t["id"] for t in tokenizer["added_tokens"])]
    return int(max(ids)) + 1


def export_vocabulary(
    checkpoint: Checkpoint, path: Path, rows: int, *, pre: str | None = None
) -> TokenizerMetadata:
    """Writes a file with the tokenizer and nothing else."""
    found = tokenizer_metadata(checkpoint, rows, pre=pre)
    write_vocabulary(path, found.keys)
    return found


def write_vocabulary(path: Path, keys: Mapping[str, Value], name: str = "made here") -> None:
    """A file with these keys and no tensor."""
    general = {"general.architecture": "llama", "general.name": name}
    path.write_bytes(encode_header({**general, **keys}, []))
