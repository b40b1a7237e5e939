"""Each rule of the format, one crafted file a rule; and what a well-formed file gives."""

import os
import struct
from pathlib import Path

import pytest

from hubserve_exporters.gguf.errors import GGUFError
from hubserve_exporters.gguf.reader import open_gguf
from hubserve_exporters.gguf.tensor_types import TensorType

U8, U32, FLOAT32, BOOL, STRING, ARRAY, U64 = 0, 4, 6, 7, 8, 9, 10
F32, Q4_0 = 0, 2


def u32(value: int) -> bytes:
    return struct.pack("<I", value)


def u64(value: int) -> bytes:
    return struct.pack("<Q", value)


def text(value: str | bytes) -> bytes:
    raw = value.encode() if isinstance(value, str) else value
    return u64(len(raw)) + raw


def key(name: str | bytes, kind: int, raw: bytes) -> bytes:
    return text(name) + u32(kind) + raw


def array(kind: int, count: int, raw: bytes) -> bytes:
    return u32(kind) + u64(count) + raw


def tensor(
    name: str | bytes, shape: tuple[int, ...] = (8,), kind: int = F32, offset: int = 0
) -> bytes:
    return text(name) + u32(len(shape)) + b"".join(map(u64, shape)) + u32(kind) + u64(offset)


def gguf(
    keys: tuple[bytes, ...] = (),
    tensors: tuple[bytes, ...] = (),
    *,
    version: int = 3,
    key_count: int | None = None,
    tensor_count: int | None = None,
    data: int = 4096,
    alignment: int = 32,
) -> bytes:
    """A file of these raw entries, with the right counts unless others are asked for."""
    head = b"GGUF" + u32(version)
    head += u64(len(tensors) if tensor_count is None else tensor_count)
    head += u64(len(keys) if key_count is None else key_count)
    head += b"".join(keys) + b"".join(tensors)
    return head + bytes(-len(head) % alignment) + bytes(data)


@pytest.mark.parametrize("version", [2, 3])
def test_both_versions_are_read(tmp_path: Path, version: int) -> None:
    path = tmp_path / "a.gguf"
    weights = struct.pack("<12f", *range(12)) + bytes(16)
    path.write_bytes(
        gguf(
            (
                key("general.architecture", STRING, text("llama")),
                key("llama.context_length", U32, u32(4096)),
                key("llama.use", BOOL, b"\1"),
                key("ids", ARRAY, array(U32, 3, u32(1) + u32(2) + u32(2**32 - 1))),
                key("names", ARRAY, array(STRING, 2, text("a") + text(""))),
                key("none", ARRAY, array(STRING, 0, b"")),
            ),
            (tensor("w", (4, 3)), tensor("packed", (32, 2, 1, 1), Q4_0, 64)),
            version=version,
            data=0,
        )
        + weights
        + bytes(range(36))
    )
    with open_gguf(path) as file:
        assert file.version == version
        assert file.alignment == 32
        assert file.file_size == path.stat().st_size == file.data_offset + 100
        assert list(file.metadata) == [
            "general.architecture",
            "llama.context_length",
            "llama.use",
            "ids",
            "names",
            "none",
        ]
        assert file.metadata["general.architecture"] == "llama"
        assert file.metadata["llama.context_length"] == 4096
        assert file.metadata["llama.use"] is True
        assert list(file.metadata["ids"]) == [1, 2, 2**32 - 1]  # type: ignore[arg-type]
        assert list(file.metadata["names"]) == ["a", ""]  # type: ignore[arg-type]
        assert list(file.metadata["none"]) == []  # type: ignore[arg-type]
        assert list(file.tensors) == ["w", "packed"]
        assert file.tensors["w"].shape == (4, 3)
        assert file.tensors["w"].type is TensorType.F32
        assert file.tensors["packed"].size == 36
        assert file.tensor("w").cast("f").tolist() == list(range(12))
        assert bytes(file.tensor("packed")) == bytes(range(36))


def test_the_alignment_of_the_file_is_used(tmp_path: Path) -> None:
    path = tmp_path / "a.gguf"
    aligned = key("general.alignment", U32, u32(256))
    path.write_bytes(gguf((aligned,), (tensor("a"), tensor("b", offset=256)), alignment=256))
    with open_gguf(path) as file:
        assert file.data_offset % 256 == 0
        assert file.tensors["b"].offset == 256


def test_a_file_without_tensors_is_read(tmp_path: Path) -> None:
    path = tmp_path / "vocabulary.gguf"
    # Nothing has to follow the metadata, not even the padding.
    path.write_bytes(gguf((key("general.architecture", STRING, text("llama")),), data=0)[:69])
    with open_gguf(path) as file:
        assert file.tensors == {}
        assert file.metadata.string("general.architecture") == "llama"


OVER_LIMIT = 2**21 + 1

