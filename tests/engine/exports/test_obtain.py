"""The file of a checkpoint: made once, found after that, and gone if it fails."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.support.checkpoints import checkpoint

from hubserve_engine.catalog import RawCheckpoint
from hubserve_engine.config import EngineConfig, ModelConfig
from hubserve_engine.errors import ResolveError
from hubserve_engine.exports import obtain as module
from hubserve_engine.exports.obtain import fitting_type, obtain
from hubserve_engine.exports.store import ExportStore
from hubserve_exporters.gguf.reader import open_gguf
from hubserve_exporters.isolated.call import call


class Made:
    """Exports of a copy of a tiny checkpoint, into a cache of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = shutil.copytree(checkpoint("llama"), folder / "Tiny")
        self.cache = folder / "cache"
        self.told: list[tuple[str, str]] = []
        self.shares: list[float] = []
        self.look: Callable[[float], None] = self.shares.append

    def __call__(self, wanted: str | None = None, limit: int = 1 << 30) -> Path:
        raw = RawCheckpoint("o/Tiny", (), self.folder, wanted)
        model = ModelConfig("o/Tiny")
        config = EngineConfig(model, cache_dir=self.cache, export_disk=limit)
        self.told.clear()
        self.shares.clear()
        file, notices = obtain(raw, config, self._tell, self.look)
        assert isinstance(notices, tuple)
        return file

    def _tell(self, stage: str, sentence: str) -> None:
        self.told.append((stage, sentence))

    def files(self) -> set[str]:
        """All files in the cache but locks."""
        found = (path for path in self.cache.rglob("*") if path.is_file())
        return {path.name for path in found if path.suffix != ".lock"}


@pytest.fixture
def made(tmp_path: Path) -> Made:
    return Made(tmp_path)


def test_it_is_made_once(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    file = made()
    assert file.name == "Tiny-Q8_0.gguf"
    assert made.told == [("exporting", "Exporting o/Tiny to q8_0")]
    assert made.shares == sorted(made.shares) and made.shares[-1] == 1
    with open_gguf(file) as opened:
        assert opened.metadata["general.name"] == "Tiny"
    assert made.files() == {"Tiny-Q8_0.gguf", "export.json"}
    monkeypatch.setattr(module, "call", lambda *_, **__: pytest.fail("it is there"))
    assert made() == file and made.told == []
    assert made(limit=0) == file


def test_what_is_not_used_goes_before_another_is_made(
    made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as context:
        # What this process holds, it holds to its end.
        context.setattr(ExportStore, "hold", lambda *_: None)
        first = made("f32")
    limit = first.stat().st_size * 5 // 4
    later: list[int] = []

    def look(_: float) -> None:
        later.append(sum(path.stat().st_size for path in made.cache.rglob("*.gguf")))

    made.look = look
    assert made("f16", limit).exists() and not first.exists()
    assert later and max(later) < limit
    assert made.told[1] == (
        "exporting",
        "Exporting o/Tiny to f16; the one of o/Tiny to f32 goes to make room",
    )


def test_what_is_served_is_no_room_for_another(made: Made) -> None:
    first = made("f32")
    limit = first.stat().st_size * 5 // 4
    with pytest.raises(
        ResolveError, match=r"leaves .* for exports beside those in use: name a lar"
    ):
        made("f16", limit)
    assert made.files() == {first.name, "export.json"}


def test_what_is_larger_than_all_may_be_is_not_made(made: Made) -> None:
    with pytest.raises(
        ResolveError, match=r"--export-disk 100 bytes leaves 100 bytes for exports:"
    ):
        made(limit=100)
    assert made.files() == set()


def test_a_checkpoint_that_changes_meanwhile_is_not_kept(
    made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:

    def meanwhile(*arguments: Any, **options: Any) -> dict[str, Any]:
        answer = call(*arguments, **options)
        (made.folder / "generation_config.json").write_text('{"eos_token_id": 3}')
        return answer

    with monkeypatch.context() as context:
        context.setattr(module, "call", meanwhile)
        with pytest.raises(ResolveError, match="'o/Tiny' cannot be exported: it was changed"):
            made()
    assert made.files() == set()
    made()


def test_a_type_that_is_named_is_another_file(made: Made) -> None:
    assert made("f16").name == "Tiny-F16.gguf"


def test_what_cannot_be_exported_leaves_nothing(made: Made) -> None:
    with pytest.raises(ResolveError, match="The type 'q9' is not known"):
        made("q9")
    config = made.folder / "config.json"
    config.write_text(json.dumps(json.loads(config.read_text()) | {"architectures": ["Odd"]}))
    with pytest.raises(ResolveError, match=r"'o/Tiny' cannot be exported: .*'Odd'"):
        made()
    assert made.files() == set()


def test_a_cache_that_is_no_folder_is_a_sentence(made: Made) -> None:
    made.cache.write_text("")
    with pytest.raises(ResolveError, match="name another folder with --cache-dir"):
        made()


@pytest.mark.parametrize(("size", "chosen"), [(2_900_000_000, "q8_0"), (3_100_000_000, "q4_k_m")])
def test_where_nothing_is_named_the_type_is_what_fits(
    tmp_path: Path, size: int, chosen: str
) -> None:
    path = tmp_path / "model.safetensors"
    with path.open("wb") as file:
        file.truncate(size)
    assert fitting_type([path]) == chosen
