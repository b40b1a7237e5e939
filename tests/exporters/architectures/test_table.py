"""The table of architectures."""

import subprocess
import sys

from hubserve_exporters.architectures import TABLE, find
from hubserve_exporters.architectures.base import Architecture


def test_it_is_sorted_and_every_entry_is_a_family() -> None:
    assert list(TABLE) == sorted(TABLE)
    assert all(issubclass(find(name), Architecture) and find(name).gguf for name in TABLE)


def test_one_family_is_imported_without_the_others() -> None:
    code = (
        "import sys\n"
        "from hubserve_exporters.architectures import find\n"
        "find('Phi3ForCausalLM')\n"
        "print([name for name in sys.modules if name.endswith(('.phi3', '.qwen3_5', '.llama'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['hubserve_exporters.architectures.phi3']"
