"""The scenarios of servers that are up, with the requests that they are made of.

Decoding is counted in tokens after the first one; of several streams in all tokens over all the
time from the requests on, since servers differ in whom they let write first.
"""

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from itertools import pairwise

from hubserve_server.bench.scenario import FIRST, SPEED, Figure, Running
from hubserve_server.bench.summary import nearest_rank
from hubserve_server.bench.texts import COPY, Texts
from hubserve_server.client.client import Answer, Client, Message
from hubserve_server.client.errors import CommandError

AGENT_WORDS, LONG_WORDS, SYSTEM_WORDS = 1130, 1760, 600
"""About 1300 tokens, as a coding agent sends before any word of its user; about 2000; and the
system prompt of an assistant."""

TURNS, TURN_WORDS = 5, 60
FUNCTIONS = 25
SPIN = """
import os, sys
while os.getppid() == int(sys.argv[1]):
    for _ in range(1_000_000):
        pass
"""
"""A neighbour that takes a whole core, and does not outlive us."""


def user(text: str) -> list[Message]:
    return [{"role": "user", "content": text}]


async def one(client: Client, texts: Texts) -> Sequence[float]:
    return [(await client.chat(user(texts.question()), 128)).rate]


async def one_in_context(client: Client, texts: Texts) -> Sequence[float]:
    return [(await client.chat(user(texts.reading(AGENT_WORDS)), 128)).rate]


async def cold(client: Client, texts: Texts) -> Sequence[float]:
    return [(await client.chat(user(texts.reading(LONG_WORDS)), 2)).first]


async def chat(client: Client, texts: Texts) -> Sequence[float]:
    """Each turn has all turns before it, with the answers that this server gave."""
    messages: list[Message] = []
    answer: Answer | None = None
    for _ in range(TURNS):
        messages += user(texts.reading(TURN_WORDS))
        answer = await client.chat(messages, 64)
        messages.append({"role": "assistant", "content": answer.text})
    assert answer
    return [answer.first]


async def together(client: Client, chats: Sequence[list[Message]], tokens: int) -> list[Answer]:
    """All at once; the first that fails ends the others."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(client.chat(messages, tokens)) for messages in chats]
    except BaseExceptionGroup as failures:
        raise failures.exceptions[0] from None
    return [task.result() for task in tasks]


def total_rate(answers: Sequence[Answer]) -> float:
    began, ended = min(a.began for a in answers), max(a.ended for a in answers)
    return sum(a.tokens for a in answers) / (ended - began)


async def four(client: Client, texts: Texts) -> Sequence[float]:
    chats = [user(texts.question()) for _ in range(4)]
    return [total_rate(await together(client, chats, 64))]


async def sixteen(client: Client, texts: Texts) -> Sequence[float]:
    chats = [user(texts.question()) for _ in range(16)]
    return [total_rate(await together(client, chats, 48))]


async def shared(client: Client, texts: Texts) -> Sequence[float]:
    system = {"role": "system", "content": texts.story(SYSTEM_WORDS)}
    chats = [[system, *user(texts.question())] for _ in range(8)]
    answers = await together(client, chats, 48)
    return [total_rate(answers), nearest_rank([a.first for a in answers], 0.95)]


async def gap(client: Client, texts: Texts) -> Sequence[float]:
    """A stream writes; a long prompt comes, and is answered; the stream's worst pause meanwhile.

    The pause that the long prompt's first token ends is the stream's, too.
    """
    times: list[float] = []
    stream = asyncio.create_task(
        client.chat(user(texts.question()), 2048, on_text=lambda: times.append(time.perf_counter()))
    )

    async def until(pieces: int) -> None:
        while len(times) < pieces and not stream.done():
            await asyncio.sleep(0.02)

    try:
        await until(16)
        sent = len(times)
        if not stream.done():
            await client.chat(user(texts.reading(LONG_WORDS)), 2)
            await until(len(times) + 1)
        if stream.done():
            stream.result()
            raise CommandError(
                f"{client.url} ended a stream of 2048 tokens before the prompt beside it was read."
            )
    finally:
        stream.cancel()
        with suppress(asyncio.CancelledError, CommandError):
            await stream
    return [1000 * max(after - before for before, after in pairwise(times[sent - 1 :]))]


async def edit(client: Client, texts: Texts) -> Sequence[float]:
    file = texts.functions(FUNCTIONS)
    prompt = f"{COPY}\n\n```python\n{file}\n```"
    return [(await client.chat(user(prompt), 600, to_the_end=False)).rate]


async def busy(client: Client, texts: Texts) -> Sequence[float]:
    spin = [sys.executable, "-S", "-c", SPIN, str(os.getpid())]
    neighbour = subprocess.Popen(spin, start_new_session=True)
    try:
        return [(await client.chat(user(texts.question()), 32)).rate]
    finally:
        neighbour.kill()
        neighbour.wait()


RUNNING = (
    Running("one", "one stream, short prompt", (SPEED,), one),
    Running("context", "one stream at 1300 tokens of context", (SPEED,), one_in_context),
    Running("cold", "a prompt of 2000 tokens that is new", (FIRST,), cold),
    Running("chat", "the last turn of a chat of 5", (FIRST,), chat),
    Running("streams-4", "4 streams", (SPEED,), four),
    Running("streams-16", "16 streams", (SPEED,), sixteen),
    Running(
        "shared",
        "8 streams with one system prompt of 600 words",
        (SPEED, Figure("first token, p95", "s", "lower")),
        shared,
    ),
    Running(
        "gap",
        "a stream while a prompt of 2000 tokens arrives",
        (Figure("worst gap between tokens", "ms", "lower"),),
        gap,
    ),
    Running("edit", "25 functions to be copied unchanged", (SPEED,), edit),
    Running("busy", "one stream beside a busy loop on one core", (SPEED,), busy),
)
