"""The few likeliest tokens of a row of logits, so that the chain need not look at all of them.

llama_sampler_sample writes 12 bytes for every token of the vocabulary before top-k throws nearly
all of them away. Two passes over the logits alone find out which can be left at all; top-k itself
then picks among those, so the result is the same.
"""

import ctypes
from typing import Any

import numpy as np
import numpy.typing as npt

from hubserve_engine.backends.llama_cpp.api import llama
from hubserve_engine.backends.llama_cpp.library import pointer
from hubserve_engine.backends.masks import Row

_COLUMNS = 1024
SMALLEST = 16 * _COLUMNS
"""Below this vocabulary the two passes cost more than they save."""
MOST = 256
"""Above this top-k they leave too many."""

_DATA = np.dtype([("id", np.int32), ("logit", np.float32), ("p", np.float32)])


class Candidates:
    """Room for the candidates of one row at a time, for a vocabulary of this many tokens.

    After a decode the processor's caches hold weights and nothing of ours, so each call into numpy
    costs more than its work: there are few, and none makes an array that could be kept.
    """

    def __init__(self, vocabulary: int) -> None:
        data = np.zeros(vocabulary, _DATA)
        self._ids, self._logits = data["id"], data["logit"]
        self._pointer = pointer(data, llama.llama_token_data)
        self._highest = np.zeros(_COLUMNS, np.float32)
        self._is_likely = np.zeros(vocabulary, np.bool_)

    def sample(self, chain: Any, row: Row, top_k: int) -> int:
        """What `chain`, which begins with `top_k` (1 to `MOST`), samples from `row`."""
        tokens = self.likeliest(row, top_k)
        if not len(tokens):  # no number in the row, so nothing is likelier than anything else
            return int(row.argmax())
        return self.among(chain, row, tokens)

    def among(self, chain: Any, row: Row, tokens: npt.NDArray[np.int64]) -> int:
        """What `chain` samples from these tokens of `row`, of which one has a finite logit."""
        count = len(tokens)
        self._ids[:count] = tokens
        self._logits[:count] = row[tokens]
        array = llama.llama_token_data_array(self._pointer, count, -1, False)
        llama.llama_sampler_apply(chain, ctypes.byref(array))
        return int(self._ids[array.selected])

    def likeliest(self, row: Row, count: int) -> npt.NDArray[np.int64]:
        """Tokens in order, among them all of the `count` likeliest, and ties; few others.

        The highest logit of each of 1024 columns is one logit of the row, so at least `count`
        logits are as high as the `count`-th of those.
        """
        whole = len(row) // _COLUMNS * _COLUMNS
        np.maximum.reduce(row[:whole].reshape(-1, _COLUMNS), axis=0, out=self._highest)
        self._highest.partition(_COLUMNS - count)
        np.greater_equal(row, self._highest[_COLUMNS - count], out=self._is_likely)
        return self._is_likely.nonzero()[0]
