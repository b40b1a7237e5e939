"""Measure hubserve beside llama-server of the same kernels, and write docs/bench.md of it.

llama-server and llama-bench are built once, from the source of the llama-cpp-python that we use and
with the flags that scripts/install uses, and kept in ~/.cache/hubserve/peers. Without --model it is
the demo in every scenario, and Qwen2.5-Coder in the edit task, which the demo is too small for.
Nothing else should run on the machine meanwhile.
"""

import argparse
import asyncio
import hashlib
import json
import os
import shlex
import shutil
import subprocess
import sys
import tarfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
import psutil
import typer
from scripts.fetch import (
    CACHE,
    LLAMA_VERSION,
    MODELS,
    FetchError,
    fetch_model,
    llama_source,
    models_directory,
    say,
    workshop,
)

from hubserve_engine.units import size_text
from hubserve_server.bench.arguments import chosen, counts
from hubserve_server.bench.command import RUNS as USUAL
from hubserve_server.bench.plot import draw
from hubserve_server.bench.report import Measured, Report, number, spread_text
from hubserve_server.bench.runner import SCENARIOS, survey
from hubserve_server.client.arguments import servers, target
from hubserve_server.client.errors import ENDED, CommandError
from hubserve_server.client.files import write
from hubserve_server.client.servers import PORT

ROOT = Path(__file__).parents[1]
PEERS = CACHE / "hubserve/peers"
PROGRAMS = ("llama-server", "llama-bench")
INCLUDE = ROOT / "scripts/llama-server.cmake"
OFF = (
    *("BUILD_SHARED_LIBS", "LLAMA_BUILD_APP", "LLAMA_BUILD_EXAMPLES", "LLAMA_BUILD_TESTS"),
    *("LLAMA_BUILD_UI", "LLAMA_USE_PREBUILT_UI", "LLAMA_CURL", "LLAMA_OPENSSL"),
)
"""What is left out of the programs; nothing in it computes."""

EDIT = "edit"
RUNS = ("memory=1", "edit=3")
"""Fewer than of the others, so that all takes less than 25 minutes: memory hardly differs from run
to run, and the edit task is long. --runs overrides it."""

AIMS = {
    ("one", "speed"): (">=", 1.0),
    ("context", "speed"): (">=", 1.15),
    ("cold", "first token"): ("<=", 1.08),
    ("chat", "first token"): ("<=", 0.8),
    ("streams-4", "speed"): (">=", 1.1),
    ("streams-16", "speed"): (">=", 1.1),
    ("shared", "speed"): (">=", 2.2),
    ("shared", "first token, p95"): ("<=", 0.25),
    ("gap", "worst gap between tokens"): ("<=", 0.25),
    (EDIT, "speed"): (">=", 1.4),
    ("busy", "speed"): (">=", 3.0),
    ("start", "ready"): ("<=", 2.0),
    ("restart", "first token"): ("<=", 0.05),
    ("memory", "peak"): ("<=", 1.0),
}
"""What the ratio, hubserve's to llama-server's, is to be."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What both servers are told alike; `computing` is what llama-bench is told, too."""

    context: int
    parallel: int
    threads: int
    more: tuple[str, ...] = ()

    @property
    def computing(self) -> tuple[str, ...]:
        return ("-t", str(self.threads), *self.more)

    @property
    def flags(self) -> tuple[str, ...]:
        return ("-c", str(self.context), "-np", str(self.parallel), *self.computing)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="scripts/bench-peers",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--model", type=Path, action="append", help="a GGUF file, in all scenarios")
    parser.add_argument("-c", "--ctx-size", type=int, default=8192)
    parser.add_argument("-np", "--parallel", type=int, default=16)
    cores = psutil.cpu_count(logical=False) or 1
    parser.add_argument("-t", "--threads", type=int, default=cores, help="default: the cores")
    parser.add_argument("--runs", action="append", help="N or NAME=N, as `hubserve bench` takes it")
    parser.add_argument("--scenario", action="append", help="only this one; may be repeated")
    parser.add_argument("--docs", type=Path, default=ROOT / "docs", help="where the page goes")
    parser.add_argument("more", nargs="*", help="flags for all programs, after --: -- -ngl 99")
    given = parser.parse_args()
    settings = Settings(given.ctx_size, given.parallel, given.threads, tuple(given.more))
    seed = time.strftime("%Y%m%d%H%M%S")
    names = given.scenario or [each.name for each in SCENARIOS]
    try:
        target("--docs", given.docs / "bench.md")
        programs = build()
        reports = [
            compare(programs, model, settings, wanted, (*RUNS, *(given.runs or ())), seed)
            for model, wanted in plan(given.model or [], names)
        ]
        publish(given.docs, reports, settings, kernels(programs, reports, settings))
    except (CommandError, FetchError, OSError, typer.BadParameter) as error:
        sys.exit(f"bench-peers: {error}")
    except asyncio.CancelledError:
        sys.exit(ENDED)


