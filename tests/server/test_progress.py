"""What the terminal shows before the model answers."""

import asyncio
import io

import pytest
from rich.console import Console
from tests.support.fake_engine import FakeEngine

from hubserve_engine.types import Stage
from hubserve_server import progress


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "LOOK", 0.0)


def test_each_thing_is_told_once_and_no_bar_is_drawn_into_a_file(
    capsys: pytest.CaptureFixture[str],
) -> None:
    async def play() -> None:
        engine = FakeEngine(stage="starting")
        telling = asyncio.create_task(progress.tell(engine))
        for stage, sentence in (
            ("resolving", "Looking for it ..."),
            ("downloading", "Downloading 5 GiB ..."),
            ("loading", "Downloading 5 GiB ..."),
        ):
            engine.stage, engine.progress = stage, sentence  # type: ignore[assignment]
            await asyncio.sleep(0.01)
        await asyncio.wait_for(telling, 10)

    asyncio.run(play())
    told = capsys.readouterr()
    assert told.err.splitlines() == [
        "Looking for it ...",
        "Downloading 5 GiB ...",
        "Loading the model ...",
    ]
    assert told.out == ""


@pytest.mark.parametrize("stage", ["exporting", "loading"])
def test_a_bar_grows_while_the_model_is_exported_or_loaded(stage: Stage) -> None:
    output = io.StringIO()

    async def play() -> None:
        engine = FakeEngine(stage=stage)
        console = Console(file=output, force_terminal=True, width=60)
        showing = asyncio.create_task(progress.show_bar(engine, console, stage))
        for engine.loaded in (0.0, 0.42):
            await asyncio.sleep(0.01)
        engine.stage = "ready"
        await asyncio.wait_for(showing, 10)

    asyncio.run(play())
    assert output.getvalue().index("  0%") < output.getvalue().index(" 42%")
