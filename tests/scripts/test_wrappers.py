"""scripts/serve, test, and those that fetch: each installs, then hands over."""

from pathlib import Path

import pytest

from .conftest import House


@pytest.mark.parametrize("flags", [[], ["--port", "9000"]])
def test_serve_without_a_model_serves_the_demo(house: House, flags: list[str]) -> None:
    done = house.run("scripts/serve", *flags)
    assert done.returncode == 0, done.stderr
    words = ["/models/demo.gguf", "--alias", "SmolLM2-135M-Instruct", *flags]
    assert done.stdout == "".join(f"<{word}>" for word in words)
    assert house.calls()[-1][2:] == ["models", "smollm2"]


def test_serve_passes_its_arguments_on_as_they_are(house: House) -> None:
    done = house.run("scripts/serve", "owner/repo:a file.gguf", "--port", "9000")
    assert done.stdout == "<owner/repo:a file.gguf><--port><9000>"


def test_a_script_finds_the_project_through_links_to_it(house: House, tmp_path: Path) -> None:
    for folder in ("bin", "links"):
        (tmp_path / "home" / folder).mkdir(parents=True)
    (tmp_path / "home/links/far").symlink_to(house.root / "scripts/serve")
    (tmp_path / "home/bin/near").symlink_to("../links/far")
    (tmp_path / "home/all").symlink_to(house.root / "scripts")
    for link in ("home/links/far", "home/bin/near", "home/all/serve"):
        done = house.run(str(tmp_path / link), "a.gguf")
        assert (done.returncode, done.stdout) == (0, "<a.gguf>"), done.stderr


def test_help_of_serve_needs_no_model(house: House) -> None:
    assert house.run("scripts/serve", "--help").stdout == "<--help>"


@pytest.mark.parametrize(
    ("arguments", "passed"),
    [
        ([], ["-m", "pytest"]),
        (["-x", "tests/server"], ["-m", "pytest", "-x", "tests/server"]),
        (["--long", "-x"], ["-m", "pytest", "-m", "", "-x"]),
    ],
)
def test_tests_get_what_they_need_first(
    house: House, arguments: list[str], passed: list[str]
) -> None:
    assert house.run("scripts/test", *arguments).returncode == 0
    calls = house.calls()
    assert any(call[-1] == f"{house.root}[dev]" for call in calls)
    assert calls[-1][1:] == passed


@pytest.mark.parametrize(
    ("script", "arguments"),
    [("fetch-models", ["gemma3", "smollm2"]), ("fetch-templates", []), ("fetch-vocabularies", [])],
)
def test_fetching_installs_first(house: House, script: str, arguments: list[str]) -> None:
    assert house.run(f"scripts/{script}", *arguments).returncode == 0
    kind = script.removeprefix("fetch-")
    assert house.calls()[-1][1:] == [f"{house.root}/scripts/fetch.py", kind, *arguments]


def test_measuring_installs_first(house: House) -> None:
    assert house.run("scripts/bench-peers", "--runs", "1").returncode == 0
    assert house.calls()[-1][1:] == ["-m", "scripts.bench_peers", "--runs", "1"]


@pytest.mark.parametrize(
    "script",
    [
        *("serve", "test", "lint", "bench-peers"),
        *("fetch-models", "fetch-templates", "fetch-vocabularies"),
    ],
)
def test_nothing_goes_on_after_an_install_that_failed(house: House, script: str) -> None:
    house.environment["FAIL"] = "no network"
    done = house.run(f"scripts/{script}")
    assert done.returncode == 1
    assert "ERROR: no network" in done.stderr
    assert done.stdout == ""
