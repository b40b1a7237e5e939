"""Who may talk to the server: origins, host names, CORS, private networks."""

import re
import socket

import pytest
from tests.support.asgi import ask
from tests.support.fake_engine import FakeEngine
from tests.support.live_server import error_of

from hubserve_server.guard import origin_pattern
from hubserve_server.settings import LOCAL_ORIGINS, Settings, is_loopback

BODY = {"messages": [{"role": "user", "content": "Hi"}]}
LOCAL = [
    "http://localhost",
    "http://localhost:3000",
    "https://localhost:8443",
    "http://127.0.0.1:5173",
    "http://[::1]:8080",
    "tauri://localhost",
    "http://tauri.localhost",
    "https://tauri.localhost",
    "app://obsidian.md",
    "vscode-webview://abc-123",
    "vscode-file://vscode-app",
]
FOREIGN = [
    "https://evil.example",
    "http://localhost.evil.example",
    "http://localhost:3000.evil.example",
    "http://evil.example:80@localhost",
    "http://127.0.0.1.evil.example",
    "https://tauri.localhost.evil.example",
    "chrome-extension://abcdef",
    "file://",
    "null",
    "",
]


@pytest.mark.parametrize("origin", LOCAL)
def test_local_origins_are_answered_with_cors_headers(origin: str) -> None:
    response = ask(
        FakeEngine(), "POST", "/v1/chat/completions", body=BODY, headers={"Origin": origin}
    )
    assert response.status_code == 200
    assert response.headers["access-control-allow-origin"] == origin
    assert "origin" in response.headers["vary"].lower()


@pytest.mark.parametrize("origin", FOREIGN)
def test_foreign_origins_are_refused_before_any_work(origin: str) -> None:
    engine = FakeEngine()
    response = ask(
        engine,
        "POST",
        "/v1/chat/completions",
        body=BODY,
        headers={"Origin": origin, "Content-Type": "text/plain"},
    )
    assert response.status_code == 403
    assert error_of(response)["code"] == "origin_not_allowed"
    assert engine.requests == []
    assert "access-control-allow-origin" not in response.headers


def test_a_page_that_is_a_file_is_told_what_its_origin_would_let_in() -> None:
    response = ask(FakeEngine(), "GET", "/v1/models", headers={"Origin": "null"})
    message = error_of(response)["message"]
    assert "over http" in message
    assert "--cors-origins null would let the sandboxed frames of every web site in" in message


@pytest.mark.parametrize("origin", [*FOREIGN[:-1], "https://chat.example"])
def test_a_star_lets_every_origin_in(origin: str) -> None:
    settings = Settings(cors_origins=("*",))
    response = ask(FakeEngine(), "GET", "/health", settings=settings, headers={"Origin": origin})
    assert response.status_code == 200
    assert response.headers["access-control-allow-origin"] in (origin, "*")


def test_a_named_origin_is_let_in_besides_the_local_ones() -> None:
    settings = Settings(cors_origins=("https://*.chat.example/", "chrome-extension://*"))
    for origin in ("https://a.chat.example", "chrome-extension://abcdef", "http://localhost:1"):
        response = ask(
            FakeEngine(), "GET", "/health", settings=settings, headers={"Origin": origin}
        )
        assert response.headers["access-control-allow-origin"] == origin
    for origin in ("https://chat.example.evil", "https://a.b/.chat.example", "null"):
        response = ask(
            FakeEngine(), "GET", "/health", settings=settings, headers={"Origin": origin}
        )
        assert response.status_code == 403


def test_a_page_of_the_server_itself_is_no_foreign_one() -> None:
    settings = Settings(host="0.0.0.0", allowed_hosts=("box.lan",))
    headers = {"Host": "box.lan:8000", "Origin": "http://box.lan:8000"}
    assert ask(FakeEngine(), "GET", "/health", settings=settings, headers=headers).is_success
    headers["Origin"] = "http://box.lan:9000"
    assert ask(FakeEngine(), "GET", "/health", settings=settings, headers=headers).is_client_error


@pytest.mark.parametrize("private", [False, True])
def test_preflights_pass_without_a_key_and_allow_what_was_asked_for(private: bool) -> None:
    headers = {
        "Origin": "http://localhost:3000",
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "authorization,content-type,x-stainless-os",
    }
    if private:
        headers["Access-Control-Request-Private-Network"] = "true"
    settings = Settings(api_keys=("secret",))
    response = ask(
        FakeEngine(), "OPTIONS", "/v1/chat/completions", settings=settings, headers=headers
    )
    assert response.status_code in (200, 204)
    allowed = response.headers
    assert allowed["access-control-allow-origin"] == "http://localhost:3000"
    assert "POST" in allowed["access-control-allow-methods"]
    assert "x-stainless-os" in allowed["access-control-allow-headers"]
    assert int(allowed["access-control-max-age"]) > 0
    assert ("access-control-allow-private-network" in allowed) is private


