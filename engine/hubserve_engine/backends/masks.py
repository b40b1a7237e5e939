"""What a guide's mask leaves of a row of logits, without Python for each token."""

import numpy as np
import numpy.typing as npt

from hubserve_engine.choosing import Guide

FEW = 4096
"""Up to so many tokens it is quicker to look at those alone than at a row without the others."""
_FORBIDDEN = np.float32("-inf")

Row = npt.NDArray[np.float32]
"""Logits, shape (vocabulary,)."""
Tokens = npt.NDArray[np.int64]


def restrict(row: Row, guide: Guide) -> Tokens | None:
    """The tokens that may come next, in order, if they are at most `FEW`; the row is as it was.

    None where they are more: the logits of the others are minus infinity then.
    """
    mask = guide.mask()
    if mask is None:
        return None
    bits = np.unpackbits(np.frombuffer(mask, np.uint8), bitorder="little", count=len(row))
    allowed = bits.view(np.bool_)
    if np.count_nonzero(allowed) <= FEW:
        return allowed.nonzero()[0]
    np.copyto(row, _FORBIDDEN, where=np.logical_not(allowed, out=allowed))
    return None
