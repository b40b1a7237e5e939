import pytest

from hubserve_engine.units import size_text


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
