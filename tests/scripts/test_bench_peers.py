"""scripts/bench_peers.py: its build, with a pretended cmake, and the page that it writes."""

import io
import tarfile
from pathlib import Path

import pytest
from scripts import bench_peers, fetch
from scripts.bench_peers import Settings

from hubserve_server.bench.report import Measured, Report
from hubserve_server.bench.runner import SCENARIOS
from hubserve_server.bench.summary import ratios, spread
from hubserve_server.client.errors import CommandError
from hubserve_server.client.machine import this_machine
from hubserve_server.client.servers import Server

CMAKE = """#!/usr/bin/env bash
echo "$@" >>"$CALLS"
[[ -z ${FAIL-} ]] || exit 1
if [[ $1 == --build ]]; then mkdir -p "$2/bin"; echo program >"$2/bin/llama-server"; fi
"""


@pytest.fixture
def peers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the builds are kept, on a machine with a pretended cmake, and a source to build."""
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("cmake", "c++"):
        (tools / name).write_text(CMAKE)
        (tools / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tools), prepend=":")
    monkeypatch.setenv("CALLS", str(tmp_path / "calls"))
    monkeypatch.setattr(bench_peers, "PEERS", tmp_path / "peers")

    def source() -> Path:
        path = tmp_path / "source.tar.gz"
        with tarfile.open(path, "w:gz") as archive:
            member = tarfile.TarInfo("llama_cpp_python-1/vendor/llama.cpp/CMakeLists.txt")
            archive.addfile(member, io.BytesIO())
        return path

    monkeypatch.setattr(bench_peers, "llama_source", source)
    return tmp_path / "peers"


def calls(peers: Path) -> list[str]:
    path = peers.parent / "calls"
    lines = path.read_text().splitlines() if path.exists() else []
    path.unlink(missing_ok=True)
    return lines


def test_the_programs_are_built_once_with_the_flags_of_the_library(peers: Path) -> None:
    programs = bench_peers.build()
    configure, compile_ = calls(peers)
    assert "/vendor/llama.cpp " in configure
    assert f"-DCMAKE_PROJECT_llama.cpp_INCLUDE={bench_peers.INCLUDE} -D" in configure
    assert "-DLLAMA_CURL=OFF" in configure and "GGML" in configure
    assert compile_.endswith("--target llama-server llama-bench")
    assert (programs / "llama-server").read_text() == "program\n"
    assert [path.name for path in peers.iterdir()] == [programs.name]
    assert programs.name.startswith(f"llama.cpp-{fetch.LLAMA_VERSION}-")
    assert bench_peers.build() == programs and calls(peers) == []


def test_a_build_that_fails_leaves_its_log_alone(
    peers: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAIL", "yes")
    with pytest.raises(CommandError, match=r"could not be built; .*build\.log says why"):
        bench_peers.build()
    assert [path.name for path in peers.iterdir()] == ["build.log"]


def test_the_library_is_built_as_the_programs_are() -> None:
    """What they share of CMake's settings is one file, which the programs' file only adds to."""
    text = bench_peers.INCLUDE.read_text()
    assert "include(${CMAKE_CURRENT_LIST_DIR}/llama-cpp.cmake)" in text
    assert "GGML" not in text and "add_compile_options" not in text


def test_every_aim_is_of_a_figure() -> None:
    there = {(each.name, figure.name) for each in SCENARIOS for figure in each.figures}
    assert set(bench_peers.AIMS) <= there


def test_models_that_are_named_are_measured_in_all(tmp_path: Path) -> None:
    assert bench_peers.plan([tmp_path], ["one", "edit"]) == [(tmp_path, ["one", "edit"])]


def test_the_demo_does_not_edit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(bench_peers, "fetch_model", lambda model, _: tmp_path / model.file)
    (small, names), (coder, edits) = bench_peers.plan([], ["one", "edit", "busy"])
    assert (small.name[:7], names) == ("SmolLM2", ["one", "busy"])
    assert (coder.name[:7], edits) == ("qwen2.5", ["edit"])
    assert len(bench_peers.plan([], ["one"])) == 1


def report(model: str, scenario: str, ours: list[float], theirs: list[float]) -> Report:
    figure = Measured(
        scenario=scenario,
        title=f"The {scenario} of it",
        figure="speed",
        unit="tok/s",
        better="higher",
        runs=(tuple(ours), tuple(theirs)),
        servers=(spread(ours), spread(theirs)),
        ratio=ratios(ours, theirs),
    )
    servers = (
        Server("hubserve", "serve x", model, "hubserve-1"),
        Server("llama-server", f"llama-server -m /m/{model}.gguf", model, "b1"),
    )
    return Report("2026-11-30 05:00 UTC", "7", this_machine(), servers, (figure,))


def test_more_flags_are_for_all_programs() -> None:
    settings = Settings(8192, 16, 2, ("-ngl", "99"))
    assert settings.flags == ("-c", "8192", "-np", "16", "-t", "2", "-ngl", "99")
    assert settings.computing == ("-t", "2", "-ngl", "99")


def test_the_page(tmp_path: Path) -> None:
    reports = [
        report("small", "one", [90.0, 98.0], [100.0, 100.0]),
        report("coder", "edit", [28.0, 30.0], [20.0, 20.0]),
    ]
    bench_peers.publish(tmp_path, reports, Settings(8192, 16, 2), ["small: 100 tokens"])
    assert {path.name for path in tmp_path.iterdir()} == {"bench.md", "bench.png", "bench.json"}
    lines = (tmp_path / "bench.md").read_text().splitlines()
    rows = [line for line in lines if line.startswith("| The")]
    assert rows == [
        "| The one of it | speed, tok/s | 94.0 | 100 | 0.94 (0.90-0.98) | ≥ 1 | no |",
        "| The edit of it (coder) | speed, tok/s | 29.0 | 20.0 | 1.45 (1.40-1.50) | ≥ 1.4 | yes |",
    ]
    assert (
        "- Both with `-c 8192 -np 16 -t 2`; llama-server with `--kv-unified`, too; all else"
        in lines
    )
    assert "- small: 100 tokens" in lines
