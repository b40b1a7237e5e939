"""A number in a header, changed where it stands."""

from pathlib import Path

import pytest
from tests.support.gguf_builder import write_gguf

from hubserve_exporters.gguf.errors import GGUFError
from hubserve_exporters.gguf.patch import set_uint32
from hubserve_exporters.gguf.reader import open_gguf

KEY = "general.file_type"
# A text that looks like the key with its value, in front of it.
DECOY = "\x11\0\0\0\0\0\0\0general.file_type\x04\0\0\0\x01\0\0\0"


def test_one_number_is_another_and_nothing_else_is(tmp_path: Path) -> None:
    path = write_gguf(
        tmp_path / "a.gguf", {"decoy": DECOY, "list": ["a", "b"], KEY: 15, "last": True}
    )
    before = path.read_bytes()
    set_uint32(path, KEY, 8)
    with open_gguf(path) as file:
        metadata = dict(file.metadata)
    assert metadata[KEY] == 8 and metadata["decoy"] == DECOY and metadata["last"] is True
    after = path.read_bytes()
    changed = [i for i, (a, b) in enumerate(zip(before, after, strict=True)) if a != b]
    assert len(changed) == 1


@pytest.mark.parametrize("value", ["15", -15, True, None])
def test_a_key_that_is_no_such_number_is_left_alone(
    tmp_path: Path, value: str | int | None
) -> None:
    path = write_gguf(tmp_path / "a.gguf", {} if value is None else {KEY: value})
    before = path.read_bytes()
    with pytest.raises(GGUFError):
        set_uint32(path, KEY, 8)
    assert path.read_bytes() == before
