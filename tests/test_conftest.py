import subprocess
import sys
from pathlib import Path


def test_a_run_that_passes_ends_without_complaints() -> None:
    """llama_cpp leaves files open, which is an error where warnings are."""
    tests = Path(__file__).parent
    some = "engine/backends/llama_cpp/test_model.py"
    ended = subprocess.run(
        [sys.executable, "-W", "error", "-m", "pytest", "-q", str(tests / some)],
        cwd=tests.parent,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (ended.returncode, ended.stderr) == (0, ""), ended.stdout