def test_a_foreign_preflight_is_not_let_into_the_private_network() -> None:
    headers = {
        "Origin": "https://evil.example",
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Private-Network": "true",
    }
    response = ask(FakeEngine(), "OPTIONS", "/v1/chat/completions", headers=headers)
    assert response.status_code == 403
    assert not [name for name in response.headers if name.startswith("access-control")]


@pytest.mark.parametrize(
    ("method", "path", "content", "status"),
    [
        ("POST", "/v1/chat/completions", b"{", 400),
        ("GET", "/nowhere", None, 404),
        ("GET", "/v1/chat/completions", None, 405),
        ("POST", "/v1/chat/completions", b"x" * 2_000, 413),
    ],
)
def test_error_replies_have_cors_headers_too(
    method: str, path: str, content: bytes | None, status: int
) -> None:
    response = ask(
        FakeEngine(),
        method,
        path,
        content=content,
        settings=Settings(max_body=1_000),
        headers={"Origin": "http://localhost:3000"},
    )
    assert response.status_code == status
    assert response.headers["access-control-allow-origin"] == "http://localhost:3000"


def test_even_our_own_faults_have_cors_headers() -> None:
    response = ask(
        FakeEngine(error=ZeroDivisionError()),
        "POST",
        "/v1/chat/completions",
        body=BODY,
        headers={"Origin": "http://localhost:3000"},
    )
    assert response.status_code == 500
    assert response.headers["access-control-allow-origin"] == "http://localhost:3000"


@pytest.mark.parametrize(
    "host",
    ["localhost:8000", "127.0.0.1:8000", "127.0.0.1", "[::1]:8000", "LOCALHOST", "a.localhost"],
)
def test_loopback_names_are_accepted(host: str) -> None:
    assert ask(FakeEngine(), "GET", "/health", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8000", "10.0.0.1", "[::f", "a b"])
def test_other_names_are_refused_on_loopback(host: str) -> None:
    engine = FakeEngine()
    response = ask(engine, "POST", "/v1/chat/completions", body=BODY, headers={"Host": host})
    assert response.status_code == 403
    assert error_of(response)["code"] == "host_not_allowed"
    assert engine.requests == []


@pytest.mark.parametrize(
    "settings",
    [
        Settings(allowed_hosts=("host.docker.internal",)),
        Settings(allowed_hosts=("*",)),
        Settings(host="0.0.0.0"),
        Settings(host="0.0.0.0", api_keys=("k",)),
    ],
)
def test_other_names_can_be_allowed(settings: Settings) -> None:
    headers = {"Host": "host.docker.internal:8000"}
    assert ask(FakeEngine(), "GET", "/health", settings=settings, headers=headers).is_success


OWN = socket.gethostname()
BEYOND = Settings(host="0.0.0.0")
PRIVATE = ["10.0.0.1", "[fe80::1]", "localhost", "ollama", OWN, f"{OWN}.local", "box.home.arpa"]


@pytest.mark.parametrize("name", PRIVATE)
def test_names_that_no_web_site_has_are_accepted_beyond_the_loopback(name: str) -> None:
    headers = {"Host": f"{name}:8000", "Origin": f"http://{name}:8000"}
    assert ask(FakeEngine(), "GET", "/health", settings=BEYOND, headers=headers).is_success


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        (BEYOND, "host_not_allowed"),
        (Settings(host="0.0.0.0", allowed_hosts=("box.lan",)), "host_not_allowed"),
        (Settings(allowed_hosts=("*",)), "origin_not_allowed"),
        (Settings(host="0.0.0.0", allowed_hosts=("*",)), "origin_not_allowed"),
    ],
)
def test_a_page_whose_name_was_made_to_point_here_is_refused(settings: Settings, code: str) -> None:
    engine = FakeEngine()
    headers = {"Host": "evil.example:8000", "Origin": "http://evil.example:8000"}
    path = "/v1/chat/completions"
    response = ask(engine, "POST", path, body=BODY, settings=settings, headers=headers)
    assert response.status_code == 403
    assert error_of(response)["code"] == code
    assert engine.requests == []


def test_a_page_without_the_key_may_have_any_name_beyond_the_loopback() -> None:
    settings = Settings(host="0.0.0.0", api_keys=("k",))
    headers = {"Host": "box.example", "Origin": "http://box.example"}
    assert (
        ask(FakeEngine(), "GET", "/v1/models", settings=settings, headers=headers).status_code
        == 401
    )
    headers["Authorization"] = "Bearer k"
    assert ask(FakeEngine(), "GET", "/v1/models", settings=settings, headers=headers).is_success


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("127.0.0.1", True),
        ("127.1.2.3", True),
        ("::1", True),
        ("[::1]", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("::", False),
        ("192.168.1.5", False),
        ("localhost.example", False),
    ],
)
def test_what_is_loopback(host: str, expected: bool) -> None:
    assert is_loopback(host) is expected


def test_the_pattern_matches_whole_origins_only() -> None:
    pattern = re.compile(origin_pattern(LOCAL_ORIGINS))
    assert all(pattern.fullmatch(origin) for origin in LOCAL)
    assert not any(pattern.fullmatch(origin) for origin in FOREIGN)
