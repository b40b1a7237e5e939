"""What the server asks of an engine; `hubserve_engine.service.Engine` is the real one."""

from collections.abc import AsyncGenerator, Sequence
from typing import Protocol

from hubserve_engine.model_info import ModelInfo
from hubserve_engine.types import Chat, Event, Rendered, Request, Stage


class Engine(Protocol):
    """One served model. Every method may raise an `hubserve_engine.errors.EngineError`."""

    @property
    def stage(self) -> Stage:
        """`ready` while a model answers; one whose process has died is `loading` again."""
        ...

    @property
    def progress(self) -> str:
        """What the start is busy with, as a sentence to show; empty if there is nothing to say."""
        ...

    @property
    def loaded(self) -> float:
        """How much is done, from 0 to 1, while the stage is `exporting` or `loading`."""
        ...

    @property
    def info(self) -> ModelInfo:
        """The loaded model; raises `Loading` or `Unavailable` while there is none."""
        ...

    @property
    def active(self) -> int:
        """Requests that are being worked on."""
        ...

    @property
    def waiting(self) -> int:
        """Requests in the queue."""
        ...

    @property
    def restarts(self) -> int:
        """How often the model's process was started again after it had ended."""
        ...

    async def start(self) -> None:
        """Begins to load the model, in the background."""
        ...

    async def wait_ready(self) -> ModelInfo:
        """Raises `StartError` if the model cannot be loaded."""
        ...

    async def close(self, *, grace: float = 0.0) -> None:
        """Lets running requests end for up to `grace` seconds, then cancels them."""
        ...

    def served(self, name: str | None) -> ModelInfo:
        """The model that a request's `model` field means; raises `ModelNotFound`."""
        ...

    def generate(self, request: Request) -> AsyncGenerator[Event, None]:
        """The events of one request. Closing the generator cancels the work."""
        ...

    # A question whose task is cancelled is taken back.
    async def tokenize(self, text: str, *, add_special: bool, parse_special: bool) -> list[int]: ...

    async def pieces(self, tokens: Sequence[int]) -> list[bytes]: ...

    async def detokenize(self, tokens: Sequence[int]) -> str: ...

    async def render(self, chat: Chat) -> Rendered: ...
