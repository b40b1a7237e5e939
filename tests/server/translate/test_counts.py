"""Counts and probabilities on their way into the protocol's shapes."""

import msgspec

from hubserve_engine.types import Timings, TokenLogprob, TokenProbability
from hubserve_server.translate.counts import add_timings, chat_logprobs, text_logprobs, timings


def token(*pieces: bytes) -> TokenLogprob:
    """The first piece was chosen; all of them were the likeliest, in this order."""
    top = tuple(TokenProbability(n, piece, -float(n)) for n, piece in enumerate(pieces))
    return TokenLogprob(top[0], top)


def test_parts_of_characters_are_told_apart_where_no_bytes_stand_beside_them() -> None:
    reply = text_logprobs([token(b"\xe2\x80", b"\xf0\x9f", "né".encode())])
    assert reply.tokens == ["bytes:\\xe2\\x80"]
    assert reply.top_logprobs == [{"bytes:\\xe2\\x80": 0.0, "bytes:\\xf0\\x9f": -1.0, "né": -2.0}]


def test_a_chat_has_the_exact_bytes_beside_the_text() -> None:
    (chosen,) = chat_logprobs([token(b"\xe2\x80", b"x")]).content
    assert (chosen.token, chosen.bytes) == ("\ufffd", [0xE2, 0x80])
    assert [(top.token, top.bytes) for top in chosen.top_logprobs] == [
        ("\ufffd", [0xE2, 0x80]),
        ("x", [0x78]),
    ]


def test_the_tier_is_in_the_timings_only_if_something_was_reused() -> None:
    without = Timings(cache_n=0, prompt_n=5, prompt_ms=1.0, predicted_n=9, predicted_ms=2.0)
    reused = Timings(3, 2, 3.0, 4, 5.0, cache_tier="disk")
    assert "cache_tier" not in msgspec.json.decode(msgspec.json.encode(timings(without)))
    for parts in ([reused], [reused, without], [without, reused]):
        assert timings(add_timings(parts)).cache_tier == "disk"


def test_guesses_are_in_the_timings_only_if_there_were_any() -> None:
    without = Timings(cache_n=0, prompt_n=5, prompt_ms=1.0, predicted_n=9, predicted_ms=2.0)
    guessed = Timings(1, 2, 3.0, 4, 5.0, draft_n=6, draft_n_accepted=0)
    assert "draft_n" not in msgspec.json.decode(msgspec.json.encode(timings(without)))
    told = msgspec.json.decode(msgspec.json.encode(timings(add_timings([without, guessed]))))
    assert (told["draft_n"], told["draft_n_accepted"]) == (6, 0)
    assert told["predicted_n"] == 13
