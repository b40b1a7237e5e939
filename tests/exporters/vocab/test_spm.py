"""SentencePiece's BPE, out of either file."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from tests.support.tokenizers import (
    export_vocabulary,
    folder,
    put_first,
    sentencepiece_json,
    sentencepiece_model,
    write_vocabulary,
)

from hubserve_exporters.errors import ExportError
from hubserve_exporters.gguf.writer import Value
from hubserve_exporters.vocab.compare import check_tokenizers, compare_tokenizers
from hubserve_exporters.vocab.metadata import tokenizer_metadata
from hubserve_exporters.vocab.sentencepiece_model import (
    ModelType,
    Piece,
    PieceType,
    SentencePieceModel,
)
from hubserve_exporters.vocab.spm import read_byte_fallback, read_pieces

SIZE = 420
ADDED = {"added_tokens_decoder": {"420": {"content": "<|im_end|>", "special": True}}}


def test_tokenizer_model_alone_gives_the_same_tokens(tmp_path: Path) -> None:
    checkpoint = folder(tmp_path, model=sentencepiece_model(), tokenizer_config=ADDED)
    file = tmp_path / "v.gguf"
    found = export_vocabulary(checkpoint, file, 424)
    keys = found.keys
    assert (keys["tokenizer.ggml.model"], keys["tokenizer.ggml.pre"]) == ("llama", "default")
    assert keys["tokenizer.ggml.add_space_prefix"] is True
    assert (keys["tokenizer.ggml.bos_token_id"], keys["tokenizer.ggml.eos_token_id"]) == (1, 2)
    assert keys["tokenizer.ggml.unknown_token_id"] == 0
    assert "tokenizer.ggml.padding_token_id" not in keys
    assert "tokenizer.ggml.add_bos_token" not in keys, "no file says so"
    texts = list(types_of(keys))
    assert texts[420:] == ["<|im_end|>", "[PAD421]", "[PAD422]", "[PAD423]"]
    assert compare_tokenizers(file, checkpoint) == []


def test_tokenizer_json_alone_scores_by_its_merges(tmp_path: Path) -> None:
    tokenizer = sentencepiece_json()
    checkpoint = folder(
        tmp_path / "json", tokenizer=tokenizer, tokenizer_config={"eos_token": "</s>"}
    )
    file = tmp_path / "v.gguf"
    found = export_vocabulary(checkpoint, file, SIZE)
    assert compare_tokenizers(file, checkpoint) == []
    types = types_of(found.keys)
    assert types["<unk>"] == PieceType.UNKNOWN
    assert types["<0x00>"] == PieceType.BYTE
    assert types["</s>"] == PieceType.CONTROL


def test_runs_of_spaces_as_tokens_are_found_as_gemma_has_them(tmp_path: Path) -> None:
    model = sentencepiece_model("\u2581\u2581", "\u2581\u2581\u2581", "[x]", prefix=False)
    checkpoint = folder(tmp_path, model=model)
    file = tmp_path / "v.gguf"
    found = export_vocabulary(checkpoint, file, SIZE)
    tokens = found.keys["tokenizer.ggml.tokens"]
    assert isinstance(tokens, list) and {"  ", "   ", "[x]"} <= set(tokens)
    assert compare_tokenizers(file, checkpoint) == []


def test_what_stands_behind_a_token_of_the_model_has_no_space_put_first(tmp_path: Path) -> None:
    checkpoint = folder(tmp_path, model=sentencepiece_model("[x]"))
    export_vocabulary(checkpoint, tmp_path / "v.gguf", SIZE)
    with pytest.raises(ExportError, match=r"gives other tokens.*for \d+ texts(?s:.*)'\[x\]"):
        check_tokenizers(tmp_path / "v.gguf", checkpoint)


def test_one_score_for_all_pieces_is_found_out(tmp_path: Path) -> None:
    tokenizer = sentencepiece_json()
    checkpoint = folder(
        tmp_path / "json", tokenizer=tokenizer, tokenizer_config={"eos_token": "</s>"}
    )
    keys = dict(tokenizer_metadata(checkpoint, SIZE).keys)
    keys["tokenizer.ggml.scores"] = [-1000.0] * SIZE
    write_vocabulary(tmp_path / "v.gguf", keys)
    assert compare_tokenizers(tmp_path / "v.gguf", checkpoint)


def test_both_files_together_agree(tmp_path: Path) -> None:
    checkpoint = folder(
        tmp_path / "both",
        tokenizer={**sentencepiece_json(), "post_processor": put_first("<s>", 1)},
        model=sentencepiece_model(),
        tokenizer_config={"eos_token": "</s>", "bos_token": "<s>"},
    )
    file = tmp_path / "v.gguf"
    found = export_vocabulary(checkpoint, file, SIZE)
    assert found.keys["tokenizer.ggml.add_bos_token"] is True
    assert compare_tokenizers(file, checkpoint) == []


def test_a_model_of_another_kind_is_refused() -> None:
    model = SentencePieceModel(pieces=(Piece("a"),), model_type=ModelType.UNIGRAM)
    with pytest.raises(ExportError, match="of the type UNIGRAM"):
        read_pieces(model, None)
    changing = SentencePieceModel(
        pieces=(Piece("a"),), model_type=ModelType.BPE, normalizer="nmt_nfkc", charsmap=b"x"
    )
    with pytest.raises(ExportError, match=r"changes characters.*nmt_nfkc"):
        read_pieces(changing, None)


def test_a_byte_without_a_token_is_refused() -> None:
    vocab = {f"<0x{byte:02X}>": byte for byte in range(256) if byte != 10}
    with pytest.raises(ExportError, match="has no token '<0x0A>'"):
        read_byte_fallback({"model": {"vocab": vocab}})


def test_a_tiktoken_file_of_that_name_is_passed_over(tmp_path: Path) -> None:
    with pytest.raises(ExportError, match=r"tokenizer\.model is not a SentencePiece model"):
        tokenizer_metadata(folder(tmp_path, model=b"IQ== 0\nIg== 1\n"), 9)


def types_of(keys: Mapping[str, Value]) -> dict[str, int]:
    """The type of each token's text, in order."""
    texts, types = keys["tokenizer.ggml.tokens"], keys["tokenizer.ggml.token_type"]
    assert isinstance(texts, list) and isinstance(types, np.ndarray)
    return dict(zip(texts, types.tolist(), strict=True))
