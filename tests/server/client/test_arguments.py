"""The words that name servers, and what is wrong with them."""

from pathlib import Path

import pytest
import typer

from hubserve_server.client.arguments import servers, target
from hubserve_server.client.servers import Local, Remote

NOBODY = (None, None, None)
URL = "http://localhost:8000/v1"


def test_a_server_at_a_url_and_one_that_is_started() -> None:
    command = "llama-server -m 'a file.gguf' --port {port}"
    first, second = servers("bench", [], (URL, "key", None), NOBODY, command)
    assert first == Remote("localhost:8000", URL, "key", None)
    assert isinstance(second, Local)
    assert second.command == ("llama-server", "-m", "a file.gguf", "--port", "{port}")
    assert (first.starts, second.starts, second.label) == (False, True, "llama-server")


def test_a_model_is_served_with_its_flags_and_its_key_is_in_no_report() -> None:
    (only,) = servers("bench", ["m.gguf", "-np", "16"], (None, "secret", None), NOBODY, None)
    assert isinstance(only, Local)
    assert only.where == "hubserve serve m.gguf -np 16 --port '{port}'"
    assert (only.key, "secret" in only.where) == ("secret", False)


def test_two_of_one_name_are_told_apart() -> None:
    first, second = servers("bench", ["m"], NOBODY, NOBODY, "hubserve serve m -fa on --port {port}")
    assert (first.label, second.label) == ("hubserve", "hubserve (2)")


@pytest.mark.parametrize(
    ("words", "url", "against", "command", "said"),
    [
        ([], None, None, None, "hubserve bench --url http"),
        (["m.gguf"], URL, None, None, "'m.gguf' is a model to serve, and --url"),
        (["--bogus", "m.gguf"], None, None, None, "'--bogus' is no option of bench"),
        (["m.gguf"], None, URL, "x {port}", "name one"),
        (["m.gguf"], None, None, "llama-server -m m.gguf", "has no {port}"),
        (["m.gguf"], None, None, "it's {port}", "cannot be read"),
    ],
)
def test_what_is_wrong(
    words: list[str], url: str | None, against: str | None, command: str | None, said: str
) -> None:
    with pytest.raises(typer.BadParameter) as caught:
        servers("bench", words, (url, None, None), (against, None, None), command)
    assert said in caught.value.message


def test_a_file_that_cannot_be_written_is_known_before(tmp_path: Path) -> None:
    target("--json", None)
    target("--json", tmp_path / "new.json")
    with pytest.raises(typer.BadParameter, match=r"no folder '.*/missing'"):
        target("--json", tmp_path / "missing/new.json")
    with pytest.raises(typer.BadParameter, match="is a folder: name a file in it"):
        target("--json", tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="a folder where nobody may make a file")
def test_a_folder_that_only_seems_to_take_files_is_known_before() -> None:
    with pytest.raises(typer.BadParameter, match="no folder '/proc' that can be written to"):
        target("--json", Path("/proc/new.json"))
