from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from tests.support.gguf_builder import write_gguf
from tests.support.hub_fixtures import FIXTURES, REPO, TINY, cache, hub, server
from tests.support.hub_repo import Repo
from tests.support.hub_server import Fault, HubServer

from hubserve_engine.catalog import Catalog, RawCheckpoint
from hubserve_engine.catalog.hub import Hub
from hubserve_engine.catalog.resolve import Progress
from hubserve_engine.errors import ResolveError

__all__ = ["cache", "hub", "server"]


@pytest.fixture
def catalog(hub: Hub) -> Catalog:
    return Catalog(hub)


def _miss(catalog: Catalog, model: str) -> str:
    with pytest.raises(ResolveError) as caught:
        catalog.resolve(model)
    message = caught.value.message
    assert "\n" not in message and message.endswith(".")
    return message


@pytest.mark.parametrize(
    ("typed", "id"),
    [
        (REPO, f"{REPO}:Tiny-Q4_K_M.gguf"),
        (f"{REPO}:Tiny-Q8_0.gguf", f"{REPO}:Tiny-Q8_0.gguf"),
        (f"{REPO}:sub/Tiny-F16.gguf", f"{REPO}:sub/Tiny-F16.gguf"),
        (f"{REPO}:q8_0", f"{REPO}:Tiny-Q8_0.gguf"),
        (f"{REPO}@main:F16", f"{REPO}@main:sub/Tiny-F16.gguf"),
    ],
)
def test_a_model_on_the_hub(catalog: Catalog, typed: str, id: str) -> None:
    model = catalog.resolve(typed)
    assert model.id == id
    assert [path.name for path in model.files] == [id.rsplit(":")[-1].rsplit("/")[-1]]
    assert model.notices == ()


def test_every_name_that_means_the_model(catalog: Catalog) -> None:
    model = catalog.resolve(f"{REPO}:q4_k_m")
    assert set(model.aliases) == {
        REPO,
        f"{REPO}:q4_k_m",
        f"{REPO}:Q4_K_M",
        "Tiny-Q4_K_M.gguf",
        "Tiny-Q4_K_M",
    }


def test_the_facts_come_with_it(catalog: Catalog) -> None:
    model = catalog.resolve(REPO)
    assert (model.format, model.architecture, model.name) == ("gguf", "qwen35", "Tiny Qwen3.5")
    assert model.size == TINY.stat().st_size


def test_progress_is_told(catalog: Catalog) -> None:
    told: list[tuple[str, str]] = []
    catalog.resolve(REPO, progress=lambda stage, text: told.append((stage, text)))
    assert told == [
        ("resolving", f"Looking for {REPO}"),
        ("downloading", "Downloading Tiny-Q4_K_M.gguf (550 KiB)"),
        ("downloading", "Checking Tiny-Q4_K_M.gguf"),
    ]


def test_all_parts_of_a_split_model(catalog: Catalog, server: HubServer, tmp_path: Path) -> None:
    names = [f"Q4_0/m-Q4_0-{i:05}-of-00003.gguf" for i in (1, 2, 3)]
    for index, name in enumerate(names):
        metadata = {"split.no": index, "split.count": 3}
        write_gguf(tmp_path / name, metadata, tensors={f"t{index}": (8, 32)})
    server.repos["o/split"] = Repo.of_files({name: tmp_path / name for name in names})
    for typed in ("o/split", "o/split:Q4_0", f"o/split:{names[1]}"):
        model = catalog.resolve(typed)
        assert model.id == f"o/split:{names[0]}"
        assert [path.name for path in model.files] == [name[5:] for name in names]
        assert model.parameters == 3 * 8 * 32


def test_misses_on_the_hub_name_what_is_there(catalog: Catalog) -> None:
    assert "there is: Q4_K_M, Q8_0, F16" in _miss(catalog, f"{REPO}:Q5_K_M")
    message = _miss(catalog, f"{REPO}:Tiny-F16.gguf")
    assert "did you mean 'sub/Tiny-F16.gguf'?" in message and "Tiny-Q8_0.gguf" in message


def test_a_file_that_is_no_gguf_is_named_beside_those_that_are(catalog: Catalog) -> None:
    message = _miss(catalog, f"{REPO}:README.md")
    assert message.startswith(f"'README.md' of '{REPO}' is no GGUF file; there is: Tiny-Q4_K_M.gg")


@pytest.fixture
def raw(server: HubServer, tmp_path: Path) -> str:
    """A repository with a checkpoint, and more than that."""
    names = ["config.json", "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"]
    names += ["model.safetensors.index.json", "tokenizer.json", "README.md", "LICENSE.txt"]
    names += ["additional_chat_templates/tool.jinja"]
    more = ["original/model.safetensors", "consolidated.safetensors", "modeling_x.py", "run.log"]
    for name in (*names, *more):
        path = tmp_path / "raw" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    server.repos["o/raw"] = Repo.of_folder(tmp_path / "raw")
    return "o/raw"


