"""Numbers of bytes as people read them."""


def size_text(size: float) -> str:
    """A number of bytes in binary units: "512 bytes", "93.8 MiB", "2.55 GiB"."""
    unit = "bytes"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if size < 1024:
            break
        size, unit = size / 1024, larger
    return f"{size:.3g} {unit}" if size < 1000 else f"{size:.0f} {unit}"
