"""The GPUs that this build of llama.cpp can use, found without loading it.

Which parts it was built with is seen from its libraries; what the GPUs have is asked of the
driver's own tool.
"""

import subprocess
from importlib.util import find_spec
from pathlib import Path

from hubserve_engine.hardware import Gpu, Hardware

_MIB = 1 << 20
_SECONDS = 10


def detect_gpus(machine: Hardware) -> tuple[Gpu, ...]:
    """Those of this machine, none where the build is for the CPU alone."""
    libraries = _libraries()
    if any("ggml-cuda" in name for name in libraries):
        return _nvidia()
    if any("ggml-metal" in name for name in libraries):
        # One memory serves both processors.
        return (Gpu("Apple GPU", machine.memory_total, machine.memory_free),)
    return ()


def _libraries() -> list[str]:
    spec = find_spec("llama_cpp")
    if spec is None or spec.origin is None:
        return []
    return [path.name for path in (Path(spec.origin).parent / "lib").glob("*")]


def _nvidia() -> tuple[Gpu, ...]:
    query = [
        "nvidia-smi",
        "--query-gpu=name,memory.total,memory.free",
        "--format=csv,noheader,nounits",
    ]
    try:
        lines = subprocess.run(
            query, capture_output=True, text=True, timeout=_SECONDS, check=True
        ).stdout.splitlines()
        rows = [line.rsplit(",", 2) for line in lines]
        return tuple(Gpu(n.strip(), int(t) * _MIB, int(f) * _MIB) for n, t, f in rows)
    except (OSError, subprocess.SubprocessError, ValueError):
        return ()
