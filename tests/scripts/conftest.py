"""A copy of the project's scripts in an empty folder, with a Python that only pretends.

The pretended Python makes a `.venv` of itself, writes down what it was asked to do, and installs a
pretended `serve`. PATH holds the few system tools that the scripts may use and nothing else, so a
test decides whether this machine has a compiler or a GPU.
"""

import os
import shlex
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

TOOLS = (
    *("bash", "cat", "chmod", "cksum", "cp", "dirname", "env", "grep", "mkdir", "mktemp"),
    *("mv", "readlink", "rm", "sed", "sleep", "sort", "tail", "touch", "tr", "uname"),
)

PYTHON = """#!/usr/bin/env bash
case "$*" in
  "-c import sys"*) exit "${OLD_PYTHON:-0}" ;;
  "-c ") exit ;;
  --version) echo Python 3.11.0; exit ;;
  "-m pip --version") exit ;;
esac
printf 'CMAKE_ARGS=%q' "${CMAKE_ARGS-}" >>"$CALLS"
printf ' %q' "$@" >>"$CALLS"
printf '\\n' >>"$CALLS"
case "$*" in
  "-m venv --clear "*) mkdir -p "$4/bin"; cp "$0" "$4/bin/python" ;;
  *fetch.py*) echo /models/demo.gguf ;;
  "-m pip"*)
    echo noise from pip
    if [[ ${FAIL-} ]]; then echo "ERROR: $FAIL"; exit 1; fi
    if [[ $3 == wheel ]]; then mkdir -p "$9"; fi
    printf '#!/usr/bin/env bash\\nprintf "<%%s>" "$@"\\n' >"${0%/*}/serve"
    chmod +x "${0%/*}/serve" ;;
esac
"""


@dataclass
class House:
    """The copy at `root`. `environment` is all that its scripts see; `bin` is their whole PATH."""

    root: Path
    bin: Path
    environment: dict[str, str] = field(default_factory=dict)

    def run(self, script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a script of the copy to its end, whatever that is."""
        return subprocess.run(
            [str(self.root / script), *arguments],
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
        )

    def calls(self) -> list[list[str]]:
        """What the pretended Python was asked since the last time: CMAKE_ARGS first, then words."""
        path = Path(self.environment["CALLS"])
        lines = path.read_text().splitlines() if path.exists() else []
        path.unlink(missing_ok=True)
        return [shlex.split(line) for line in lines]

    def tool(self, name: str, text: str = "exit 0") -> None:
        """Put a pretended command on the PATH."""
        path = self.bin / name
        path.unlink(missing_ok=True)
        path.write_text(f"#!/usr/bin/env bash\n{text}\n")
        path.chmod(0o755)


@pytest.fixture
def house(tmp_path: Path) -> House:
    """The project on a machine with Python and a C++ compiler, nothing installed yet."""
    return build_house(tmp_path, lambda _: True)


def build_house(folder: Path, keep: Callable[[str], bool]) -> House:
    """The same, with those files of the project alone whose path `keep` says yes to."""
    root = folder / "house"
    for path in [ROOT / "pyproject.toml", *(ROOT / "scripts").iterdir()]:
        if path.is_file() and keep(str(path.relative_to(ROOT))):
            target = root / path.relative_to(ROOT)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, target)
    house = House(root, folder / "bin")
    house.bin.mkdir()
    for name in TOOLS:
        found = shutil.which(name)
        assert found, name
        (house.bin / name).symlink_to(found)
    house.tool("c++")
    (house.bin / "python3").write_text(PYTHON)
    (house.bin / "python3").chmod(0o755)
    house.environment.update(
        PATH=str(house.bin),
        CALLS=str(folder / "calls"),
        HOME=str(folder),
        LANG=os.environ.get("LANG", "C"),
    )
    return house
