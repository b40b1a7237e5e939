"""scripts/install: what it asks pip for, what it remembers, and what it says when it cannot."""

import re
import shlex
from pathlib import Path

import pytest

from .conftest import House

PIP_WHEEL = (
    "-m pip wheel --no-deps --no-cache-dir --no-binary llama-cpp-python --wheel-dir WHEELS.new "
    "llama-cpp-python==0.3.36"
)
PIP_INSTALL = (
    "-m pip install --force-reinstall --no-deps --no-index --find-links WHEELS "
    "llama-cpp-python==0.3.36"
)


def words(calls: list[list[str]]) -> list[str]:
    """Each call as one line, without its CMAKE_ARGS and without the names of folders."""
    lines = [" ".join(part.rpartition("/")[2] for part in call[1:]) for call in calls]
    return [re.sub(r"llama\.cpp-0\.3\.\d+-\w+-[\d-]+", "WHEELS", line) for line in lines]


def flags(call: list[str]) -> str:
    """What CMake was told beside what it is always told."""
    always, _, rest = call[0].partition("/llama-cpp.cmake")
    assert always.startswith("CMAKE_ARGS=-DLLAVA_BUILD=OFF -DCMAKE_PROJECT_llama.cpp_INCLUDE=/")
    return rest.strip()


def test_a_fresh_clone_gets_an_environment_llama_cpp_and_the_project(house: House) -> None:
    done = house.run("scripts/install")
    assert done.returncode == 0, done.stderr
    calls = house.calls()
    assert words(calls) == [
        "-m venv --clear .venv",
        PIP_WHEEL,
        PIP_INSTALL,
        "-m pip install --editable house",
        "-c import llama_cpp; llama_cpp.llama_backend_init()",
    ]
    assert f"INCLUDE={house.root}/scripts/llama-cpp.cmake" in calls[1][0]
    assert "building llama.cpp (cpu; about 3 minutes on 2 cores, once)" in done.stderr
    assert "noise from pip" not in done.stderr


def test_when_all_is_in_place_nothing_is_done_or_said(house: House) -> None:
    house.run("scripts/install")
    house.calls()
    done = house.run("scripts/install")
    assert (done.returncode, done.stdout, done.stderr, house.calls()) == (0, "", "", [])


@pytest.mark.parametrize(
    ("variant", "machine", "expected"),
    [
        ("--cpu", "Linux x86_64", "-DGGML_METAL=OFF"),
        ("--cpu", "Darwin arm64", "-DGGML_METAL=OFF"),
        ("--cuda", "Linux x86_64", "-DGGML_CUDA=ON"),
        ("--metal", "Darwin arm64", "-DGGML_METAL=ON"),
        (
            "--portable",
            "Linux x86_64",
            "-DGGML_NATIVE=OFF -DGGML_AVX=ON -DGGML_AVX2=ON -DGGML_FMA=ON -DGGML_F16C=ON "
            "-DGGML_BMI2=ON",
        ),
        ("--portable", "Linux aarch64", "-DGGML_NATIVE=OFF"),
    ],
)
def test_each_kind_of_build_has_its_flags(
    house: House, variant: str, machine: str, expected: str
) -> None:
    house.tool("uname", f"echo {machine}")
    house.run("scripts/install", variant)
    assert flags(house.calls()[1]) == expected


def test_a_build_is_kept_and_used_again_for_the_same_flags_only(house: House) -> None:
    def builds(*arguments: str) -> int:
        house.run("scripts/install", *arguments)
        return words(house.calls()).count(PIP_WHEEL)

    assert [builds("--cpu"), builds("--cuda"), builds("--cpu"), builds("--cuda")] == [1, 1, 0, 0]
    with (house.root / "scripts/llama-cpp.cmake").open("a") as file:
        file.write("# changed\n")
    assert builds() == 1


@pytest.mark.parametrize(
    ("machine", "tools", "variant"),
    [
        ("Linux x86_64", {}, "cpu"),
        ("Linux x86_64", {"nvcc": "exit 0", "nvidia-smi": "exit 0"}, "cuda"),
        ("Linux x86_64", {"nvcc": "exit 0", "nvidia-smi": "exit 9"}, "cpu"),
        ("Linux x86_64", {"nvidia-smi": "exit 0"}, "cpu"),
        ("Darwin arm64", {}, "metal"),
        ("Darwin x86_64", {}, "cpu"),
    ],
)
def test_the_gpu_is_used_where_that_is_plain(
    house: House, machine: str, tools: dict[str, str], variant: str
) -> None:
    house.tool("uname", f"echo {machine}")
    for name, text in tools.items():
        house.tool(name, text)
    assert f"building llama.cpp ({variant};" in house.run("scripts/install").stderr


def test_a_choice_holds_until_another_is_made(house: House) -> None:
    house.run("scripts/install", "--portable", "--dev")
    house.calls()
    house.run("scripts/install")
    assert house.calls() == []
    house.run("scripts/install", "--cpu")
    assert words(house.calls())[:3] == [
        PIP_WHEEL,
        PIP_INSTALL,
        "-m pip install --editable house[dev]",
    ]


def test_another_dependency_does_not_build_llama_cpp_again(house: House) -> None:
    house.run("scripts/install", "--cuda")
    house.calls()
    with (house.root / "pyproject.toml").open("a") as file:
        file.write("# changed\n")
    house.run("scripts/install")
    assert words(house.calls())[0] == "-m pip install --editable house"