def plan(models: Sequence[Path], names: Sequence[str]) -> list[tuple[Path, list[str]]]:
    """Which model is measured in which scenarios."""
    if models:
        return [(model, list(names)) for model in models]
    small = [name for name in names if name != EDIT]
    wanted = [("smollm2", small), ("qwen2.5-coder", [EDIT] if EDIT in names else [])]
    return [(_fetched(name), scenarios) for name, scenarios in wanted if scenarios]


def _fetched(name: str) -> Path:
    return fetch_model(MODELS[name], models_directory())


def build() -> Path:
    """The folder with the programs, which are built if they are not there for these flags."""
    shown = subprocess.run(
        [ROOT / "scripts/install", "--show-build"], capture_output=True, text=True, check=True
    )
    name, flags = shown.stdout.splitlines()
    arguments = [*flags.split(), *(f"-D{option}=OFF" for option in OFF)]
    made_of = " ".join(arguments).encode() + INCLUDE.read_bytes()
    folder = PEERS / f"{name}-{hashlib.sha256(made_of).hexdigest()[:12]}"
    if folder.exists():
        return folder
    if missing := [tool for tool in ("cmake", "c++") if not shutil.which(tool)]:
        raise CommandError(f"{missing[0]} is needed to build llama-server, and was not found.")
    say("building llama-server and llama-bench (about 10 minutes on 2 cores, once) ...")
    with workshop(PEERS) as shop:
        with tarfile.open(llama_source()) as archive:
            archive.extractall(shop / "source", filter="data")
        (source,) = (shop / "source").glob("*/vendor/llama.cpp")
        made, log = shop / "build", PEERS / "build.log"
        configure = ["cmake", "-S", str(source), "-B", str(made), "-DCMAKE_BUILD_TYPE=Release"]
        configure += [f"-DCMAKE_PROJECT_llama.cpp_INCLUDE={INCLUDE}", *arguments]
        cores = str(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 2)
        compile_ = ["cmake", "--build", str(made), "--parallel", cores, "--target", *PROGRAMS]
        with log.open("w") as output:
            for command in (configure, compile_):
                done = subprocess.run(command, stdout=output, stderr=subprocess.STDOUT)
                if done.returncode:
                    raise CommandError(f"llama-server could not be built; {log} says why.")
        (made / "bin").rename(folder)
        log.unlink()
    return folder


def compare(
    programs: Path,
    model: Path,
    settings: Settings,
    names: Sequence[str],
    runs: Sequence[str],
    seed: str,
) -> Report:
    """Both servers with the same flags. llama-server's slots share one context, as ours do."""
    flags = settings.flags
    theirs = [str(programs / "llama-server"), "-m", str(model), *flags, "--kv-unified"]
    nobody = (None, None, None)
    sites = servers(
        "bench", [str(model), *flags], nobody, nobody, shlex.join([*theirs, "--port", PORT])
    )
    scenarios = chosen(SCENARIOS, names)
    return asyncio.run(survey(sites, scenarios, counts(SCENARIOS, runs, USUAL), seed, say))


