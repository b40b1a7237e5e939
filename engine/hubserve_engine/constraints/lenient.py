"""A guide that lets go where it fails, for what is better free than not there at all."""

import logging
from collections.abc import Sequence

from hubserve_engine.choosing import Guide

logger = logging.getLogger(__name__)


class Lenient:
    """Says what `held` says until something goes wrong in that, and nothing from there on; the log
    says `what` is not held to."""

    def __init__(self, held: Guide, what: str) -> None:
        self._held: Guide | None = held
        self._what = what
        self._look()

    def mask(self) -> bytes | None:
        mask = self._held.mask() if self._held is not None else None
        return mask if self._look() is not None else None

    def accept(self, token: int) -> None:
        if self._held is not None:
            self._held.accept(token)

    def forced(self) -> list[int]:
        tokens = self._held.forced() if self._held is not None else []
        return tokens if self._look() is not None else []

    def fitting(self, tokens: Sequence[int]) -> int:
        count = self._held.fitting(tokens) if self._held is not None else len(tokens)
        return count if self._look() is not None else len(tokens)

    @property
    def done(self) -> bool:
        held = self._look()
        return held is not None and held.done

    @property
    def closed(self) -> bool:
        held = self._look()
        return held is not None and held.closed

    @property
    def error(self) -> None:
        return None

    def _look(self) -> Guide | None:
        if self._held is not None and self._held.error is not None:
            logger.warning("%s: %s", self._what, self._held.error)
            self._held = None
        return self._held
