"""What penalties and biases change in a row of logits: the tokens concerned alone, in place.

Penalties follow llama_sampler_penalties_apply of llama.cpp (src/llama-sampler.cpp, 0.5.0), whose
own samplers visit the whole vocabulary for every token.
"""

from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from hubserve_engine.backends.masks import Row
from hubserve_engine.types import Sampling

_COLDEST = 1e-6
"""Below this temperature the likeliest token is taken: dividing by it would give infinities."""
_FORBIDDEN = float("-inf")


class EditingSampler:
    """What samplers share: the edits of one sequence. `biases` are what is added in the end, by
    token id; penalties see the end of the prompt, at most `context` tokens of it. `greedy`: the
    likeliest token is wanted."""

    def __init__(
        self, sampling: Sampling, prompt: Sequence[int], biases: dict[int, float], context: int
    ) -> None:
        self.greedy = sampling.temperature < _COLDEST
        self._penalties = _Penalties(sampling, prompt, context)
        self._bias_tokens = np.fromiter(biases.keys(), np.int64, len(biases))
        self._bias_values = np.fromiter(biases.values(), np.float32, len(biases))

    def edit(self, row: Row) -> None:
        """Change the row in place, as penalties and biases say, shape (vocabulary,)."""
        self._penalties.apply(row)
        if len(self._bias_tokens):
            row[self._bias_tokens] += self._bias_values

    def accept(self, token: int) -> None:
        """Count a token that was written."""
        self._penalties.accept(token)


def token_biases(
    sampling: Sampling,
    end_tokens: Iterable[int],
    tokens_of: Callable[[str], Iterable[int]],
    suppressed: Iterable[int] = (),
) -> dict[int, float]:
    """What the settings add to the logit of each token; a text stands for all of its tokens.
    `suppressed` tokens are never to come, whatever the request says."""
    found = dict.fromkeys(suppressed, _FORBIDDEN)
    if sampling.ignore_eos:
        found |= dict.fromkeys(end_tokens, _FORBIDDEN)
    for what, bias in sampling.logit_bias:
        for token in [what] if isinstance(what, int) else tokens_of(what):
            found[token] = found.get(token, 0.0) + bias
    return found


class _Penalties:
    """Counts over the last tokens, prompt and answer, so that applying them touches those alone."""

    def __init__(self, sampling: Sampling, prompt: Sequence[int], context: int) -> None:
        last = min(sampling.repeat_last_n, context) if sampling.repeat_last_n >= 0 else context
        self._repeat = sampling.repeat_penalty
        self._presence = sampling.presence_penalty
        self._frequency = sampling.frequency_penalty
        self.active = last > 0 and (
            self._repeat != 1.0 or self._presence != 0.0 or self._frequency != 0.0
        )
        self._window: deque[int] = deque(maxlen=last)
        self._counts: Counter[int] = Counter()
        if self.active:
            self._extend(prompt[-last:])

    def _extend(self, tokens: Iterable[int]) -> None:
        for token in tokens:
            self.accept(token)

    def accept(self, token: int) -> None:
        if not self.active:
            return
        if len(self._window) == self._window.maxlen:
            oldest = self._window[0]
            self._counts[oldest] -= 1
            if not self._counts[oldest]:
                del self._counts[oldest]
        self._window.append(token)
        self._counts[token] += 1

    def apply(self, row: Row) -> None:
        if not self._counts:
            return
        tokens = np.fromiter(self._counts.keys(), np.int64, len(self._counts))
        counts = np.fromiter(self._counts.values(), np.float32, len(self._counts))
        logits = row[tokens]
        if self._repeat != 1.0:
            logits = np.where(logits <= 0, logits * self._repeat, logits / self._repeat)
        row[tokens] = logits - (counts * self._frequency + self._presence)
