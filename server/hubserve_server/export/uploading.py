"""What the terminal shows of an upload."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from hubserve_engine.units import size_text


@contextmanager
def uploading() -> Iterator[Callable[[str, int], None]]:
    """Takes the name and the size of each file, which become a line.

    The library draws a bar for each, with its bytes; here on a terminal alone.
    """
    from huggingface_hub import constants
    from huggingface_hub.utils.tqdm import (
        are_progress_bars_disabled,
        disable_progress_bars,
        enable_progress_bars,
    )

    # Who has set HF_HUB_DISABLE_PROGRESS_BARS has decided.
    decided = constants.HF_HUB_DISABLE_PROGRESS_BARS is not None or are_progress_bars_disabled()
    quiet = not decided and not sys.stderr.isatty()
    if quiet:
        disable_progress_bars()
    try:
        yield _tell
    finally:
        if quiet:
            enable_progress_bars()


def _tell(name: str, size: int) -> None:
    print(f"Sending {name}, {size_text(size)}", file=sys.stderr, flush=True)
