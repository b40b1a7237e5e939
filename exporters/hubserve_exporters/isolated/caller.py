"""Whoever waits for what a process of one task answers: told how far it is, and asked."""

import json
import os
import threading
from typing import IO, Any


class Caller:
    """The other end of `call`, by a pipe to it; its questions come by standard input.

    Call it with how much is done, from 0 to 1. The process ends when nobody waits any more.
    """

    def __init__(self, pipe: IO[str]) -> None:
        self._pipe = pipe
        self._permits = threading.Semaphore(0)
        threading.Thread(target=self._watch, daemon=True).start()

    def __call__(self, share: float) -> None:
        self.say("progress", share)

    def say(self, kind: str, value: Any) -> None:
        """One line; the value is what JSON can say."""
        self._pipe.write(json.dumps([kind, value]) + "\n")
        self._pipe.flush()

    def wait_for_leave(self, value: Any) -> None:
        """Goes on when the caller's `allow` has returned; if that raises, this process ends."""
        self.say("question", value)
        self._permits.acquire()

    def _watch(self) -> None:
        while os.read(0, 1):
            self._permits.release()
        os._exit(1)
