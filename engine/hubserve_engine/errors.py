"""Every failure that the engine reports, as one tree.

    EngineError                 something went wrong; the message says what, and what to do next
    ├── InvalidRequest          the request cannot be served as it is (`param` names the field)
    │   ├── ContextOverflow     the prompt does not fit the context
    │   ├── PromptError         the chat template refuses these messages
    │   └── Unsupported         understood, but this server or this model cannot do it
    ├── ModelNotFound           no model of that name is served
    ├── Busy                    the queue is full; try again
    ├── Loading                 the model is not ready yet; try again
    ├── Unavailable             the model's worker died too often; it will not be started again
    ├── WorkerDied              the worker ended while it held this request
    ├── Cancelled               the request was ended from our side (shutdown, a client too slow)
    └── StartError              the server cannot start as asked (exit code 2)
        ├── ResolveError        the model id leads to no file that can be served
        └── LoadError           the backend refuses the file

Messages are for people: one sentence with the value that is wrong, and the next step.
"""

from typing import ClassVar


class EngineError(Exception):
    """Base of the tree. `code` is the stable machine-readable name of the failure."""

    code: ClassVar[str] = "engine_error"

    def __init__(self, message: str, *, param: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.param = param


class InvalidRequest(EngineError):
    code = "invalid_value"


class ContextOverflow(InvalidRequest):
    """`needed` and `limit` are in tokens."""

    code = "context_length_exceeded"

    def __init__(self, needed: int, limit: int, *, param: str = "messages") -> None:
        super().__init__(
            f"This request needs {needed} tokens, which exceeds the available context size"
            f" ({limit} tokens); maximum context length is {limit} tokens."
            " Shorten the prompt, or start the server with a larger --ctx-size.",
            param=param,
        )
        self.needed = needed
        self.limit = limit


class PromptError(InvalidRequest):
    code = "invalid_prompt"


class Unsupported(InvalidRequest):
    code = "unsupported"


class ModelNotFound(EngineError):
    code = "model_not_found"


class Busy(EngineError):
    code = "queue_full"


class Loading(EngineError):
    code = "model_loading"


class Unavailable(EngineError):
    code = "model_unavailable"


class WorkerDied(EngineError):
    code = "worker_died"


class Cancelled(EngineError):
    code = "cancelled"


class StartError(EngineError):
    code = "start_failed"


class ResolveError(StartError):
    code = "model_unresolved"


class LoadError(StartError):
    code = "model_unloadable"