FAULTS = {
    "empty": (b"", "has 0 bytes"),
    "error page body": (b"Entry not found", "has 15 bytes"),
    "web page": (b"<!DOCTYPE html>" + bytes(99), "web page"),
    "LFS pointer": (b"version https://git-lfs.github.com/spec/v1\n", "git lfs pull"),
    "checkpoint": (b"PK\3\4" + bytes(99), "zip archive"),
    "old format": (b"tjgg" + bytes(99), "older than GGUF"),
    "other magic": (b"GGUS" + bytes(99), r"b'GGUS'"),
    "version 0": (gguf(version=0), "version 0"),
    "version 1": (gguf(version=1), "version 1"),
    "version 4": (gguf(version=4), "version 4"),
    "big-endian": (gguf(version=3 << 24), "big-endian"),
    "keys over the limit": (gguf(key_count=2**16 + 1), "65537 keys"),
    "keys without bytes": (gguf(key_count=2**15), "not downloaded to the end"),
    "tensors over the limit": (gguf(tensor_count=2**64 - 1), "18446744073709551615 tensors"),
    "tensors without bytes": (gguf(tensor_count=2**16), "not downloaded to the end"),
    "empty key": (gguf((key("", U32, u32(1)),)), "key 1 of 1"),
    "long key": (gguf((key("k" * 65536, U32, u32(1)),)), "this one 65536"),
    "endless key": (gguf((u64(2**64 - 1) + u32(U32) + u32(1),)), "this one 1844"),
    "key not ASCII": (gguf((key("ä", U32, u32(1)),)), "ASCII"),
    "key twice": (gguf((key("a.b", U32, u32(1)), key("a.b", U32, u32(2)))), "'a.b' is there twice"),
    "unknown type": (gguf((key("a.b", 13, u32(1)),)), "'a.b': the value type 13"),
    "bool of 2": (gguf((key("a.b", BOOL, b"\2"),)), "'a.b': a bool is neither"),
    "array of bools of 2": (
        gguf((key("a.b", ARRAY, array(BOOL, 3, b"\0\1\2")),)),
        "'a.b': a bool is neither",
    ),
    "text past the end": (gguf((key("a.b", STRING, u64(5000)),)), "'a.b': the file ends"),
    "text of 2^64 bytes": (gguf((key("a.b", STRING, u64(2**64 - 1)),)), "'a.b': the file ends"),
    "text not UTF-8": (gguf((key("a.b", STRING, text(b"\xff")),)), "'a.b': the text is not UTF-8"),
    "text cut in a character": (
        gguf((key("a.b", STRING, text("é".encode()[:1])),)),
        "'a.b': the text is not UTF-8",
    ),
    "array past the end": (
        gguf((key("a.b", ARRAY, array(U64, 600, b"")),)),
        "'a.b': the file ends",
    ),
    "array of 2^64 elements": (
        gguf((key("a.b", ARRAY, array(U8, 2**64 - 1, b"")),)),
        "'a.b': the file ends",
    ),
    "array of an unknown type": (gguf((key("a.b", ARRAY, array(99, 1, b"")),)), "type 99"),
    "array of arrays": (
        gguf((key("a.b", ARRAY, array(ARRAY, 1, array(U8, 1, b"a"))),)),
        "'a.b': arrays of arrays",
    ),
    "strings past the end": (
        gguf((key("a.b", ARRAY, array(STRING, 600, b"")),)),
        "'a.b': the file ends",
    ),
    "string in an array past the end": (
        gguf((key("a.b", ARRAY, array(STRING, 2, text("a") + u64(2**64 - 1))),)),
        "'a.b': the file ends",
    ),
    "last string's length past the end": (
        gguf((key("a.b", ARRAY, array(STRING, 2, u64(4) + b"abcd" + b"1234")),), data=0)[:-4],
        "'a.b': the file ends",
    ),
    "too many strings": (
        gguf((key("a.b", ARRAY, array(STRING, OVER_LIMIT, bytes(8 * OVER_LIMIT))),)),
        "'a.b': an array of 2097153 strings",
    ),
    "too many strings in two arrays": (
        gguf(
            (
                key("a", ARRAY, array(STRING, 2**20 + 1, bytes(8 * 2**20 + 8))),
                key("b", ARRAY, array(STRING, 2**20, bytes(8 * 2**20))),
            )
        ),
        "'b': an array of 1048576 strings",
    ),
    "alignment 0": (gguf((key("general.alignment", U32, u32(0)),)), "alignment' is 0"),
    "alignment 4": (gguf((key("general.alignment", U32, u32(4)),)), "alignment' is 4"),
    "alignment 48": (gguf((key("general.alignment", U32, u32(48)),)), "alignment' is 48"),
    "alignment 2^21": (gguf((key("general.alignment", U32, u32(2**21)),)), "is 2097152"),
    "alignment of 64 bits": (
        gguf((key("general.alignment", U64, u64(32)),)),
        "'general.alignment': the value has the type 10",
    ),
    "tensor without a name": (gguf((), (tensor(""),)), "tensor 1 of 1"),
    "tensor with a long name": (gguf((), (tensor("n" * 64),)), "this one 64"),
    "tensor name not UTF-8": (gguf((), (tensor(b"\xff"),)), "UTF-8"),
    "tensor twice": (gguf((), (tensor("w"), tensor("w", offset=32))), "'w' is there twice"),
    "no dimensions": (gguf((), (tensor("w", ()),)), "'w': it has 0 dimensions"),
    "five dimensions": (gguf((), (tensor("w", (1, 1, 1, 1, 1)),)), "'w': it has 5 dimensions"),
    "a million dimensions": (
        gguf((), (text("w") + u32(10**6) + bytes(64),)),
        "'w': it has 1000000 dimensions",
    ),
    "a dimension of 0": (gguf((), (tensor("w", (8, 0)),)), r"'w': the shape \(8, 0\)"),
    "shape that wraps 64 bits": (
        gguf((), (tensor("w", (2**33, 2**33)),)),
        r"'w': the shape \(8589934592, 8589934592\)",
    ),
    "removed type": (gguf((), (tensor("w", kind=31),)), "'w': the tensor type 31"),
    "type of the future": (gguf((), (tensor("w", kind=2**32 - 1),)), "'w': the tensor type 4294"),
    "split block": (gguf((), (tensor("w", (33,), Q4_0),)), "'w': rows of 33 .*Q4_0 blocks of 32"),
    "block split over rows": (gguf((), (tensor("w", (16, 2), Q4_0),)), "'w': rows of 16"),
    "first offset": (gguf((), (tensor("w", offset=32),)), "'w': it begins at 32, not at 0"),
    "offset that wraps": (
        gguf((), (tensor("w", offset=2**64 - 32),)),
        "'w': it begins at 18446744073709551584",
    ),
    "offset not aligned": (gguf((), (tensor("v", (9,)), tensor("w", offset=36))), "not at 64"),
    "overlap": (gguf((), (tensor("v", (16,)), tensor("w", offset=32))), "'w': it begins at 32"),
    "gap": (gguf((), (tensor("v"), tensor("w", offset=64))), "'w': it begins at 64, not at 32"),
    "tensor past the end": (
        gguf((), (tensor("w", (1025,)),)),
        "'w' ends at byte .* damaged, or was not downloaded to the end",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_file_that_breaks_a_rule_is_refused(tmp_path: Path, fault: str) -> None:
    content, message = FAULTS[fault]
    path = tmp_path / "bad.gguf"
    path.write_bytes(content)
    with pytest.raises(GGUFError, match=message) as caught:
        open_gguf(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)


def test_every_shorter_version_of_a_file_is_refused(tmp_path: Path) -> None:
    whole = gguf(
        (
            key("general.architecture", STRING, text("llama")),
            key("scores", ARRAY, array(FLOAT32, 2, bytes(8))),
            key("tokens", ARRAY, array(STRING, 2, text("a") + text("bc"))),
        ),
        (tensor("v", (4,)), tensor("w", (32, 1), Q4_0, 32)),
        data=32 + 18,
    )
    path = tmp_path / "short.gguf"
    path.write_bytes(whole)
    with open_gguf(path) as file:
        assert len(file.tensor("w")) == 18
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        with pytest.raises(GGUFError):
            open_gguf(path)


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(GGUFError, match="this is a folder"):
        open_gguf(tmp_path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
def test_a_pipe_is_refused_without_waiting(tmp_path: Path) -> None:
    path = tmp_path / "pipe.gguf"
    os.mkfifo(path)
    with pytest.raises(GGUFError, match="this is a device or a pipe"):
        open_gguf(path)


def test_a_missing_file_is_an_ordinary_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        open_gguf(tmp_path / "nothing.gguf")


def test_a_closed_file_gives_no_more_tensors_but_those_given_stay(tmp_path: Path) -> None:
    path = tmp_path / "a.gguf"
    path.write_bytes(gguf((), (tensor("w"),), data=0) + bytes(range(32)))
    with open_gguf(path) as file:
        weights = file.tensor("w")
    file.close()
    assert bytes(weights) == bytes(range(32))
    assert file.tensors["w"].size == 32
    with pytest.raises(ValueError, match="closed"):
        file.tensor("w")


def test_a_tensor_that_is_not_there_is_a_key_error(tmp_path: Path) -> None:
    path = tmp_path / "a.gguf"
    path.write_bytes(gguf())
    with open_gguf(path) as file, pytest.raises(KeyError):
        file.tensor("w")


def test_what_was_read_cannot_be_written_to(tmp_path: Path) -> None:
    path = tmp_path / "a.gguf"
    path.write_bytes(gguf((key("ids", ARRAY, array(U8, 2, b"ab")),), (tensor("w"),)))
    with open_gguf(path) as file:
        ids = file.metadata["ids"]
        assert isinstance(ids, memoryview)
        assert ids.readonly
        assert file.tensor("w").readonly
