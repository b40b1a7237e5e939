"""What the server asks, taken in beside the steps: one thread receives, one prepares.

Rendering and tokenizing a long prompt takes a while. What waits behind it waits, but for the end of
a request: that must not come later than with the next step.
"""

import logging
import threading
from collections.abc import Callable, Iterator
from queue import SimpleQueue

from hubserve_engine.backends.base import Backend
from hubserve_engine.errors import Cancelled, EngineError, InvalidRequest
from hubserve_engine.types import Request, Started
from hubserve_engine.worker import protocol
from hubserve_engine.worker.account import account
from hubserve_engine.worker.channel import Channel
from hubserve_engine.worker.failures import failure
from hubserve_engine.worker.intake import Intake, check_tokens
from hubserve_engine.worker.loop import Loop

logger = logging.getLogger(__name__)

_Question = protocol.Generate | protocol.Tokenize | protocol.Pieces | protocol.Render


class Reader:
    """Hands requests to the loop and answers questions, until the server is gone: then the loop is
    stopped. What cannot be answered stops it with an error."""

    def __init__(self, channel: Channel, backend: Backend, intake: Intake, loop: Loop) -> None:
        self._channel = channel
        self._backend = backend
        self._intake = intake
        self._loop = loop
        self._questions: SimpleQueue[_Question] = SimpleQueue()
        self._expected: set[int] = set()  # questions that somebody still asks
        self._lock = threading.Lock()

    def start(self, messages: Iterator[bytes]) -> None:
        for name, work in (("receive", lambda: self._receive(messages)), ("prepare", self._answer)):
            threading.Thread(target=work, name=name, daemon=True).start()

    def _receive(self, messages: Iterator[bytes]) -> None:
        try:
            for body in messages:
                self._sort(protocol.decode_to_worker(body))
        except BaseException as error:
            self._loop.stop(error)
        else:
            self._loop.stop()

    def _sort(self, message: protocol.ToWorker) -> None:
        match message:
            case protocol.Cancel(id=id):
                with self._lock:
                    self._expected.discard(id)
                    self._loop.cancel(id)
            case protocol.Load():
                raise ValueError("a model is loaded once")
            case _:
                with self._lock:
                    self._expected.add(message.id)
                self._questions.put(message)

    def _answer(self) -> None:
        try:
            while True:
                question = self._questions.get()
                self._answer_one(question)
                self._expected.discard(question.id)
        except BaseException as error:
            self._loop.stop(error)

    def _answer_one(self, question: _Question) -> None:
        """A question on which our own code fails is answered, like one that is refused.

        One that was cancelled is dropped, and nothing is said of it.
        """
        try:
            if question.id in self._expected:
                self._carry_out(question, lambda: question.id in self._expected)
        except Cancelled:
            return
        except EngineError as error:
            self._channel.send(failure(question.id, error))
        except protocol.TooLong as error:
            refusal = InvalidRequest(f"The answer is too long: {error}. Ask for less at once.")
            self._channel.send(failure(question.id, refusal))
        except BrokenPipeError:
            raise
        except Exception as error:
            what = account(error)
            logger.error("a request failed: %s", what)
            self._channel.send(failure(question.id, EngineError(f"The request failed: {what}")))

    def _carry_out(self, question: _Question, wanted: Callable[[], bool]) -> None:
        match question:
            case protocol.Generate(id=id, request=request):
                self._begin(id, request, wanted)
            case protocol.Tokenize(id=id, text=text):
                tokens = self._backend.tokenize(
                    text, add_special=question.add_special, parse_special=question.parse_special
                )
                self._channel.answer(protocol.Tokens(id, tokens))
            case protocol.Pieces(id=id, tokens=numbers):
                check_tokens(numbers, self._backend.loaded.vocabulary, param="tokens")
                pieces = [self._backend.piece(token, special=True) for token in numbers]
                self._channel.answer(protocol.PieceList(id, pieces))
            case protocol.Render(id=id, chat=chat):
                self._channel.answer(protocol.Text(id, self._intake.render(chat, wanted)))

    def _begin(self, id: int, request: Request, wanted: Callable[[], bool]) -> None:
        generation = self._intake.prepare(id, request, wanted)
        with self._lock:
            if wanted():
                self._expected.remove(id)
                started = Started(generation.choices[0].prompt_length)
                self._channel.send(protocol.Step([protocol.Item.of(id, started)]))
                self._loop.submit(generation)
