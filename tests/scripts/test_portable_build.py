"""The container's build step, for real: minutes of compiling, so by hand (scripts/test --long)."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LOADS_A_MODEL = """
import sys, llama_cpp
llama_cpp.llama_backend_init()
model = llama_cpp.llama_model_load_from_file(
    sys.argv[1].encode(), llama_cpp.llama_model_default_params()
)
assert model
print(llama_cpp.llama_print_system_info().decode())
"""


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_the_container_step_builds_for_any_processor(tmp_path: Path) -> None:
    for name in ("server", "engine", "exporters", "scripts"):
        shutil.copytree(ROOT / name, tmp_path / name)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tmp_path)
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    subprocess.run([tmp_path / "scripts/install", "--portable"], env=environment, check=True)
    done = subprocess.run(
        [
            tmp_path / ".venv/bin/python",
            "-c",
            LOADS_A_MODEL,
            ROOT / "tests/fixtures/tiny-qwen35.gguf",
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "AVX512" not in done.stdout
