from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hubserve_engine.catalog.model_id import HubModel, LocalModel, parse
from hubserve_engine.errors import ResolveError


@pytest.mark.parametrize(
    ("text", "model"),
    [
        ("owner/repo", HubModel("owner/repo")),
        (" owner/repo ", HubModel("owner/repo")),
        ("owner/repo:Q4_K_M", HubModel("owner/repo", None, "Q4_K_M")),
        ("owner/repo:file.gguf", HubModel("owner/repo", None, "file.gguf")),
        ("owner/repo:sub folder/file.gguf", HubModel("owner/repo", None, "sub folder/file.gguf")),
        ("owner/repo@v1.0", HubModel("owner/repo", "v1.0")),
        ("owner/repo@refs/pr/3:Q8_0", HubModel("owner/repo", "refs/pr/3", "Q8_0")),
        ("o-1/Qwen3.5_4B.GGUF:a.gguf", HubModel("o-1/Qwen3.5_4B.GGUF", None, "a.gguf")),
        ("owner/model.gguf:model.gguf", HubModel("owner/model.gguf", None, "model.gguf")),
    ],
)
def test_names_on_the_hub(text: str, model: HubModel) -> None:
    assert parse(text) == model


@pytest.mark.parametrize(
    "text",
    [
        "/nowhere/a.gguf",
        "./a.gguf",
        "../a.gguf",
        "a.gguf",
        "folder/a.gguf",
        "a/b/c.GGUF",
        "/nowhere",
    ],
)
def test_paths_are_local_whether_they_are_there_or_not(text: str) -> None:
    assert parse(text) == LocalModel(Path(text))


def test_the_home_folder_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/someone")
    assert parse("~/a.gguf") == LocalModel(Path("/home/someone/a.gguf"))


def test_a_home_that_nobody_has_is_a_path_as_it_is_typed() -> None:
    assert parse("~nobody-has-this-name/a.gguf") == LocalModel(Path("~nobody-has-this-name/a.gguf"))


@settings(deadline=None)
@given(st.text())
def test_any_text_after_a_tilde_is_a_path_or_an_error(text: str) -> None:
    try:
        assert isinstance(parse(f"~{text}"), LocalModel)
    except ResolveError:
        return


def test_what_is_on_disk_is_local(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "owner" / "repo").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    assert parse("owner/repo") == LocalModel(Path("owner/repo"))
    for folder in (Path("owner/repo"), Path("owner"), tmp_path):
        assert parse(f"{folder}:Q6_K") == LocalModel(folder, "Q6_K")
        with pytest.raises(ResolveError, match=f"as in '{folder}:Q4_K_M'"):
            parse(f"{folder}: ")
    Path("owner:Q6_K").write_text("")
    assert parse("owner:Q6_K") == LocalModel(Path("owner:Q6_K"))
    assert parse("owner/other:Q6_K") == HubModel("owner/other", None, "Q6_K")


@pytest.mark.parametrize(
    "text", ["", "  ", "qwen3", "a/b/c", "owner/repo@", "owner/repo:", "owner//r", ":Q8_0"]
)
def test_what_is_no_name_is_told_the_forms(text: str) -> None:
    with pytest.raises(ResolveError, match="Q4_K_M") as caught:
        parse(text)
    assert caught.value.param == "model"
    assert text.strip() in caught.value.message


@settings(deadline=None)
@given(st.text())
def test_any_text_is_a_model_or_an_error(text: str) -> None:
    try:
        model = parse(text)
    except ResolveError:
        return
    assert isinstance(model, HubModel | LocalModel)


_NAMES = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_-]{0,20}", fullmatch=True)


@settings(deadline=None)
@given(_NAMES, _NAMES, st.none() | _NAMES, st.none() | _NAMES)
def test_the_parts_come_back(owner: str, name: str, revision: str | None, tag: str | None) -> None:
    text = f"hub-{owner}/{name}"
    repo = text
    text += f"@{revision}" if revision else ""
    text += f":{tag}" if tag else ""
    model = parse(text)
    assert model == HubModel(repo, revision, tag)
    assert text.startswith(model.place)
