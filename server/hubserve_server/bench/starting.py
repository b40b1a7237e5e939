"""The scenarios that start their servers themselves: one server at a time, and nothing kept."""

from collections.abc import Sequence

from hubserve_server.bench.memory import of_tree, watched
from hubserve_server.bench.running import AGENT_WORDS, cold, shared, sixteen, user
from hubserve_server.bench.scenario import FIRST, Figure, Starting
from hubserve_server.bench.texts import Texts
from hubserve_server.client.errors import CommandError
from hubserve_server.client.servers import Site

MEBIBYTE = 2**20


async def start(site: Site, texts: Texts) -> Sequence[float]:
    async with site.up() as server:
        answer = await server.client.chat(user(texts.question()), 2)
        return [server.ready, answer.arrivals[0] - server.began]


async def restart(site: Site, texts: Texts) -> Sequence[float]:
    """A prompt, an end as with Ctrl-C, a start, and the prompt again."""
    prompt = user(texts.reading(AGENT_WORDS))
    async with site.up() as server:
        await server.client.chat(prompt, 2)
    async with site.up() as server:
        return [(await server.client.chat(prompt, 2)).first]


async def memory(site: Site, texts: Texts) -> Sequence[float]:
    """At rest, before the first request; the most, and at the end, of the hardest scenarios."""
    async with site.up() as server:
        assert server.pid is not None
        rest = of_tree(server.pid)
        async with watched(server.pid) as peak:
            for work in (sixteen, cold, shared):
                await work(server.client, texts)
            end = peak.look(server.pid)
        if not rest:
            raise CommandError(f"The memory of {site.label} cannot be read.")
        return [size / MEBIBYTE for size in (rest, end, peak.bytes)]


STARTING = (
    Starting(
        "start",
        "start, from the command on",
        (Figure("ready", "s", "lower"), FIRST),
        start,
    ),
    Starting("restart", "a prompt of 1300 tokens, again after a restart", (FIRST,), restart),
    Starting(
        "memory",
        "memory of all processes",
        (
            Figure("at rest", "MiB", "lower"),
            Figure("at the end", "MiB", "lower"),
            Figure("peak", "MiB", "lower"),
        ),
        memory,
    ),
)
