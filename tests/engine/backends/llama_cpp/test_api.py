"""The declarations alone, and the package whole for whoever wants it."""

import subprocess
import sys
from importlib import metadata

from hubserve_engine.backends.llama_cpp.library import version

OTHERS = ("diskcache", "jinja2", "llama_cpp.llama")


def run(*lines: str) -> str:
    """What a new interpreter prints. It does not look for files that are open at its end."""
    code = "\n".join(("import sys", *lines))
    command = [sys.executable, "-W", "ignore", "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_nothing_else_of_the_package_is_imported() -> None:
    found = run("import hubserve_engine.backends.llama_cpp", "print(*sys.modules)").split()
    assert "llama_cpp.llama_cpp" in found
    assert not set(OTHERS) & set(found)


def test_the_package_is_whole_for_others_afterwards() -> None:
    found = run(
        "from hubserve_engine.backends.llama_cpp.api import llama",
        "import llama_cpp, llama_cpp.llama_cpp as again",
        "print(llama_cpp.Llama.__name__, again is llama)",
        "print(llama_cpp.llama_decode is llama.llama_decode)",
    )
    assert found.split() == ["Llama", "True", "True"]


def test_and_before() -> None:
    found = run(
        "import llama_cpp",
        "from hubserve_engine.backends.llama_cpp.api import llama",
        "print(llama_cpp.llama_decode is llama.llama_decode, llama_cpp.Llama.__name__)",
    )
    assert found.split() == ["True", "Llama"]


def test_the_version_is_that_of_the_package() -> None:
    assert version().split("+")[0] == metadata.version("llama-cpp-python")
