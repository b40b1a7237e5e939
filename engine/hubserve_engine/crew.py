"""How many CPU threads a step runs on, from how long steps take.

The threads of a step wait for each other hundreds of times in it. Beside another busy program one
of them is often not running, and all wait for it, so that more threads can be slower than fewer.
Slow steps are only a sign, which counts where threads did wait for a core, as far as the system
tells; what decides is how long steps of the same size took just before.
"""

import time
from collections.abc import Callable

from hubserve_engine.idle_time import idle_time
from hubserve_engine.run_delay import run_delay

_SLOW = 1.7
"""So many times the least time of its size is a slow step."""
_DRIFT = 1.002
"""What the least time grows by with each step, as the context does."""
_SLOW_STEPS, _SLOW_SECONDS = 3, 0.25
"""Slow steps in a row, and what they took together, that are no hiccup any more."""
_HELD_UP = 0.2
"""Seconds in each that threads waited for a core, where others are why steps are slow. Beside what
serves a stream, which takes a core now and then, it is a tenth; beside a busy loop, a half."""
_JUDGED = 6
"""Steps that a trial of another number of threads takes at most."""
_HOPELESS, _POOR = 2.0, 1.3
"""A trial is lost with one step that took so many times the usual time, or, by the second number,
with several that did on average."""
_NEW = 0.3
"""How much the newest step counts in what is usual."""
_FIRST_WAIT, _LONGEST_WAIT = 1.0, 30.0
"""Seconds until more threads are tried again. Each trial that is of no use doubles them."""
_PAUSE = 2.0
"""Seconds between trials of fewer threads."""
_FREE = 0.5
"""So much of a core must have been idle for each thread more. To try without costs a step that may
take seconds: up to 7.6 were seen on two cores at a load of 3.5."""


