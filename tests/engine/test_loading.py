"""What a worker is told to load, and what is shown of the model then."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hubserve_engine.backends.base import Loaded
from hubserve_engine.catalog import Catalog
from hubserve_engine.config import EngineConfig, ModelConfig
from hubserve_engine.disk_cache import Settled
from hubserve_engine.errors import StartError
from hubserve_engine.hardware import Hardware
from hubserve_engine.loading import loaded_model, order
from hubserve_engine.model_info import ModelInfo
from hubserve_engine.select import choose
from hubserve_engine.worker.protocol import Ready

CONFIG = ModelConfig(str(Path(__file__).parents[1] / "fixtures/tiny-llama.gguf"))
MODEL = replace(Catalog().resolve(CONFIG.model), notices=("Of the files.",))
CHOICE = replace(choose(MODEL, Hardware(2, 2**33, 2**33), CONFIG), notices=("Of the choice.",))
READY = Ready(
    loaded=Loaded("llama", 9, 288, 64, 512, "2 CPU threads", None, "<s>", "</s>", frozenset()),
    context_length=CHOICE.context_length,
    draft_max=15,
    chat_template="a template",
    thinking_tags=None,
    thinking_switch=None,
    tool_format="hermes",
    notices=("Of the worker.",),
)


def info(config: ModelConfig = CONFIG, **ready: Any) -> ModelInfo:
    disk = Settled(notices=("Of the disk.",))
    fields = {name: getattr(READY, name) for name in READY.__struct_fields__}
    return loaded_model(config, MODEL, CHOICE, disk, Ready(**{**fields, **ready}))


def test_all_who_had_something_to_say_are_heard() -> None:
    found = info()
    assert found.notices == ("Of the files.", "Of the choice.", "Of the disk.", "Of the worker.")
    assert (found.context_length, found.context_limit) == (4096, "trained length")
    assert found.parameters == MODEL.parameters != READY.loaded.parameters
    assert found.running is CHOICE.running


def test_a_context_that_could_not_be_had_is_shown_as_it_is() -> None:
    found = info(context_length=256)
    assert (found.context_length, found.context_limit) == (256, "what could be allocated")
    assert found.memory < info().memory


@pytest.mark.parametrize(
    ("reasoning", "switch", "told"),
    [("auto", None, False), ("on", "enable_thinking", False), ("on", None, True)],
)
def test_a_switch_that_the_template_lacks_is_told(
    reasoning: Any, switch: str | None, told: bool
) -> None:
    notices = info(replace(CONFIG, reasoning=reasoning), thinking_switch=switch).notices
    assert any(f"--reasoning {reasoning} changes nothing" in each for each in notices) == told


def test_names_that_were_given_come_first_and_none_twice() -> None:
    aliases = info(replace(CONFIG, aliases=("mine", *MODEL.aliases))).aliases
    assert aliases == ("mine", *MODEL.aliases)


def test_a_worker_is_told_what_was_chosen(tmp_path: Path) -> None:
    template = tmp_path / "template.jinja"
    template.write_text("é")
    config = EngineConfig(replace(CONFIG, chat_template=template), cache_memory=7)
    told = order(config, MODEL, CHOICE, Settled())
    assert (told.backend, told.chat_template, told.memory, told.disk) == ("llama.cpp", "é", 7, None)
    assert told.config.files == (CONFIG.model,)
    assert told.config.running is CHOICE.running


@pytest.mark.parametrize("content", [None, b"\xff\xfe"])
def test_a_template_that_cannot_be_read_is_named(tmp_path: Path, content: bytes | None) -> None:
    template = tmp_path / "template.jinja"
    if content is not None:
        template.write_bytes(content)
    config = EngineConfig(replace(CONFIG, chat_template=template))
    with pytest.raises(StartError, match=r"'.*template\.jinja' cannot be read"):
        order(config, MODEL, CHOICE, Settled())
