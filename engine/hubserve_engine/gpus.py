"""The GPUs that this build of llama.cpp, or of PyTorch, can use, found without loading it.

Which parts it was built with is seen from its libraries; what the GPUs have is asked of the
driver's own tool.
"""

import platform
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from hubserve_engine.hardware import Gpu, Hardware

_MIB = 1 << 20
_SECONDS = 10


def detect_gpus(machine: Hardware) -> tuple[Gpu, ...]:
    """llama.cpp's, none where the build is for the CPU alone."""
    libraries = _libraries("llama_cpp")
    if any("ggml-cuda" in name for name in libraries):
        return _nvidia(machine)
    return _apple(machine) if any("ggml-metal" in name for name in libraries) else ()


def detect_torch_gpus(machine: Hardware) -> tuple[Gpu, ...]:
    """PyTorch's; on Apple Silicon every build has Metal."""
    libraries = _libraries("torch")
    if any("torch_cuda" in name for name in libraries):
        return _nvidia(machine)
    on_apple = libraries and sys.platform == "darwin" and platform.machine() == "arm64"
    return _apple(machine) if on_apple else ()


def _apple(machine: Hardware) -> tuple[Gpu, ...]:
    # One memory serves both processors.
    return (Gpu("Apple GPU", machine.memory_total, machine.memory_free),)


def _libraries(package: str) -> list[str]:
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        return []
    return [path.name for path in (Path(spec.origin).parent / "lib").glob("*")]


def _nvidia(machine: Hardware) -> tuple[Gpu, ...]:
    query = [
        "nvidia-smi",
        "--query-gpu=name,memory.total,memory.free",
        "--format=csv,noheader,nounits",
    ]
    try:
        lines = subprocess.run(
            query, capture_output=True, text=True, timeout=_SECONDS, check=True
        ).stdout.splitlines()
        return tuple(_gpu(line, machine) for line in lines)
    except (OSError, subprocess.SubprocessError, ValueError):
        return ()


def _gpu(line: str, machine: Hardware) -> Gpu:
    name, total, free = line.rsplit(",", 2)
    if "N/A" in total:  # it shares the machine's
        return Gpu(name.strip(), machine.memory_total, machine.memory_free)
    return Gpu(name.strip(), int(total) * _MIB, int(free) * _MIB)
