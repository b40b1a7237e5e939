import subprocess
from pathlib import Path
from typing import Any

import pytest

from hubserve_engine import gpus
from hubserve_engine.gpus import detect_gpus, detect_torch_gpus
from hubserve_engine.hardware import Gpu, Hardware

GIB = 1 << 30
MACHINE = Hardware(cores=8, memory_total=64 * GIB, memory_free=48 * GIB)


@pytest.fixture
def build(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """Pretends that the package has these libraries."""
    package = tmp_path / "package"
    (package / "lib").mkdir(parents=True)

    class Spec:
        origin = str(package / "__init__.py")

    def built(*libraries: str) -> None:
        for name in libraries:
            (package / "lib" / name).touch()
        monkeypatch.setattr(gpus, "find_spec", lambda _name: Spec)

    return built


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Pretends that the driver's tool prints this, or fails so."""

    def says(answer: str | Exception) -> None:
        def run(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
            assert command[0] == "nvidia-smi"
            if isinstance(answer, Exception):
                raise answer
            return subprocess.CompletedProcess(command, 0, answer, "")

        monkeypatch.setattr(subprocess, "run", run)

    return says


def test_a_build_for_the_cpu_alone_uses_none(build: Any, driver: Any) -> None:
    build("libllama.so", "libggml-cpu.so")
    driver("NVIDIA H200, 143771, 143000\n")
    assert detect_gpus(MACHINE) == ()


def test_nvidia_gpus_as_their_driver_has_them(build: Any, driver: Any) -> None:
    build("libggml-cuda.so")
    driver("NVIDIA GeForce RTX 4090, 24564, 24111\nNVIDIA T4, 15360, 100\n")
    assert detect_gpus(MACHINE) == (
        Gpu("NVIDIA GeForce RTX 4090", 24564 << 20, 24111 << 20),
        Gpu("NVIDIA T4", 15360 << 20, 100 << 20),
    )


def test_a_gpu_without_memory_of_its_own_has_the_machines(build: Any, driver: Any) -> None:
    build("libggml-cuda.so")
    driver("NVIDIA GB10, [N/A], [N/A]\n")
    assert detect_gpus(MACHINE) == (Gpu("NVIDIA GB10", 64 * GIB, 48 * GIB),)


@pytest.mark.parametrize(
    "answer",
    [
        FileNotFoundError("nvidia-smi"),
        subprocess.CalledProcessError(9, "nvidia-smi"),
        subprocess.TimeoutExpired("nvidia-smi", 10),
        "Failed to initialize NVML: Driver/library version mismatch\n",
        "",
    ],
    ids=str,
)
def test_a_driver_that_does_not_answer_means_none(build: Any, driver: Any, answer: Any) -> None:
    build("libggml-cuda.so")
    driver(answer)
    assert detect_gpus(MACHINE) == ()


def test_apples_gpu_shares_the_memory(build: Any, driver: Any) -> None:
    build("libggml-metal.dylib")
    driver(FileNotFoundError("nvidia-smi"))
    assert detect_gpus(MACHINE) == (Gpu("Apple GPU", 64 * GIB, 48 * GIB),)


def test_where_llama_cpp_is_not_installed_there_are_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(gpus, "find_spec", lambda _name: None)
    assert detect_gpus(MACHINE) == ()


def test_pytorch_uses_what_it_was_built_for(
    build: Any, driver: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver("NVIDIA T4, 15360, 100\n")
    build("libtorch_cpu.so")
    monkeypatch.setattr("sys.platform", "linux")
    assert detect_torch_gpus(MACHINE) == ()
    monkeypatch.setattr("sys.platform", "darwin")
    monkeypatch.setattr("platform.machine", lambda: "arm64")
    assert detect_torch_gpus(MACHINE) == (Gpu("Apple GPU", 64 * GIB, 48 * GIB),)
    build("libtorch_cuda.so")
    assert detect_torch_gpus(MACHINE) == (Gpu("NVIDIA T4", 15360 << 20, 100 << 20),)
