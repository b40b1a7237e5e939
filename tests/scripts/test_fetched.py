"""tests.support.fetched: a model that is not there skips a test, but fails it in CI."""

from pathlib import Path

import pytest
from tests.support.fetched import real_model, real_templates, real_vocabulary


@pytest.fixture(autouse=True)
def nothing_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HUBSERVE_TEST_MODELS", str(tmp_path))
    monkeypatch.setenv("HUBSERVE_TEST_TEMPLATES", str(tmp_path))
    monkeypatch.setenv("HUBSERVE_TEST_VOCABULARIES", str(tmp_path))
    monkeypatch.delenv("HUBSERVE_REQUIRE_MODELS", raising=False)


def test_what_was_fetched_is_found(tmp_path: Path) -> None:
    (tmp_path / "SmolLM2-135M-Instruct.Q4_1.gguf").touch()
    (tmp_path / "a.jinja").touch()
    (tmp_path / "phi-3.gguf").touch()
    assert real_vocabulary("phi-3").exists()
    assert real_model("smollm2").exists()
    assert real_templates() == [tmp_path / "a.jinja"]


def test_a_person_without_it_skips() -> None:
    with pytest.raises(pytest.skip.Exception, match="scripts/fetch-models smollm2"):
        real_model("smollm2")
    with pytest.raises(pytest.skip.Exception, match="scripts/fetch-templates"):
        real_templates()
    with pytest.raises(pytest.skip.Exception, match="scripts/fetch-vocabularies"):
        real_vocabulary("phi-3")


def test_ci_without_it_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HUBSERVE_REQUIRE_MODELS", "1")
    with pytest.raises(pytest.fail.Exception, match="scripts/fetch-models smollm2"):
        real_model("smollm2")
    with pytest.raises(pytest.fail.Exception, match="scripts/fetch-templates"):
        real_templates()
    with pytest.raises(pytest.fail.Exception, match="scripts/fetch-vocabularies"):
        real_vocabulary("phi-3")


def test_ci_does_not_need_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HUBSERVE_REQUIRE_MODELS", "1")
    with pytest.raises(pytest.skip.Exception):
        real_model("gemma3")
