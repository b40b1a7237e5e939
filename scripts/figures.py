"""Measure what the documents state: the loop's own share of a step, latency, size, speed.

Timings are of this machine, now: nothing else should run beside it. With --llama-server the same
requests go to that program too, in turns, and the ratios of the two are printed.
"""

import argparse
import json
import math
import os
import socket
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import psutil

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
    parser.add_argument("--llama-server", metavar="PROGRAM", help="compare with this program")
    parser.add_argument("--rounds", type=int, default=5, help="of the comparison (default: 5)")
    arguments = parser.parse_args()
    model = arguments.model or _demo()
    threads: int = arguments.threads
    print(f"{model.name}, {threads} threads, {time.strftime('%Y-%m-%d')}")
    for sequences in (1, 16):
        _row(f"own share of a decode step, {sequences:2} at once", share(model, threads, sequences))
    _row("serve --help", f"{statistics.median(help_seconds() for _ in range(9)):.2f} s")
    with ours(model, threads) as server:
        _row("/health during a 2000-token prefill", health(server))
        _row("memory of the server process", f"{server.memory() / 2**20:.0f} MiB")
    if arguments.llama_server:
        compare(model, threads, arguments.llama_server, arguments.rounds)


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
    from hubserve_engine.prompt.template import ChatTemplate
    from hubserve_engine.types import Request, Sampling, SamplingOptions
    from hubserve_engine.worker.intake import Intake
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
    config = BackendConfig((model,), 8192, sequences, threads=threads)
    backend = LlamaCppBackend(config, lambda _done: None)
    template = ChatTemplate("{{ messages[0].content }}", bos="", eos="")
    intake = Intake(
        backend, template, sampling=Sampling(), reasoning="auto", reasoning_format="auto"
    )
    loop = Loop(backend, send)
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


class Server:
    """A server process that is ready, at `url`."""

    def __init__(self, process: subprocess.Popen[bytes], url: str) -> None:
        self.process = process
        self.url = url
        self.client = httpx.Client(base_url=url, timeout=600)

    def memory(self) -> int:
        return int(psutil.Process(self.process.pid).memory_info().rss)

    def first_and_rate(self, prompt: str, tokens: int, streams: int = 1) -> tuple[float, float]:
        """Seconds to the first token, the longest of all streams, and tokens/s of all together,
        from when they were asked for."""
        firsts: list[float] = []
        began = time.perf_counter()

        def one(number: int) -> None:
            body = {
                "messages": [{"role": "user", "content": f"{number}. {prompt}"}],
                "max_tokens": tokens,
                "temperature": 0,
                "ignore_eos": True,
                "cache_prompt": False,
                "stream": True,
            }
            seen = False
            with self.client.stream("POST", "/v1/chat/completions", json=body) as response:
                for line in response.iter_lines():
                    if not seen and _has_text(line):
                        seen = True
                        firsts.append(time.perf_counter() - began)

        threads = [threading.Thread(target=one, args=(n,)) for n in range(streams)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        total = time.perf_counter() - began
        return max(firsts), streams * tokens / total


def _has_text(line: str) -> bool:
    if not line.startswith("data: {"):
        return False
    choices = json.loads(line[6:])["choices"]
    return bool(choices and choices[0]["delta"].get("content"))


@contextmanager
def running(command: list[str], port: int) -> Iterator[Server]:
    """The process of `command`, from when its /health says ok until the block ends."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    server = Server(process, f"http://127.0.0.1:{port}")
    try:
        while True:
            try:
                if server.client.get("/health").status_code == 200:
                    break
            except httpx.TransportError:
                if process.poll() is not None:
                    sys.exit(f"{command[0]} ended with exit code {process.returncode}")
            time.sleep(0.02)
        yield server
    finally:
        process.terminate()
        process.wait()


def _port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@contextmanager
def ours(model: Path, threads: int) -> Iterator[Server]:
    port = _port()
    flags = ["--port", str(port), "-t", str(threads), "-np", "16", "-c", "8192"]
    with running([SERVE, str(model), *flags], port) as server:
        yield server


@contextmanager
def theirs(program: str, model: Path, threads: int) -> Iterator[Server]:
    port = _port()
    flags = ["--port", str(port), "-t", str(threads), "-np", "16", "-c", "8192", "--kv-unified"]
    with running([program, "-m", str(model), *flags, "--no-ui"], port) as server:
        yield server


def health(server: Server) -> str:
    """Latency of /health while a prompt is read, in milliseconds."""
    prompt = FILLER * 110
    reading = threading.Thread(target=server.first_and_rate, args=(prompt, 1))
    reading.start()
    times = []
    with httpx.Client(base_url=server.url) as client:
        while reading.is_alive():
            began = time.perf_counter()
            client.get("/health").raise_for_status()
            times.append((time.perf_counter() - began) * 1000)
            time.sleep(0.01)
    times.sort()
    p99 = times[min(len(times) - 1, math.ceil(len(times) * 0.99) - 1)]
    return f"p99 {p99:.1f} ms, median {statistics.median(times):.1f} ms of {len(times)}"


def compare(model: Path, threads: int, program: str, rounds: int) -> None:
    """Both servers in turns; the median of the rounds' ratios, and their range."""
    with ours(model, threads) as a, theirs(program, model, threads) as b:
        scenarios: list[tuple[str, Callable[[Server], float]]] = [
            ("one stream, tokens/s", lambda s: s.first_and_rate(FILLER, 128)[1]),
            ("4 streams, tokens/s", lambda s: s.first_and_rate(FILLER, 64, 4)[1]),
            ("16 streams, tokens/s", lambda s: s.first_and_rate(FILLER, 48, 16)[1]),
            ("2000-token prompt, s to the first", lambda s: s.first_and_rate(FILLER * 110, 2)[0]),
        ]
        for name, measure in scenarios:
            pairs = [(measure(a), measure(b)) for _ in range(rounds)]
            ratios = [x / y for x, y in pairs]
            ours_median = statistics.median(x for x, _ in pairs)
            theirs_median = statistics.median(y for _, y in pairs)
            _row(
                name,
                f"{ours_median:.2f} against {theirs_median:.2f}: ratio "
                f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})",
            )


if __name__ == "__main__":
    main()
