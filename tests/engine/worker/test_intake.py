from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.backends import NAMES, load
from tests.support.loops import intake

from hubserve_engine.backends.base import Backend
from hubserve_engine.errors import ContextOverflow, InvalidRequest, PromptError
from hubserve_engine.profiles import Profile
from hubserve_engine.types import Chat, Message, Prompt, Request, Sampling, SamplingOptions
from hubserve_engine.worker.intake import Intake


@pytest.fixture(params=NAMES)
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Backend]:
    backend = load(str(request.param), tmp_path, context=512)
    yield backend
    backend.close()


@pytest.fixture
def desk(backend: Backend) -> Intake:
    return intake(backend)


def test_text_and_tokens_are_the_same_prompt(backend: Backend, desk: Intake) -> None:
    tokens = backend.tokenize("the land", add_special=True, parse_special=True)
    for prompt in ("the land", tuple(tokens)):
        (choice,) = desk.prepare(1, Request(prompt)).choices
        assert choice.tokens == tokens


def test_a_chat_is_rendered_by_the_models_template(backend: Backend, desk: Intake) -> None:
    chat = Chat((Message("user", "the land"),))
    (choice,) = desk.prepare(1, Request(chat)).choices
    text = b"".join(backend.piece(token, special=True) for token in choice.tokens).decode()
    assert text == desk.render(chat).text
    assert text.count("<|im_start|>") == 2


def test_a_chat_without_messages_is_refused(desk: Intake) -> None:
    with pytest.raises(PromptError):
        desk.render(Chat(()))


@pytest.mark.parametrize("prompt", ["", ()])
def test_an_empty_prompt_is_refused(desk: Intake, prompt: str | tuple[int, ...]) -> None:
    with pytest.raises(InvalidRequest, match="empty"):
        desk.prepare(1, Request(prompt))


@pytest.mark.parametrize("token", [-1, 10**6, 2**40])
def test_a_token_that_is_not_there_is_refused_by_name(desk: Intake, token: int) -> None:
    with pytest.raises(InvalidRequest, match=str(token)):
        desk.prepare(1, Request((1, token)))


def test_a_prompt_that_leaves_no_room_for_an_answer_is_refused(desk: Intake) -> None:
    with pytest.raises(ContextOverflow) as refused:
        desk.prepare(1, Request((1,) * 512))
    assert (refused.value.needed, refused.value.limit) == (513, 512)
    assert refused.value.param == "prompt"
    assert desk.prepare(1, Request((1,) * 511)).choices[0].limit == 512


@pytest.mark.parametrize(
    "prompt", ["x" * 10**5, (10**6,) * 600, Chat((Message("user", "x" * 10**5),))]
)
def test_what_cannot_fit_is_refused_before_it_is_looked_at(
    backend: Backend, desk: Intake, monkeypatch: pytest.MonkeyPatch, prompt: Prompt
) -> None:
    """No token has more than a few hundred bytes, so a text can be too long at first sight."""
    monkeypatch.setattr(backend, "tokenize", None)
    with pytest.raises(ContextOverflow) as refused:
        desk.prepare(1, Request(prompt))
    assert refused.value.needed > refused.value.limit == 512


@pytest.mark.parametrize(
    ("allowed", "limit"), [(None, 512), (0, 512), (5, 15), (10**9, 512), (502, 512)]
)
def test_an_answer_ends_at_its_own_limit_or_the_contexts(
    desk: Intake, allowed: int | None, limit: int
) -> None:
    (choice,) = desk.prepare(1, Request((1,) * 10, max_tokens=allowed)).choices
    assert choice.limit == limit


def test_choices_come_one_after_the_other(desk: Intake) -> None:
    first = desk.prepare(1, Request("a", n=3)).choices
    second = desk.prepare(2, Request("a")).choices
    arrivals = [choice.arrival for choice in (*first, *second)]
    assert arrivals == sorted(set(arrivals))


def test_what_a_request_leaves_open_is_the_models_own(
    backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Sampling] = []
    make = backend.sampler

    def sampler(sampling: Sampling, prompt: list[int]) -> object:
        seen.append(sampling)
        return make(sampling, prompt)

    monkeypatch.setattr(backend, "sampler", sampler)
    desk = intake(backend, Sampling(temperature=0.6, top_k=20))
    desk.prepare(1, Request("a", SamplingOptions(top_k=0, seed=4), n=2))
    assert [(s.temperature, s.top_k, s.seed) for s in seen] == [(0.6, 0, 4), (0.6, 0, 5)]


@pytest.mark.parametrize("token", [-1, 10**6, 2**40])
def test_a_bias_for_a_token_that_is_not_there_is_refused_by_name(desk: Intake, token: int) -> None:
    biases = ((1, 5.0), (token, 5.0))
    with pytest.raises(InvalidRequest, match=str(token)) as refused:
        desk.prepare(1, Request("a", SamplingOptions(logit_bias=biases)))
    assert refused.value.param == "logit_bias"


def test_a_text_that_biases_nothing_is_no_fault(desk: Intake) -> None:
    desk.prepare(1, Request("a", SamplingOptions(logit_bias=(("", 5.0), ("zz", -5.0)))))


def test_a_model_whose_marks_are_no_tokens_stops_at_their_text(backend: Backend) -> None:
    chat = Request(Chat((Message("user", "the land"),)), stop=("x",))
    desk = intake(backend, profile=Profile("plain", stops=("<|im_end|>",)))
    (choice,) = desk.prepare(1, chat).choices
    choice.transcript.feed(b"land<|im_end|>user")
    assert choice.transcript.stop == "<|im_end|>"
    (plain,) = desk.prepare(2, Request("the land")).choices
    plain.transcript.feed(b"land<|im_end|>user")
    assert plain.transcript.stop is None
