"""Metadata asked for by type, in files that the gguf package wrote."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import gguf
import pytest
from gguf import GGUFValueType, GGUFWriter
from tests.support.fetched import real_model

from hubserve_exporters.gguf.errors import GGUFError
from hubserve_exporters.gguf.metadata import Metadata
from hubserve_exporters.gguf.reader import open_gguf
from hubserve_exporters.gguf.values import MAX_TEXT_BYTES, StringArray


@contextmanager
def written(folder: Path, fill: Callable[[GGUFWriter], None]) -> Iterator[Metadata]:
    path = folder / "a.gguf"
    writer = GGUFWriter(path, "llama")
    fill(writer)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    with open_gguf(path) as file:
        yield file.metadata


def fill_each_type(writer: GGUFWriter) -> None:
    for kind, value in {
        "uint8": 255,
        "int8": -128,
        "uint16": 65535,
        "int16": -32768,
        "uint32": 2**32 - 1,
        "int32": -(2**31),
        "float32": 0.5,
        "uint64": 2**64 - 1,
        "int64": -(2**63),
        "float64": 0.1,
    }.items():
        writer.add_key_value(f"one.{kind}", value, GGUFValueType[kind.upper()])
        writer.add_key_value(
            f"many.{kind}", [value, 0], GGUFValueType.ARRAY, GGUFValueType[kind.upper()]
        )
    writer.add_bool("one.bool", True)
    writer.add_key_value("many.bool", [True, False], GGUFValueType.ARRAY, GGUFValueType.BOOL)
    writer.add_string("one.string", "día 🙂")
    writer.add_array("many.string", ["día", "", "🙂"])


def test_each_type_is_read_as_it_was_written(tmp_path: Path) -> None:
    with written(tmp_path, fill_each_type) as metadata:
        assert metadata["one.uint8"] == 255
        assert metadata["one.int8"] == -128
        assert metadata["one.uint16"] == 65535
        assert metadata["one.int16"] == -32768
        assert metadata["one.uint32"] == 2**32 - 1
        assert metadata["one.int32"] == -(2**31)
        assert metadata["one.float32"] == 0.5
        assert metadata["one.uint64"] == 2**64 - 1
        assert metadata["one.int64"] == -(2**63)
        assert metadata["one.float64"] == 0.1
        assert metadata["one.bool"] is True
        assert metadata["one.string"] == "día 🙂"
        for key in [key for key in metadata if key.startswith("one.") and "string" not in key]:
            many = metadata[key.replace("one.", "many.")]
            assert isinstance(many, memoryview)
            assert many.tolist() == [metadata[key], 0]
        assert list(metadata.strings("many.string") or ()) == ["día", "", "🙂"]


def test_a_value_is_asked_for_by_type(tmp_path: Path) -> None:
    with written(tmp_path, fill_each_type) as metadata:
        assert metadata.string("one.string") == "día 🙂"
        assert metadata.flag("one.bool") is True
        assert metadata.uint("one.uint64") == 2**64 - 1
        assert metadata.number("one.int8") == -128
        assert metadata.number("one.float32") == 0.5
        assert list(metadata.uints("many.uint16") or ()) == [65535, 0]
        assert metadata.uints("one.uint8") == (255,)


def test_what_is_not_there_is_none(tmp_path: Path) -> None:
    with written(tmp_path, fill_each_type) as metadata:
        assert metadata.string("no") is None
        assert metadata.strings("no") is None
        assert metadata.flag("no") is None
        assert metadata.number("no") is None
        assert metadata.uint("no") is None
        assert metadata.uints("no") is None
        assert "no" not in metadata
        assert "one.string" in metadata
        with pytest.raises(KeyError):
            metadata["no"]


@pytest.mark.parametrize(
    ("ask", "key", "found"),
    [
        (Metadata.string, "one.uint8", "a string, and is 255"),
        (Metadata.strings, "one.string", "an array of strings, and is the string 'día 🙂'"),
        (Metadata.strings, "many.uint8", "an array of strings, and is an array of 2"),
        (Metadata.flag, "one.uint8", "a bool, and is 255"),
        (Metadata.number, "one.bool", "a number, and is True"),
        (Metadata.uint, "one.int8", "zero or more, and is -128"),
        (Metadata.uint, "one.bool", "zero or more, and is True"),
        (Metadata.uint, "one.float32", "zero or more, and is 0.5"),
        (Metadata.uints, "many.int8", "zero or more, and is an array of 2"),
        (Metadata.uints, "many.float32", "zero or more, and is an array of 2"),
        (Metadata.uints, "many.bool", "zero or more, and is an array of 2"),
        (Metadata.uints, "many.string", "zero or more, and is an array of 3"),
    ],
)
def test_another_type_than_the_asked_one_is_an_error_with_the_key(
    tmp_path: Path, ask: Callable[[Metadata, str], object], key: str, found: str
) -> None:
    with (
        written(tmp_path, fill_each_type) as metadata,
        pytest.raises(GGUFError, match=f"'{key}' has to be .*{found}"),
    ):
        ask(metadata, key)


def test_strings_behave_as_a_sequence(tmp_path: Path) -> None:
    def fill(writer: GGUFWriter) -> None:
        writer.add_array("tokens", ["a", "b", "cd", "b"])

    with written(tmp_path, fill) as metadata:
        tokens = metadata.strings("tokens")
        assert isinstance(tokens, StringArray)
        assert len(tokens) == 4
        assert tokens[2] == tokens[-2] == "cd"
        assert tokens[1:3] == ["b", "cd"]
        assert tokens.index("b") == 1
        assert "cd" in tokens
        assert "c" not in tokens
        with pytest.raises(IndexError):
            tokens[4]


def test_a_token_that_is_a_part_of_a_character_keeps_its_bytes(tmp_path: Path) -> None:
    def fill(writer: GGUFWriter) -> None:
        writer.add_token_list([b"\xf0\x9f", b"\x99\x82"])

    with written(tmp_path, fill) as metadata:
        tokens = metadata.strings("tokenizer.ggml.tokens") or ()
        for text in ("".join(tokens), tokens[0] + tokens[1]):
            assert text.encode("utf-8", "surrogateescape").decode() == "🙂"


def test_a_text_too_long_to_decode_does_not_stand_in_the_way_of_the_others(tmp_path: Path) -> None:
    def fill(writer: GGUFWriter) -> None:
        writer.add_string("long", "x" * (MAX_TEXT_BYTES + 1))
        writer.add_string("as long as can be", "x" * MAX_TEXT_BYTES)
        writer.add_string("short", "y")

    with written(tmp_path, fill) as metadata:
        assert metadata["short"] == "y"
        assert "long" in metadata
        assert len(metadata.string("as long as can be") or "") == MAX_TEXT_BYTES
        with pytest.raises(GGUFError, match="'long': a text of 16777217 bytes"):
            metadata["long"]


def test_a_long_text_with_wide_characters_at_the_borders_of_its_pieces(tmp_path: Path) -> None:
    value = "🙂" * 300_000 + "é" + "€" * 700_000

    with written(tmp_path, lambda writer: writer.add_string("wide", value)) as metadata:
        assert metadata["wide"] == value


def agrees_with_the_gguf_package(path: Path) -> None:
    theirs = gguf.GGUFReader(path)
    with open_gguf(path) as ours:
        fields = {key: field for key, field in theirs.fields.items() if key[:5] != "GGUF."}
        assert list(ours.metadata) == list(fields)
        for name, value in ours.metadata.items():
            contents = fields[name].contents()
            assert (list(value) if isinstance(contents, list) else value) == contents  # type: ignore[arg-type]
        assert list(ours.tensors) == [tensor.name for tensor in theirs.tensors]
        for tensor in theirs.tensors:
            info = ours.tensors[tensor.name]
            assert info.shape == tuple(tensor.shape)
            assert info.type.name == tensor.tensor_type.name
            assert ours.data_offset + info.offset == tensor.data_offset
            assert bytes(ours.tensor(tensor.name)) == tensor.data.tobytes()


@pytest.mark.parametrize("name", ["tiny-qwen35", "tiny-llama"])
def test_a_fixture_is_read_as_the_gguf_package_reads_it(name: str) -> None:
    agrees_with_the_gguf_package(Path(__file__).parents[2] / "fixtures" / f"{name}.gguf")


@pytest.mark.model
def test_a_model_that_people_use_is_read_as_the_gguf_package_reads_it() -> None:
    agrees_with_the_gguf_package(real_model("smollm2"))