def test_another_version_of_llama_cpp_is_built_as_the_last_one_was(house: House) -> None:
    house.run("scripts/install", "--cuda")
    house.calls()
    project = house.root / "pyproject.toml"
    project.write_text(project.read_text().replace("0.3.36", "0.3.37"))
    house.run("scripts/install")
    build = house.calls()[0]
    assert build[-1] == "llama-cpp-python==0.3.37"
    assert flags(build) == "-DGGML_CUDA=ON"


def test_a_dry_run_prints_what_the_real_one_does(house: House) -> None:
    planned = house.run("scripts/install", "--portable", "--dry-run")
    assert not (house.root / ".venv").exists()
    assert house.calls() == []
    house.run("scripts/install", "--portable")
    lines = [line for line in planned.stdout.splitlines() if not line.startswith("mv ")]
    for line, call in zip(lines, house.calls(), strict=True):
        assert shlex.split(line)[-len(call) + 1 :] == call[1:]
    assert house.run("scripts/install", "--dry-run").stderr == "all is in place\n"


def test_a_build_is_shown_without_making_it(house: House) -> None:
    house.environment["CMAKE_ARGS"] = "-DGGML_VULKAN=ON"
    shown = house.run("scripts/install", "--portable", "--show-build").stdout.splitlines()
    assert not (house.root / ".venv").exists() and house.calls() == []
    house.run("scripts/install", "--portable")
    build, install, *_ = house.calls()[1:]
    assert shown == [install[-2].rpartition("/")[2], flags(build)]


def test_a_failure_shows_the_end_of_the_log_and_is_tried_again(house: House) -> None:
    house.environment["FAIL"] = "no such wheel"
    failed = house.run("scripts/install")
    assert failed.returncode == 1
    assert "  | ERROR: no such wheel" in failed.stderr
    assert str(house.root / ".venv/install.log") in failed.stderr
    house.calls()
    del house.environment["FAIL"]
    assert house.run("scripts/install").returncode == 0
    assert words(house.calls())[0] == PIP_WHEEL


def test_a_build_that_broke_off_is_not_taken_for_the_one_before(house: House) -> None:
    house.run("scripts/install", "--cpu")
    house.environment["FAIL"] = "out of memory"
    house.run("scripts/install", "--cuda")
    house.calls()
    del house.environment["FAIL"]
    house.run("scripts/install", "--cpu")
    assert words(house.calls())[0] == PIP_INSTALL


def test_a_stamp_that_cannot_be_read_costs_an_install_but_not_the_environment(
    house: House,
) -> None:
    house.run("scripts/install")
    house.calls()
    (house.root / ".venv/hubserve-install").write_text("from another version\n")
    house.run("scripts/install")
    assert words(house.calls())[:2] == [PIP_INSTALL, "-m pip install --editable house"]


def test_a_folder_that_moved_gets_a_new_environment(house: House, tmp_path: Path) -> None:
    house.run("scripts/install", "--portable")
    house.calls()
    house.root = house.root.rename(tmp_path / "moved")
    house.run("scripts/install")
    assert words(house.calls())[:3] == [
        "-m venv --clear .venv",
        PIP_INSTALL,
        "-m pip install --editable moved",
    ]


def test_a_folder_with_a_space_in_its_name_will_do(house: House, tmp_path: Path) -> None:
    house.root = house.root.rename(tmp_path / "my house")
    house.run("scripts/install")
    include = house.calls()[1][0].partition("INCLUDE=")[2].split()[0]
    assert Path(include).read_text() == (house.root / "scripts/llama-cpp.cmake").read_text()


def test_flags_of_the_users_own_are_added_and_remembered(house: House) -> None:
    house.environment["CMAKE_ARGS"] = "-DGGML_VULKAN=ON"
    house.run("scripts/install")
    assert flags(house.calls()[1]).endswith(" -DGGML_VULKAN=ON")
    del house.environment["CMAKE_ARGS"]
    house.run("scripts/install")
    assert house.calls() == []
    house.environment["CMAKE_ARGS"] = ""
    house.run("scripts/install")
    assert flags(house.calls()[0]) == "-DGGML_METAL=OFF"


def test_without_a_python_it_says_how_to_get_one(house: House) -> None:
    house.environment["OLD_PYTHON"] = "1"
    done = house.run("scripts/install")
    assert done.returncode == 1
    assert "Python 3.11 or newer is needed" in done.stderr
    assert "apt-get install python3 python3-venv" in done.stderr


def test_the_python_that_was_asked_for_is_not_replaced_by_another(house: House) -> None:
    house.environment["PYTHON"] = "/opt/python3.9"
    done = house.run("scripts/install")
    assert done.returncode == 1
    assert "/opt/python3.9 is not it" in done.stderr


def test_without_a_compiler_it_says_how_to_get_one(house: House) -> None:
    (house.bin / "c++").unlink()
    done = house.run("scripts/install")
    assert done.returncode == 1
    assert "a C++ compiler is needed" in done.stderr
    assert "apt-get install build-essential" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--cuda", "--metal"], "--cuda and --metal are different builds"),
        (["--cudda"], "unknown argument '--cudda'"),
    ],
)
def test_arguments_that_make_no_sense_are_named(
    house: House, arguments: list[str], complaint: str
) -> None:
    done = house.run("scripts/install", *arguments)
    assert done.returncode == 1
    assert complaint in done.stderr
    assert house.calls() == []


def test_help_is_the_head_of_the_script(house: House) -> None:
    text = house.run("scripts/install", "--help").stdout
    assert text.startswith("Make .venv and install")
    assert "--portable" in text
    assert "set -euo" not in text
