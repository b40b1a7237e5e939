"""The words of the command: what is measured, and how often."""

import pytest
import typer

from hubserve_server.bench.arguments import askable, chosen, counts
from hubserve_server.bench.runner import SCENARIOS
from hubserve_server.client.servers import Local, Remote


def test_scenarios_keep_their_order() -> None:
    assert chosen(SCENARIOS, []) == list(SCENARIOS)
    assert [each.name for each in chosen(SCENARIOS, ["gap", "one"])] == ["one", "gap"]
    with pytest.raises(typer.BadParameter, match="'bogus' is no scenario; there are: one, "):
        chosen(SCENARIOS, ["bogus"])


def test_starts_alone_are_not_measured_of_servers_that_run() -> None:
    starts = chosen(SCENARIOS, ["start", "memory"])
    runs, started = Remote("here:1", "http://here:1"), Local("ours", ("x", "{port}"))
    with pytest.raises(typer.BadParameter, match=r"of here:1, which was not .*: start, memory"):
        askable(starts, [runs])
    askable(starts, [runs, started])
    askable(chosen(SCENARIOS, ["start", "one"]), [runs])


def test_runs_of_all_and_of_one() -> None:
    assert set(counts(SCENARIOS, [], 5).values()) == {5}
    found = counts(SCENARIOS, ["edit=3", "2"], 5)
    assert (found["edit"], found["one"]) == (3, 2)


@pytest.mark.parametrize("value", ["0", "-1", "many", "edit=", "edit=x", "bogus=3", "=3"])
def test_runs_that_are_none(value: str) -> None:
    with pytest.raises(typer.BadParameter, match="'"):
        counts(SCENARIOS, [value], 5)
