import pytest

from hubserve_engine.units import counted, size_text


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 bytes"),
        (999, "999 bytes"),
        (1023, "1023 bytes"),
        (1024, "1 KiB"),
        (98362432, "93.8 MiB"),
        (1023 * 2**20, "1023 MiB"),
        (5 * 10**9, "4.66 GiB"),
        (3 * 2**40, "3 TiB"),
        (2**60, "1048576 TiB"),
    ],
)
def test_sizes_read_as_people_write_them(size: int, text: str) -> None:
    assert size_text(size) == text


def test_one_thing_is_not_several() -> None:
    assert [counted(n, "file") for n in range(3)] == ["0 files", "1 file", "2 files"]