class Crew:
    """Threads for the next step: `most`, and fewer while others use the processor.

    When steps are slow, half as many threads are tried, and kept if they are quicker. So they are
    where threads had to wait from the first step on, as nobody knows then what a quick one takes.
    After a while, if cores are idle, twice as many are tried, and kept if they are quicker; the
    while gets longer each time they are not. Steps are compared with steps of nearly the same
    number of tokens only.
    """

    def __init__(
        self,
        most: int,
        *,
        clock: Callable[[], float] = time.monotonic,
        waited: Callable[[], float | None] = run_delay,
        idle: Callable[[], float | None] = idle_time,
    ) -> None:
        """`waited`: see `run_delay`. `idle`: see `idle_time`."""
        self._most = most
        self._clock = clock
        self._waited = waited
        self._idle = idle
        self._idle_before: float | None = None
        self._looked = 0.0
        self._waited_before: float | None = None
        # Where the system does not tell who waited, the first steps are taken for quick ones.
        self._knows_quick = waited() is None
        self._least: dict[int, float] = {}
        self._usual: dict[tuple[int, int], float] = {}
        self._slow_steps, self._slow_seconds = 0, 0.0
        self._before: int | None = None
        self._judged: list[float] = []
        self._unjudged = 0
        self._wait = _FIRST_WAIT
        self._quick_since = self._more_from = self._fewer_from = clock() - _LONGEST_WAIT
        self.threads = most

    def observe(self, tokens: int, seconds: float) -> int:
        """A step of so many tokens took so long on `threads`; the threads for the next one."""
        if self._most == 1 or tokens <= 0 or seconds <= 0:
            return self.threads
        size, each = _size(tokens), seconds / tokens
        usual = self._usual.get((size, self.threads), each)
        self._usual[size, self.threads] = usual + _NEW * (each - usual)
        if self._before is not None:
            self._judge(size, each, self._before)
            return self.threads
        now = self._clock()
        if self._is_slow(size, each, seconds) and self.threads > 1 and now >= self._fewer_from:
            self._try(self.threads // 2)
        elif self.threads < self._most and now >= self._more_from:
            more = min(2 * self.threads, self._most)
            if self._are_free(more - self.threads, now):
                self._try(more)
        return self.threads

    def _is_slow(self, size: int, each: float, seconds: float) -> bool:
        """Whether steps have been slow for a while, perhaps always, and others may be why."""
        known = self._least.get(size)
        least = each if known is None else min(known * _DRIFT, each)
        self._least[size] = least
        # The first of its size has nothing that a trial could be compared with.
        if known is None or (self._knows_quick and each <= _SLOW * least):
            self._slow_steps, self._slow_seconds = 0, 0.0
            return False
        if not self._slow_steps:
            self._waited_before = self._waited()
            self._slow_steps = 1
            return False
        self._slow_steps += 1
        self._slow_seconds += seconds
        if self._slow_steps < _SLOW_STEPS or self._slow_seconds < _SLOW_SECONDS:
            return False
        if self._was_held_up():
            return True
        # The work is another one, such as attention over more: what is slow is learned anew.
        self._knows_quick = True
        self._least.clear()
        self._slow_steps, self._slow_seconds = 0, 0.0
        return False

    def _was_held_up(self) -> bool:
        """Whether others may be why the steps since the first slow one were slow."""
        before, after = self._waited_before, self._waited()
        if before is None or after is None:
            return True
        return after - before > _HELD_UP * self._slow_seconds

    def _are_free(self, cores: int, now: float) -> bool:
        """Whether so many cores seem to wait for work, as far as the system tells; if not, it is
        looked again after a while."""
        before, after = self._idle_before, self._idle()
        if before is None or after is None:
            return True
        if after - before >= _FREE * cores * (now - self._looked):
            return True
        self._look(now, after)
        self._more_from = now + _FIRST_WAIT
        return False

    def _look(self, now: float, idle: float | None) -> None:
        self._looked, self._idle_before = now, idle

    def _try(self, threads: int) -> None:
        self._before, self.threads = self.threads, threads
        self._judged, self._unjudged = [], 0
        self._slow_steps, self._slow_seconds = 0, 0.0

    def _judge(self, size: int, each: float, before: int) -> None:
        """A step of a trial: compare it with the same on as many threads as before."""
        usual = self._usual.get((size, before))
        if usual is None:
            self._unjudged += 1
            if self._unjudged == _JUDGED:
                self._end(before, pauses=(self._wait, self._wait))
            return
        self._judged.append(each / usual)
        count, mean = len(self._judged), sum(self._judged) / len(self._judged)
        hopeless = self._judged[-1] > _HOPELESS or (count > 1 and mean > _POOR)
        if hopeless or count == _JUDGED:
            self._decide(before, won=mean < 1 and not hopeless)

    def _decide(self, before: int, *, won: bool) -> None:
        now, more = self._clock(), self.threads > before
        if won and more:
            self._quick_since = now
        elif more or (won and now - self._quick_since < _LONGEST_WAIT):
            # More threads were of no use, or not for long.
            self._wait = min(2 * self._wait, _LONGEST_WAIT)
        elif won:
            self._wait = _FIRST_WAIT
        # The load is another one from now on, or the work is: what is slow is learned anew.
        self._knows_quick = True
        self._least.clear()
        wait = _FIRST_WAIT if won and more else self._wait
        self._end(self.threads if won else before, pauses=(wait, _PAUSE))
        if won and not more and self.threads > 1:
            self._try(self.threads // 2)  # perhaps even fewer are better

    def _end(self, threads: int, *, pauses: tuple[float, float]) -> None:
        """A trial is over: steps run on `threads`, and more and fewer are tried again after these
        seconds at the earliest."""
        now = self._clock()
        self._look(now, self._idle())
        self.threads, self._before = threads, None
        self._more_from, self._fewer_from = now + pauses[0], now + pauses[1]


def _size(tokens: int) -> int:
    """The number with zeros behind its three highest bits: the same for sizes that are near enough
    for their steps to be compared."""
    coarse = max(tokens.bit_length() - 3, 0)
    return tokens >> coarse << coarse
