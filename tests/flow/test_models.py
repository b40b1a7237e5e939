"""What clients find out about the model before they ask it anything."""

import pytest
from tests.support.asgi import ask
from tests.support.fake_engine import MODEL_ID, FakeEngine
from tests.support.live_server import error_of

from hubserve_server.settings import Settings


@pytest.mark.parametrize("path", ["/v1/models", "/models", "/models?reload=1", "/v1/models/"])
def test_the_list(path: str) -> None:
    body = ask(FakeEngine(), "GET", path).json()
    assert body["object"] == "list"
    (model,) = body["data"]
    assert model == {
        "id": MODEL_ID,
        "object": "model",
        "owned_by": "hubserve",
        "created": 1_700_000_000,
        "aliases": ["owner/Tiny-GGUF", "Tiny-Q4_K_M.gguf", "Tiny-Q4_K_M", "tiny"],
        "meta": {
            "n_ctx": 4096,
            "n_ctx_train": 8192,
            "n_vocab": 256,
            "n_embd": 64,
            "n_params": 134_515_008,
            "size": 98_000_000,
        },
        "architecture": {
            "name": "llama",
            "input_modalities": ["text"],
            "output_modalities": ["text"],
        },
        "status": {"value": "loaded"},
        "quantization": "Q4_K_M",
    }


@pytest.mark.parametrize("name", [MODEL_ID, MODEL_ID.replace("/", "%2F"), "tiny", "default"])
def test_one_model_by_any_of_its_names(name: str) -> None:
    response = ask(FakeEngine(), "GET", f"/v1/models/{name}")
    assert response.status_code == 200
    assert response.json()["id"] == MODEL_ID


def test_a_model_that_is_not_served() -> None:
    response = ask(FakeEngine(), "GET", "/v1/models/other")
    assert response.status_code == 404
    error = error_of(response)
    assert error["code"] == "model_not_found"
    assert MODEL_ID in error["message"]


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/completions", "/apply-template"])
def test_requests_name_the_model_in_any_way_or_not_at_all(path: str) -> None:
    given = {"messages": [{"role": "user", "content": "Hi"}], "prompt": "Hi"}
    for name in (None, "", "default", MODEL_ID, "owner/Tiny-GGUF", "Tiny-Q4_K_M.gguf", "tiny"):
        response = ask(FakeEngine(), "POST", path, body={**given, "model": name})
        assert response.status_code == 200, name
    assert ask(FakeEngine(), "POST", path, body=given).status_code == 200
    refused = ask(FakeEngine(), "POST", path, body={**given, "model": "gpt-9"})
    assert refused.status_code == 404
    assert error_of(refused)["code"] == "model_not_found"


def test_props() -> None:
    body = ask(FakeEngine(), "GET", "/props?model=x&autoload=false").json()
    assert body["default_generation_settings"]["n_ctx"] == 4096
    assert body["default_generation_settings"]["speculative"] is True
    assert body["default_generation_settings"]["params"]["speculative.n_max"] == 15
    assert body["default_generation_settings"]["params"]["temperature"] == 0.8
    assert body["default_generation_settings"]["params"]["seed"] == -1
    assert body["total_slots"] == 4
    assert "enable_thinking" in body["chat_template"]
    assert (body["bos_token"], body["eos_token"]) == ("<s>", "</s>")
    assert body["running"] == {
        "threads": 2,
        "gpu_layers": 0,
        "flash_attn": False,
        "cache_type_k": "f16",
        "cache_type_v": "f16",
        "batch_size": 256,
        "ubatch_size": 256,
    }
    assert body["modalities"] == {"vision": False, "video": False, "audio": False}


def test_health() -> None:
    response = ask(FakeEngine(active=2, waiting=1), "GET", "/health")
    assert response.status_code == 200
    assert response.json() == {"status": "ok", "stage": "ready", "active": 2, "waiting": 1}
    assert ask(FakeEngine(), "GET", "/v1/health").status_code == 200


@pytest.mark.parametrize("stage", ["starting", "resolving", "downloading", "exporting", "loading"])
def test_until_the_model_is_ready(stage: str) -> None:
    engine = FakeEngine(stage=stage, loaded=0.25)  # type: ignore[arg-type]
    health = ask(engine, "GET", "/health", settings=Settings(api_keys=("k",)))
    assert health.status_code == 503
    assert (health.json()["status"], health.json()["stage"]) == ("loading model", stage)
    assert health.json().get("progress") == (0.25 if stage in ("exporting", "loading") else None)
    assert error_of(health)["code"] == "model_loading"
    assert int(health.headers["retry-after"]) <= 60
    body = {"messages": [{"role": "user", "content": "Hi"}], "prompt": "Hi"}
    for path in ("/v1/chat/completions", "/v1/completions"):
        refused = ask(engine, "POST", path, body=body)
        assert refused.status_code == 503
        assert int(refused.headers["retry-after"]) <= 60
        assert error_of(refused)["code"] == "model_loading"
    assert ask(engine, "GET", "/v1/models").status_code == 503


def test_when_the_model_cannot_be_run() -> None:
    engine = FakeEngine(stage="unavailable")
    health = ask(engine, "GET", "/health")
    assert health.status_code == 503
    assert health.json()["status"] == "error"
    assert error_of(health)["code"] == "model_unavailable"
    assert "retry-after" not in health.headers


@pytest.mark.parametrize(
    "path",
    ["/health", "/v1/health", "/v1/models", "/models", "/v1/models/default", "/props"],
)
def test_head_is_get_without_the_body(path: str) -> None:
    get, head = (ask(FakeEngine(), method, path) for method in ("GET", "HEAD"))
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers == get.headers
    loading = ask(FakeEngine(stage="loading"), "HEAD", "/health")
    assert (loading.status_code, loading.content) == (503, b"")


@pytest.mark.parametrize("path", ["/", "/v1", "/v1/", "/v2", "/v1/chat", "/docs", "/openapi.json"])
def test_paths_that_are_not_there(path: str) -> None:
    response = ask(FakeEngine(), "GET", path)
    assert response.status_code == 404
    error = error_of(response)
    assert error["type"] == "invalid_request_error"
    assert f"nothing at '{path}'" in error["message"]
    assert "such as /v1/models" in error["message"]


def test_methods_that_are_not_possible() -> None:
    response = ask(FakeEngine(), "GET", "/v1/chat/completions")
    assert response.status_code == 405
    assert response.headers["allow"] == "POST"
    error = error_of(response)
    assert error["code"] == "method_not_allowed"
    assert error["message"] == "GET is not possible on '/v1/chat/completions'; use POST."
    written = error_of(ask(FakeEngine(), "POST", "/v1/models"))
    assert written["message"].endswith("use GET or HEAD.")