def _files(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


CHECKPOINT = {
    "config.json",
    "model-00001-of-00002.safetensors",
    "model-00002-of-00002.safetensors",
    "model.safetensors.index.json",
    "tokenizer.json",
    "README.md",
    "LICENSE.txt",
    "additional_chat_templates/tool.jinja",
}


@pytest.mark.parametrize(
    ("typed", "id", "wanted"),
    [("o/raw", "o/raw", None), ("o/raw@main:Q8_0", "o/raw@main", "q8_0")],
)
def test_a_checkpoint_on_the_hub_is_fetched_and_exported(
    hub: Hub, raw: str, typed: str, id: str, wanted: str | None
) -> None:
    asked: list[RawCheckpoint] = []

    def export(checkpoint: RawCheckpoint, progress: Progress) -> tuple[Path, tuple[str, ...]]:
        asked.append(checkpoint)
        return TINY, ("As it was said.",)

    model = Catalog(hub, export).resolve(typed)
    (checkpoint,) = asked
    assert (checkpoint.id, checkpoint.wanted) == (id, wanted)
    assert _files(checkpoint.folder) == CHECKPOINT
    assert (model.id, model.files, model.architecture) == (id, (TINY,), "qwen35")
    assert model.notices == ("As it was said.",)
    assert {typed, "o/raw", id.partition("/")[2]} - {id} <= set(model.aliases)


def test_weights_are_fetched_when_the_rest_was_looked_at(
    hub: Hub, server: HubServer, raw: str
) -> None:
    def look(checkpoint: RawCheckpoint) -> None:
        assert checkpoint.id == raw
        assert _files(checkpoint.folder) == {
            n for n in CHECKPOINT if not n.endswith(".safetensors")
        }
        raise ResolveError("Not this one.")

    catalog = Catalog(hub, lambda *_: pytest.fail("there is nothing to export"), look=look)
    assert _miss(catalog, raw) == "Not this one."
    with pytest.raises(ResolveError, match="Not this one"):
        catalog.checkpoint(raw)
    assert not [seen for seen in server.seen if "/blobs/" in seen.path]


def test_a_checkpoint_without_anyone_to_export_it_is_an_error(catalog: Catalog, raw: str) -> None:
    assert "'o/raw' is a checkpoint; make a GGUF file of it" in _miss(catalog, raw)


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ("chat", "'chat' is no type that the checkpoint '{}' can be exported to; types are auto, "),
        ("m-Q8_0.gguf", "'m-Q8_0.gguf' is no type that the checkpoint '{}' can be"),
        ("Q8_0", "'{}:Q8_0' names the type q8_0, and --export-type names f16"),
        ("iq2_xs", "'{}:iq2_xs' names the type iq2_xs, and --export-type names f16"),
        ("model.safetensors", "'{}:model.safetensors' is"),
    ],
)
def test_what_is_no_type_of_a_checkpoint_is_a_miss_before_anything_is_fetched(
    server: HubServer, hub: Hub, raw: str, tmp_path: Path, wanted: str, said: str
) -> None:
    if wanted == "model.safetensors":
        # One that the repository has.
        wanted, said = (text.replace("model", "consolidated") for text in (wanted, said))
        (tmp_path / "raw" / "model.safetensors").write_text("")
    catalog = Catalog(hub, lambda *_: pytest.fail("there is nothing to export"), "f16")
    for place in (raw, str(tmp_path / "raw")):
        assert _miss(catalog, f"{place}:{wanted}").startswith(said.format(place))
    assert not [seen for seen in server.seen if "/blobs/" in seen.path]


def test_what_is_named_of_a_folder_with_models_is_one_of_them(tmp_path: Path) -> None:
    for label in ("Q8_0", "Q4_K_M"):
        write_gguf(tmp_path / f"m-{label}.gguf")
    for wanted in ("q8_0", "m-Q8_0.gguf"):
        typed = f"{tmp_path}:{wanted}"
        model = Catalog().resolve(typed)
        assert model.id == "m-Q8_0.gguf" and typed in model.aliases
    assert "has no 'Q6_K' (did you mean 'Q4_K_M'?); there is: Q4_K_M, Q8_0." in _miss(
        Catalog(), f"{tmp_path}:Q6_K"
    )


