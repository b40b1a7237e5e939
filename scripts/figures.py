"""Measure what the documents state of the server alone: its own share of a step, latency, size.

Timings are of this machine, now: nothing else should run beside it. `hubserve bench` measures how
quick it is for its users, scripts/bench-peers the same beside llama-server.
"""

import argparse
import asyncio
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

import psutil

from hubserve_server.bench.running import user
from hubserve_server.bench.summary import nearest_rank
from hubserve_server.client.client import Client
from hubserve_server.client.servers import PORT, Local

PYTHON = sys.executable
SERVE = str(Path(sys.executable).with_name("serve"))
SETTLED, MEASURED = 60, 150
"""Steps after which all sequences write, and steps that are then measured."""
FILLER = "The harbour was quiet that morning, and the boats lay still beside the long stone wall. "


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="scripts/figures", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--model", type=Path, help="a GGUF file (default: the demo model)")
    parser.add_argument("--threads", type=int, default=psutil.cpu_count(logical=False) or 1)
    arguments = parser.parse_args()
    model = arguments.model or _demo()
    threads: int = arguments.threads
    print(f"{model.name}, {threads} threads, {time.strftime('%Y-%m-%d')}")
    for sequences in (1, 16):
        _row(f"own share of a decode step, {sequences:2} at once", share(model, threads, sequences))
    _row("serve --help", f"{statistics.median(help_seconds() for _ in range(9)):.2f} s")
    asyncio.run(of_a_server(model, threads))


def _row(name: str, value: str) -> None:
    print(f"  {name:42} {value}", flush=True)


def _demo() -> Path:
    fetch = Path(__file__).with_name("fetch-models")
    done = subprocess.run([fetch, "smollm2"], stdout=subprocess.PIPE, text=True, check=True)
    return Path(done.stdout.strip())


def share(model: Path, threads: int, sequences: int) -> str:
    """All of a decode step that is not llama_decode: our Python, and sampling in C."""
    code = f"from figures import print_share; print_share({str(model)!r}, {threads}, {sequences})"
    done = subprocess.run(
        [PYTHON, "-c", code], cwd=Path(__file__).parent, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def print_share(model: str, threads: int, sequences: int) -> None:
    """In a process of its own: a model's steps, without any server."""
    from llama_cpp import llama_cpp

    from hubserve_engine.backends.base import BackendConfig
    from hubserve_engine.backends.llama_cpp import LlamaCppBackend
    from hubserve_engine.config import ModelConfig
    from hubserve_engine.model_info import Running
    from hubserve_engine.prompt.template import ChatTemplate
    from hubserve_engine.types import Request, Sampling, SamplingOptions
    from hubserve_engine.worker.intake import Intake
    from hubserve_engine.worker.keeper import Keeper
    from hubserve_engine.worker.loop import Loop
    from hubserve_engine.worker.protocol import FromWorker, encode

    inside = 0.0
    decode = llama_cpp.llama_decode

    def timed(*arguments: object) -> int:
        nonlocal inside
        began = time.perf_counter()
        code: int = decode(*arguments)
        inside += time.perf_counter() - began
        return code

    marks: list[tuple[int, float, float]] = []

    def send(message: FromWorker) -> None:
        encode(message)
        if loop.clock.steps >= (SETTLED, SETTLED + MEASURED)[len(marks)]:
            marks.append((loop.clock.steps, loop.clock.busy, inside))
            if len(marks) == 2:
                loop.stop()

    llama_cpp.llama_decode = timed
    config = BackendConfig((model,), 8192, sequences, running=Running(threads=threads))
    backend = LlamaCppBackend(config, lambda _done: None)
    template = ChatTemplate("{{ messages[0].content }}", bos="", eos="")
    intake = Intake(
        backend,
        template,
        sampling=Sampling(),
        reasoning="auto",
        reasoning_budget=-1,
        reasoning_format="auto",
    )
    gap = ModelConfig("").max_gap
    loop = Loop(backend, send, max_gap=gap, keeper=Keeper(backend, max_gap=gap, kept=0))
    options = SamplingOptions(ignore_eos=True, seed=1)
    for number in range(sequences):
        request = Request(f"Story {number}. {FILLER}", options, max_tokens=2 * MEASURED)
        loop.submit(intake.prepare(number, request))
    loop.run()
    (first, *before), (last, *after) = marks
    busy, decoding = (b - a for a, b in zip(before, after, strict=True))
    milliseconds = busy / (last - first) * 1000
    print(f"{1 - decoding / busy:.1%} of {milliseconds:.1f} ms", flush=True)
    os._exit(0)


def help_seconds() -> float:
    began = time.perf_counter()
    subprocess.run([SERVE, "--help"], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


async def of_a_server(model: Path, threads: int) -> None:
    flags = ("-t", str(threads), "-np", "16", "-c", "8192", "--port", PORT)
    async with Local("hubserve", (SERVE, str(model), *flags)).up() as server:
        _row("/health during a 2000-token prefill", await health(server.client))
        memory = psutil.Process(server.pid).memory_info().rss
        _row("memory of the server process", f"{memory / 2**20:.0f} MiB")


async def health(client: Client) -> str:
    """Latency of /health while a prompt is read, in milliseconds."""
    reading = asyncio.create_task(client.chat(user(FILLER * 110), 1))
    times = []
    while not reading.done():
        began = time.perf_counter()
        await client.get("/health")
        times.append((time.perf_counter() - began) * 1000)
        await asyncio.sleep(0.01)
    await reading
    p99 = nearest_rank(times, 0.99)
    return f"p99 {p99:.1f} ms, median {statistics.median(times):.1f} ms of {len(times)}"


if __name__ == "__main__":
    main()
