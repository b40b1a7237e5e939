"""A request as it comes -> a generation that the loop can run: rendered, tokenized, checked."""

from collections.abc import Callable, Iterable
from collections.abc import Sequence as Series
from dataclasses import replace
from functools import cached_property, partial
from itertools import count
from typing import TYPE_CHECKING

from hubserve_engine.backends.base import Backend
from hubserve_engine.channels import ChannelSplitter
from hubserve_engine.choosing import Guide
from hubserve_engine.errors import ContextOverflow, InvalidRequest
from hubserve_engine.profiles import Profile
from hubserve_engine.prompt import limits
from hubserve_engine.prompt.template import ChatTemplate
from hubserve_engine.sequence import Sequence
from hubserve_engine.thinking_budget import ThinkingBudget, allowance, closing
from hubserve_engine.tool_formats import ToolFormat
from hubserve_engine.transcript import Transcript
from hubserve_engine.types import (
    Chat,
    ReasoningFormat,
    ReasoningSwitch,
    Rendered,
    Request,
    Sampling,
)
from hubserve_engine.worker.generation import Generation

if TYPE_CHECKING:
    from hubserve_engine.constraints.constraints import Constraints


_NOT_RENDERED = Rendered("", thinking_open=False)


class Intake:
    """What the requests of one model have in common. For one thread."""

    def __init__(
        self,
        backend: Backend,
        template: ChatTemplate,
        *,
        sampling: Sampling,
        reasoning: ReasoningSwitch,
        reasoning_budget: int,
        reasoning_format: ReasoningFormat,
    ) -> None:
        self._backend = backend
        self._template = template
        self._sampling = sampling
        self._reasoning = reasoning
        self._reasoning_budget = reasoning_budget
        self._reasoning_format = reasoning_format
        self._arrivals = count()
        self._constraints: Constraints | None = None

    @property
    def profile(self) -> Profile:
        return self._template.profile

    @property
    def tool_format(self) -> ToolFormat:
        return self._template.tool_format

    def speaks(self, piece: str) -> bool:
        """Whether a control token with this text is read, and so must be shown."""
        return self.profile.speaks(piece) or self.tool_format.speaks(piece)

    def render(
        self,
        chat: Chat,
        wanted: Callable[[], bool] = limits.wanted,
        budget: int | None = None,
    ) -> Rendered:
        """`budget` are the tokens of thinking that the request wants; a template that tells the
        model of them is given them, and none at all switches thinking off.

        Raises PromptError, or Cancelled once it is not `wanted`.
        """
        tokens = self._reasoning_budget if budget is None else budget
        if tokens == 0 and chat.reasoning is None:
            chat = replace(chat, reasoning="off")
        elif tokens > 0 and chat.reasoning != "off":
            arguments = {"thinking_budget": tokens, **chat.template_arguments}
            chat = replace(chat, template_arguments=arguments)
        return self._template.render(chat, reasoning=self._reasoning, wanted=wanted)

    def prepare(
        self, id: int, request: Request, wanted: Callable[[], bool] = limits.wanted
    ) -> Generation:
        """Raises InvalidRequest, or Cancelled once it is not `wanted`."""
        biases = request.sampling.logit_bias or ()
        biased = [token for token, _ in biases if isinstance(token, int)]
        check_tokens(biased, self._backend.loaded.vocabulary, param="logit_bias")
        tokens, rendered = self._tokenize(request, wanted)
        context = self._backend.capabilities.context_length
        if not tokens:
            raise InvalidRequest("The prompt is empty; send at least one token.", param="prompt")
        sampling = request.sampling.over(self._sampling)
        limit = min(context, len(tokens) + (request.max_tokens or context))
        stops = request.stop
        if isinstance(request.prompt, Chat):
            stops += self.profile.stops
        guides = self._guides(request, rendered, limit - len(tokens))
        generation = Generation(id, request, [])
        pauses = self._pauses(tokens) if request.cache_prompt else []
        for index in range(request.n):
            sequence = Sequence(
                tokens,
                arrival=next(self._arrivals),
                sampler=self._backend.sampler(_for_choice(sampling, index), tokens),
                transcript=Transcript(index, self._splitter(request, rendered), stops),
                limit=limit,
                guide=guides[index],
                reuse=request.cache_prompt,
                pauses=pauses,
            )
            generation.choices.append(sequence)
        return generation

    def _pauses(self, tokens: list[int]) -> list[int]:
        """Where a state that cannot be cut back everywhere is to be marked: behind the first
        message, which others may share, and behind the last one, where the next turn goes on."""
        capabilities = self._backend.capabilities
        if capabilities.truncate and capabilities.restore_truncates:
            return []
        most = len(tokens) - capabilities.min_chunk
        ends = [i + 1 for i, token in enumerate(tokens) if token in self._backend.end_tokens]
        borders = (min(ends, default=most), min(max(ends, default=most), most))
        multiple = capabilities.chunk_multiple
        return [n // multiple * multiple for n in borders if n >= capabilities.min_chunk]

    def _tokenize(self, request: Request, wanted: Callable[[], bool]) -> tuple[list[int], Rendered]:
        """The prompt's tokens, and its text where a template made it.

        What cannot fit is refused before much is done with it.
        """
        prompt = request.prompt
        if isinstance(prompt, tuple):
            self._check_length(len(prompt), "prompt")
            check_tokens(prompt, self._backend.loaded.vocabulary, param="prompt")
            return list(prompt), _NOT_RENDERED
        if isinstance(prompt, str):
            self._check_size(prompt, "prompt")
            tokens = self._backend.tokenize(prompt, add_special=True, parse_special=True)
            self._check_length(len(tokens), "prompt")
            return tokens, _NOT_RENDERED
        rendered = self.render(prompt, wanted, request.reasoning_budget)
        self._check_size(rendered.text, "messages")
        bos = self._backend.loaded.bos
        # A template that writes the first token itself must not get it twice.
        add_special = not (bos and rendered.text.startswith(bos))
        tokens = self._backend.tokenize(rendered.text, add_special=add_special, parse_special=True)
        self._check_length(len(tokens), "messages")
        return tokens, rendered

    def _check_size(self, text: str, param: str) -> None:
        """Raises ContextOverflow for a text that cannot fit, however it is cut into tokens."""
        context = self._backend.capabilities.context_length
        size = len(text.encode("utf-8", "replace"))
        if size <= context:
            return
        least = size // self._backend.longest_piece
        if least >= context:
            raise ContextOverflow(least + 1, context, param=param)

    def _check_length(self, tokens: int, param: str) -> None:
        context = self._backend.capabilities.context_length
        if tokens >= context:
            raise ContextOverflow(tokens + 1, context, param=param)

    def _guides(self, request: Request, rendered: Rendered, room: int) -> Series[Guide | None]:
        """One for each choice, where `room` tokens may be written. Raises InvalidRequest."""
        held = self._held(request, rendered, room)
        return [self._budgeted(request, rendered, room, each) for each in held]

    def _held(self, request: Request, rendered: Rendered, room: int) -> Series[Guide | None]:
        """What holds answers to what the request wants of them."""
        chat = request.prompt if isinstance(request.prompt, Chat) else None
        calls = bool(chat and chat.tools) and request.tool_use.binds
        if request.constraint is None and not calls:
            return [None] * request.n
        if self._constraints is None:
            # Many servers never see a constraint.
            from hubserve_engine.constraints.constraints import Constraints

            self._constraints = Constraints(
                self._backend, self.profile, self.tool_format, self.layout_tokens
            )
        switch = (chat.reasoning if chat else None) or self._reasoning
        return self._constraints.held(request, rendered, may_think=switch != "off", room=room)

    def _budgeted(
        self, request: Request, rendered: Rendered, room: int, then: Guide | None
    ) -> Guide | None:
        """What holds thinking to its budget, and the answer to what `then` says."""
        if not isinstance(request.prompt, Chat) or not self.profile.thinking_tags:
            return then
        tokenize = partial(self._backend.tokenize, add_special=False, parse_special=True)
        if not rendered.thinking_open:
            room -= len(tokenize(self.profile.thinking_tags[0]))
        # Calls that have to come have no lead of their own.
        must_call = request.tool_use.choice == "required"
        profile = replace(self.profile, answer_lead="") if must_call else self.profile
        ends = closing(profile, tokenize, room)
        if len(ends.first) >= room or not self._backend.end_tokens.isdisjoint(ends.first):
            return then  # there is no room for an answer, or none would come
        asked = request.reasoning_budget
        return ThinkingBudget(
            self._split(request, request.prompt, rendered),
            allowance(self._reasoning_budget if asked is None else asked, room, ends),
            ends,
            piece=self._seen,
            vocabulary=self._backend.loaded.vocabulary,
            ends=self._backend.end_tokens,
            then=then,
        )

    @cached_property
    def layout_tokens(self) -> frozenset[int]:
        """Control tokens that are read, such as those of thinking and calls, and so have a text."""
        found: set[int] = set()
        for text in self._backend.loaded.special_tokens:
            if self.speaks(text):
                tokens = self._backend.tokenize(text, add_special=False, parse_special=True)
                found.update(tokens if len(tokens) == 1 else ())
        return frozenset(found)

    def _seen(self, token: int) -> bytes:
        """A token's bytes, with those of control tokens that belong to the layout of answers."""
        if piece := self._backend.piece(token):
            return piece
        piece = self._backend.piece(token, special=True)
        return piece if self.speaks(piece.decode("utf-8", "replace")) else b""

    def _splitter(self, request: Request, rendered: Rendered) -> ChannelSplitter:
        """What cuts an answer into its channels; all is content if the request wants that."""
        whole = (request.reasoning_format or self._reasoning_format) == "none"
        if not isinstance(request.prompt, Chat) or (whole and self.profile.thinking_tags):
            return ChannelSplitter(None, thinking_open=rendered.thinking_open)
        return self._split(request, request.prompt, rendered)

    def _split(self, request: Request, chat: Chat, rendered: Rendered) -> ChannelSplitter:
        return ChannelSplitter(
            self.profile.thinking_tags,
            thinking_open=rendered.thinking_open,
            # In an answer that is held to something, a tag is a part of that.
            anywhere=self.profile.thinking_anywhere and request.constraint is None,
            marks=self.profile.marks,
            calls=self.tool_format.ends if chat.tools else (),
            begun=rendered.mark,
        )


def _for_choice(sampling: Sampling, index: int) -> Sampling:
    """Choices of one request differ: each has the seed after the one before."""
    if sampling.seed is None:
        return sampling
    return replace(sampling, seed=sampling.seed + index)


def check_tokens(tokens: Iterable[int], vocabulary: int, *, param: str) -> None:
    """Raises InvalidRequest for a token that the model does not have."""
    for token in tokens:
        if not 0 <= token < vocabulary:
            raise InvalidRequest(
                f"Token {token} is not in the vocabulary, which has {vocabulary} tokens.",
                param=param,
            )