def test_a_checkpoint_beside_gguf_files_is_there_for_those_who_ask(
    catalog: Catalog, server: HubServer, raw: str
) -> None:
    server.repos["o/both"] = Repo.of_files(
        {**server.repos[raw].revisions["main"], "m-Q8_0.gguf": TINY}
    )
    assert catalog.resolve("o/both").id == "o/both:m-Q8_0.gguf"
    checkpoint = catalog.checkpoint("o/both")
    assert _files(checkpoint.folder) == CHECKPOINT | {"m-Q8_0.gguf"}


def test_a_file_of_a_checkpoint_is_no_model(catalog: Catalog, raw: str) -> None:
    message = _miss(catalog, f"{raw}:consolidated.safetensors")
    assert message.endswith("is a file of a checkpoint, which is served as a whole: name 'o/raw'.")


def test_pickles_are_taken_from_those_who_say_so(
    hub: Hub, server: HubServer, tmp_path: Path
) -> None:
    catalog = Catalog(hub, lambda *_: pytest.fail("there is nothing to export"))
    for name in ("config.json", "pytorch_model.bin"):
        (tmp_path / name).write_text(name)
    server.repos["o/old"] = Repo.of_folder(tmp_path)
    for typed in ("o/old", str(tmp_path)):
        message = _miss(catalog, typed)
        assert "in 'pytorch_model.bin', a pickle, which can hold code" in message
    for typed in ("o/old", str(tmp_path)):
        folder = catalog.checkpoint(typed, pickles=True).folder
        assert (folder / "pytorch_model.bin").read_text() == "pytorch_model.bin"