def kernels(programs: Path, reports: Sequence[Report], settings: Settings) -> list[str]:
    """What llama-bench says of each model: the kernels without any server."""
    lines = []
    for report in reports:
        words = shlex.split(report.servers[1].where)
        model = words[words.index("-m") + 1]
        flags = [*settings.computing, "-p", "512", "-n", "64", "-r", "2", "-o", "json"]
        done = subprocess.run(
            [programs / "llama-bench", "-m", model, *flags], capture_output=True, text=True
        )
        if done.returncode:
            raise CommandError(f"llama-bench failed: {done.stderr.strip()[-300:]}")
        reading, writing = (test["avg_ts"] for test in json.loads(done.stdout))
        lines.append(
            f"{Path(model).stem}: {reading:.0f} tokens a second read (512 at once), {writing:.0f}"
            " written"
        )
    return lines


def publish(docs: Path, reports: Sequence[Report], settings: Settings, bare: list[str]) -> None:
    """The page, its picture, and every run in JSON."""
    whole = joined(reports)
    runs = msgspec.json.format(msgspec.json.encode(reports), indent=2)
    write(docs / "bench.json", runs.replace(str(Path.home()).encode(), b"~") + b"\n")
    draw(whole, docs / "bench.png")
    write(docs / "bench.md", page(whole, settings, bare).encode())
    say(f"written: {docs / 'bench.md'}")


def joined(reports: Sequence[Report]) -> Report:
    """One report of all; a model that is not the first one's is named beside its scenarios."""
    first = reports[0]
    figures = [
        each
        if report is first
        else msgspec.structs.replace(each, title=f"{each.title} ({report.servers[0].model})")
        for report in reports
        for each in report.figures
    ]
    return msgspec.structs.replace(first, figures=tuple(figures))


def page(report: Report, settings: Settings, bare: Sequence[str]) -> str:
    machine = report.machine
    ours, theirs = report.servers
    rows = "\n".join(row(each) for each in report.figures)
    kernel_lines = "\n".join(f"- {line}" for line in bare)
    return f"""# Beside llama-server

Measured on {report.date} with `scripts/bench-peers`: {ours.software} with llama-cpp-python
{LLAMA_VERSION}, and {theirs.label} ({theirs.software}) built from the same source with the same
flags and compiler. The model is {ours.model}, if no other is named.

- Machine: {machine.processor}, {machine.cores} cores, {size_text(machine.memory)} of memory
- System: {machine.system}, Python {machine.python}
- Both with `{shlex.join(settings.flags)}`; {theirs.label} with `--kv-unified`, too; all else
  as it is by default

The two are asked the same in turns, A B, B A. A ratio is hubserve's figure to {theirs.label}'s in
the same run: the median of all runs, and the lowest to the highest.

| scenario | figure | hubserve | {theirs.label} | ratio | aim | met |
|---|---|---|---|---|---|---|
{rows}

![How many times better hubserve is](bench.png)

The kernels alone, by llama-bench of the same build:

{kernel_lines}

Every run is in [bench.json](bench.json). `hubserve bench --seed {report.seed}` asks the same again.
"""


def row(each: Measured) -> str:
    aim = AIMS.get((each.scenario, each.figure))
    sides = [number(spread.median) if spread else "" for spread in each.servers]
    ratio = spread_text(each.ratio) if each.ratio else ""
    wanted = met = ""
    if aim:
        sign, bound = aim
        wanted = f"{'≥' if sign == '>=' else '≤'} {bound:g}"
        if each.ratio:
            good = each.ratio.median >= bound if sign == ">=" else each.ratio.median <= bound
            met = "yes" if good else "no"
    cells = [each.title, f"{each.figure}, {each.unit}", *sides, ratio, wanted, met]
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
