import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from huggingface_hub import constants
from tests.support.checkpoints import checkpoint, make
from tests.support.hub_fixtures import server
from tests.support.hub_repo import Repo
from tests.support.hub_server import HubServer

from hubserve_engine import engines
from hubserve_engine.config import EngineConfig, ModelConfig
from hubserve_engine.engines import find
from hubserve_engine.errors import ResolveError, StartError
from hubserve_engine.types import Stage

__all__ = ["server"]

TEMPLATE = "%s/{repo_id}/resolve/{revision}/{filename}"
FIXTURES = Path(__file__).parents[1] / "fixtures"


def config(model: Path | str, engine: str) -> EngineConfig:
    named = ModelConfig(str(model))
    return EngineConfig(named, engine="transformers" if engine == "transformers" else "auto")


def silent(_stage: Stage, _sentence: str) -> None:
    """Nobody listens."""


def unheard(_share: float) -> None:
    """Nobody waits for an export."""


def test_a_gguf_file_is_llama_cpps() -> None:
    model, choice = find(config(FIXTURES / "tiny-llama.gguf", "auto"), silent, unheard)
    assert (model.format, choice.engine) == ("gguf", "llama.cpp")
    assert choice.engine_reason == "the model is a GGUF file"


def test_a_checkpoint_is_transformers_where_that_is_asked_for() -> None:
    model, choice = find(config(checkpoint("llama"), "transformers"), silent, unheard)
    assert (model.format, choice.engine) == ("checkpoint", "transformers")


def test_transformers_reads_a_gguf_file_too() -> None:
    model, choice = find(config(FIXTURES / "tiny-llama.gguf", "transformers"), silent, unheard)
    assert (model.format, choice.engine) == ("gguf", "transformers")


def test_a_file_in_parts_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from hubserve_engine.catalog import Catalog
    from hubserve_engine.catalog.resolve import ResolvedModel

    whole = Catalog().resolve(str(FIXTURES / "tiny-llama.gguf"))
    parts = {name: getattr(whole, name) for name in ResolvedModel.__dataclass_fields__}
    parts["files"] = (Path("a.gguf"), Path("b.gguf"))
    monkeypatch.setattr(Catalog, "resolve", lambda *_args, **_kwargs: ResolvedModel(**parts))
    with pytest.raises(StartError, match="is in 2 parts, and transformers reads one file"):
        find(config("a.gguf", "transformers"), silent, unheard)


def test_what_no_exporter_knows_is_transformers(tmp_path: Path) -> None:
    model, choice = find(config(make(tmp_path, "glm"), "auto"), silent, unheard)
    assert (model.format, choice.engine) == ("checkpoint", "transformers")
    assert choice.engine_reason == "no GGUF file can be made of GlmForCausalLM"


@pytest.mark.parametrize("by_option", [True, False])
def test_whoever_names_a_type_is_told_that_there_is_no_such_file(
    tmp_path: Path, by_option: bool
) -> None:
    folder = make(tmp_path / "model", "glm")
    asked = config(folder if by_option else f"{folder}:Q6_K", "auto")
    asked = replace(asked, cache_dir=tmp_path, export_type="q6_k" if by_option else None)
    with pytest.raises(ResolveError, match=r"'GlmForCausalLM' cannot be exported.*--engine transf"):
        find(asked, silent, unheard)


@pytest.mark.parametrize(
    ("engine", "config_json", "said"),
    [
        ("auto", {"architectures": ["GlmForCausalLM"]}, "'GlmForCausalLM' cannot be exported"),
        ("auto", {"quantization_config": {"quant_method": "gptq"}}, r"is quantized \(gptq\)"),
        ("transformers", {"quantization_config": {"quant_method": "awq"}}, r"quantized \(awq\)"),
    ],
)
def test_weights_that_cannot_be_served_are_not_fetched(
    tmp_path: Path,
    server: HubServer,
    monkeypatch: pytest.MonkeyPatch,
    engine: str,
    config_json: dict[str, object],
    said: str,
) -> None:
    folder = shutil.copytree(checkpoint("llama"), tmp_path / "raw")
    found = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(found | config_json))
    server.repos["o/raw"] = Repo.of_folder(folder)
    monkeypatch.setattr(constants, "ENDPOINT", server.url)
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", TEMPLATE % server.url)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    with pytest.raises(ResolveError, match=f"'o/raw' cannot be served: .*{said}"):
        find(config("o/raw:Q8_0" if engine == "auto" else "o/raw", engine), silent, unheard)
    assert not [seen for seen in server.seen if "/blobs/" in seen.path]


def test_a_type_is_nothing_to_transformers() -> None:
    with pytest.raises(ResolveError, match="or name it without 'Q6_K' to run it as it is"):
        find(config(f"{checkpoint('llama')}:Q6_K", "transformers"), silent, unheard)


def test_without_the_extra_the_exporter_says_what_it_does_not_know(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make(tmp_path / "model", "glm")
    monkeypatch.setattr(engines, "find_spec", lambda _name: None)
    asked = replace(config(folder, "auto"), cache_dir=tmp_path / "cache")
    with pytest.raises(ResolveError, match="The architecture 'GlmForCausalLM' cannot be exported"):
        find(asked, silent, unheard)


def test_what_is_not_there_is_an_error_of_the_catalog(tmp_path: Path) -> None:
    with pytest.raises(ResolveError):
        find(config(tmp_path, "transformers"), silent, unheard)


def test_without_the_extra_its_command_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "find_spec", lambda _name: None)
    with pytest.raises(StartError, match=r"-m pip install 'hubserve\[transformers\]'"):
        find(config("owner/repo", "transformers"), silent, unheard)