def test_of_an_outline_only_the_headers_of_weights_are_fetched(
    catalog: Catalog, server: HubServer, tmp_path: Path
) -> None:
    save_file({"a": np.ones((300, 400), np.float32)}, tmp_path / "model.safetensors")
    for name in ("config.json", "additional_chat_templates/tool.jinja"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    server.repos["o/whole"] = Repo.of_folder(tmp_path)

    raw = catalog.outline("o/whole", tmp_path / "outline")
    assert (raw.id, raw.folder) == ("o/whole", tmp_path / "outline")
    assert _files(raw.folder) == set(server.repos["o/whole"].revisions["main"])
    tensor = load_file(raw.folder / "model.safetensors")["a"]
    assert tensor.shape == (300, 400) and not tensor.any()
    assert [s.headers["Range"] for s in server.seen if "/blobs/" in s.path] == ["bytes=0-100000"]

    whole = catalog.checkpoint("o/whole").folder
    assert catalog.outline("o/whole", tmp_path / "unused").folder == whole
    assert catalog.outline(str(tmp_path), tmp_path / "unused").folder == tmp_path
    assert not (tmp_path / "unused").exists()


def test_an_outline_of_weights_that_are_none_is_an_error(
    catalog: Catalog, raw: str, tmp_path: Path
) -> None:
    with pytest.raises(ResolveError, match=r"model-00001-of-00002.safetensors.* try again\.$"):
        catalog.outline(raw, tmp_path / "outline")


def test_a_repository_without_a_model(catalog: Catalog, server: HubServer, tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("data")
    server.repos["o/data"] = Repo.of_folder(tmp_path)
    assert "neither GGUF files nor a checkpoint" in _miss(catalog, "o/data")


def test_a_projector_is_never_picked_and_refused_by_name(
    catalog: Catalog, server: HubServer, tmp_path: Path
) -> None:
    projector = write_gguf(tmp_path / "mmproj-F16.gguf", architecture="clip")
    files = {"mmproj-F16.gguf": projector, "m-Q8_0.gguf": TINY}
    server.repos["o/vision"] = Repo.of_files(files)
    assert catalog.resolve("o/vision").id == "o/vision:m-Q8_0.gguf"
    assert "there is: Q8_0" in _miss(catalog, "o/vision:F16")
    assert "projector (mmproj)" in _miss(catalog, "o/vision:mmproj-F16.gguf")


def test_the_cache_serves_with_a_notice(catalog: Catalog, server: HubServer) -> None:
    catalog.resolve(REPO)
    server.faults = [Fault("api", status=503)]
    model = catalog.resolve(f"{REPO}:Q4_K_M")
    (notice,) = model.notices
    assert "503" in notice and notice.endswith("Serving the copy in the cache.")


def test_what_the_cache_lacks_is_said_with_what_it_has(catalog: Catalog, server: HubServer) -> None:
    catalog.resolve(REPO)
    server.faults = [Fault("api", status=503)]
    message = _miss(catalog, f"{REPO}:Q8_0")
    assert "503" in message and f"Of '{REPO}' the cache has: Q4_K_M" in message


# On this machine.


def test_a_local_file_has_its_own_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(FIXTURES)
    monkeypatch.setenv("HOME", str(FIXTURES.parent))
    name = "tiny-qwen35.gguf"
    for typed in (name, f"./{name}", str(TINY), f"~/fixtures/{name}"):
        model = Catalog().resolve(typed)
        assert model.id == name
        assert model.files == (TINY,)
        assert {"tiny-qwen35", typed} - {model.id} <= set(model.aliases)


def test_a_link_to_nothing_is_said_to_be_one(tmp_path: Path) -> None:
    write_gguf(tmp_path / "model-Q8_0.gguf")
    (tmp_path / "model-Q4_0.gguf").symlink_to("gone.gguf")
    message = _miss(Catalog(), str(tmp_path / "model-Q4_0.gguf"))
    assert "model-Q4_0.gguf' is a link to 'gone.gguf', which is not there" in message


def test_a_folder_with_models_gives_the_usual_one(tmp_path: Path) -> None:
    for label in ("Q8_0", "Q4_K_M"):
        write_gguf(tmp_path / label / f"m-{label}.gguf")
    assert Catalog().resolve(str(tmp_path)).id == "m-Q4_K_M.gguf"


def test_a_file_of_another_name_is_judged_by_what_is_in_it(tmp_path: Path) -> None:
    odd = write_gguf(tmp_path / "blob")
    assert Catalog().resolve(str(odd)).files == (odd,)


def test_local_parts(tmp_path: Path) -> None:
    for index in range(2):
        metadata = {"split.no": index, "split.count": 2}
        write_gguf(tmp_path / f"m-{index + 1:05}-of-00002.gguf", metadata)
    second = tmp_path / "m-00002-of-00002.gguf"
    assert len(Catalog().resolve(str(second)).files) == 2
    second.unlink()
    message = _miss(Catalog(), str(tmp_path / "m-00001-of-00002.gguf"))
    assert "m-00002-of-00002.gguf is missing" in message


def test_a_local_checkpoint_is_exported(tmp_path: Path) -> None:
    for name in ("config.json", "model-00001-of-00002.safetensors"):
        (tmp_path / name).write_text("{}")
    asked: list[str | None] = []

    def export(checkpoint: RawCheckpoint, _: Progress) -> tuple[Path, tuple[str, ...]]:
        asked.append(checkpoint.wanted)
        return TINY, ()

    for typed in (str(tmp_path), f"{tmp_path}:Q6_K"):
        model = Catalog(export=export).resolve(typed)
        assert (model.id, model.files) == (tmp_path.name, (TINY,))
        assert typed in model.aliases
    Catalog(export=export, export_type="F16").resolve(str(tmp_path))
    assert asked == [None, "q6_k", "f16"]
    assert Catalog().checkpoint(str(tmp_path)).folder == tmp_path


def test_what_is_no_checkpoint_names_what_is_there(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("")
    with pytest.raises(ResolveError, match=r"model\*\.safetensors; there is: notes\.txt\.$"):
        Catalog().checkpoint(str(tmp_path))


def test_what_is_no_folder_is_no_checkpoint(tmp_path: Path) -> None:
    with pytest.raises(ResolveError, match=r"nowhere' is not there; name the folder"):
        Catalog().checkpoint(str(tmp_path / "nowhere"))
    (tmp_path / "a.gguf").write_bytes(b"GGUF")
    with pytest.raises(ResolveError, match=r"a\.gguf' is a file; name the folder"):
        Catalog().checkpoint(str(tmp_path / "a.gguf"))


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("{}/empty", "neither GGUF files nor a checkpoint"),
        ("{}/models/Modle-Q8_0.gguf", "did you mean 'Model-Q8_0.gguf'?"),
        ("{}/models/other.gguf", "there is: Model-Q8_0.gguf"),
        ("{}/empty/a.gguf", "no GGUF file in"),
        ("{}/nowhere/a.gguf", "nor the folder"),
        ("{}/nowhere:Q8_0", "/nowhere' is not there: behind a colon, as 'Q8_0' is, stands what"),
        ("{}/models/Model-Q8_0.gguf:Q8_0", "/Model-Q8_0.gguf' is a file; name it alone: behind a"),
        ("owner/repo/a.gguf", "write 'owner/repo:a.gguf'"),
        ("owner/repo/sub/a.gguf", "write 'owner/repo:sub/a.gguf'"),
        ("a.gguf", "'owner/repo:file.gguf'"),
    ],
)
def test_local_misses_name_what_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, typed: str, said: str
) -> None:
    (tmp_path / "empty").mkdir()
    write_gguf(tmp_path / "models" / "Model-Q8_0.gguf")
    monkeypatch.chdir(tmp_path)
    assert said in _miss(Catalog(), typed.format(tmp_path))
