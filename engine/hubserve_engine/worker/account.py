"""An exception as one line, for the log."""

import traceback
from pathlib import Path


def account(error: BaseException) -> str:
    """What happened, and where."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {' '.join(str(error).split())}{place}"
