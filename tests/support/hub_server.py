"""A Hub on this machine: enough of the real one's protocol for the real client library.

For tests, and from a shell:

    python -m tests.support.hub_server --repo owner/name=FOLDER --port 8001
    python -m tests.support.hub_server --file owner/name:model-Q4_K_M.gguf=some.gguf

and then, elsewhere, `HF_ENDPOINT=http://127.0.0.1:8001`. Files that end in .gguf or .safetensors
are served as the Hub serves large ones: by a redirect to a store of blobs under another host name,
with the SHA-256 as the ETag. No file is offered through Xet, so clients use plain HTTP. With a
folder for `uploads` it takes files from whoever has its token, if HF_HUB_DISABLE_XET is set for
the client; see `hub_uploads`.

The protocol as huggingface_hub 2.4 speaks it (hf_api.py, file_download.py, utils/_http.py).
"""

import argparse
import contextlib
import json
import re
import socket
import struct
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Literal, Self
from urllib.parse import unquote, urlsplit

from tests.support.hub_repo import LARGE, Repo, entry_of, git_sha1_of, sha256_of, tree_entry_of
from tests.support.hub_uploads import Answer, Uploads

Where = Literal["api", "resolve", "blob", "upload"]

# Slashes in a revision are escaped.
_ROUTE = re.compile(r"/([^/]+/[^/]+)/resolve/([^/]+)/(.+)")
_API = re.compile(
    r"/api/models/(?P<repo>[^/]+/[^/]+)(/(?P<verb>revision|tree|refs)(/(?P<revision>[^/]+))?/?)?"
)
_WRITE = re.compile(r"/api/models/(?P<repo>[^/]+/[^/]+)/(?P<verb>preupload|commit)/main")
_BATCH = re.compile(r"/(?P<repo>[^/]+/[^/]+)\.git/info/lfs/objects/batch")


@dataclass
class Fault:
    """Something that goes wrong, `times` times, where requests come to ("upload": all that write).

    `status` answers with that code. Otherwise the answer is right at first: `cut_after` closes the
    connection after so many bytes of a blob (with a `reset`, as a router does that has forgotten
    the connection), `resize` lists files as so much larger than they are, `corrupt` changes a byte
    of the blob and keeps its hash, `web_page` sends HTML.
    """

    where: Where
    times: int = 1_000_000
    status: int | None = None
    code: str | None = None
    message: str | None = None
    headers: dict[str, str] = field(default_factory=dict)
    cut_after: int | None = None
    reset: bool = False
    resize: int = 0
    corrupt: bool = False
    web_page: bool = False


@dataclass(frozen=True)
class Seen:
    """A request that came in; the names of headers are found in any case."""

    method: str
    path: str
    headers: Message


class HubServer:
    """The server, as a context manager; it answers from a thread of its own.

    `repos` may change while it runs, `faults` are taken in order, `seen` has all requests. With a
    `token`, another one is refused, and private and gated repositories open to it.
    """

    def __init__(
        self,
        repos: Mapping[str, Repo] | None = None,
        *,
        port: int = 0,
        token: str | None = None,
        uploads: Path | None = None,
    ) -> None:
        self.repos = dict(repos or {})
        self.token = token
        self.uploads = Uploads(self.repos, uploads) if uploads else None
        self.faults: list[Fault] = []
        self.seen: list[Seen] = []
        handler = type("Handler", (_Handler,), {"hub": self})
        self._http = _Server(("127.0.0.1", port), handler)
        self._thread = threading.Thread(
            target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        )

    @property
    def port(self) -> int:
        """The port that it listens on."""
        return int(self._http.server_address[1])

    @property
    def url(self) -> str:
        """What HF_ENDPOINT has to be."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def blob_url(self) -> str:
        """The store of blobs: the same server under another host name, as the real one has it."""
        return f"http://localhost:{self.port}/blobs"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def take_fault(self, where: Where) -> Fault | None:
        """The next fault for such a request, which is then used up by one."""
        for fault in self.faults:
            if fault.where == where and fault.times > 0:
                fault.times -= 1
                return fault
        return None

    def blob(self, digest: str) -> Path | None:
        """The large file with this SHA-256, in whatever repository."""
        for repo in self.repos.values():
            for files in repo.revisions.values():
                for file in files.values():
                    if sha256_of(file) == digest:
                        return file
        return None


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that go away are part of the tests, and not worth a traceback."""


class _Handler(BaseHTTPRequestHandler):
    hub: HubServer
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        path = urlsplit(self.path).path
        self.hub.seen.append(Seen(self.command, unquote(path), self.headers))
        if path.startswith("/blobs/"):
            self._send_blob(path.removeprefix("/blobs/"))
        elif match := _ROUTE.fullmatch(path):
            repo, revision, file = (unquote(part) for part in match.groups())
            self._send_resolve(repo, revision, file)
        elif match := _API.fullmatch(path):
            self._send_api(match["repo"], match["verb"], unquote(match["revision"] or "main"))
        else:
            self._refuse(404, None, "Not Found")

    do_HEAD = do_GET

    def do_POST(self) -> None:
        """What writes; the answer is the uploads'."""
        content = self._take()
        if content is None:
            return
        path, uploads = unquote(urlsplit(self.path).path), self.hub.uploads
        if uploads is None:
            self._refuse(404, None, "Not Found")
        elif path == "/api/validate-yaml":
            self._send_json({"errors": [], "warnings": []})
        elif path == "/api/repos/create":
            self._answer(uploads.create(json.loads(content), self.hub.url))
        elif (match := _BATCH.fullmatch(path)) and self._visible(match["repo"]):
            self._answer(uploads.batch(json.loads(content), self.hub.blob_url))
        elif (match := _WRITE.fullmatch(path)) and self._visible(match["repo"]):
            if match["verb"] == "commit":
                self._answer(uploads.commit(match["repo"], content, self.hub.url))
            else:
                self._answer(uploads.modes(match["repo"], json.loads(content)))

    def do_PUT(self) -> None:
        """A large file, sent to the store of blobs, which asks for no token."""
        content = self._take(trusted=False)
        if content is not None and self.hub.uploads is not None:
            digest = urlsplit(self.path).path.removeprefix("/blobs/")
            self._send(self.hub.uploads.put(digest, content), {}, b"")

    def _take(self, trusted: bool = True) -> bytes | None:
        """What was sent; None where the answer is sent already."""
        self.hub.seen.append(Seen(self.command, unquote(urlsplit(self.path).path), self.headers))
        if self.headers.get("Transfer-Encoding") == "chunked":
            content = b""
            while size := int(self.rfile.readline(), 16):
                content += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            content = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        fault = self.hub.take_fault("upload")
        if fault and self._misbehave(fault):
            return None
        if trusted and not self._trusted():
            self._refuse(401, None, "Invalid username or password.")
            return None
        return content

    def _answer(self, answer: Answer) -> None:
        status, code, body = answer
        if status == 200:
            self._send_json(body)
        else:
            self._refuse(status, code, body["error"])

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: tests read what the program under test writes."""

    def _send_api(self, name: str, verb: str | None, revision: str) -> None:
        fault = self.hub.take_fault("api")
        if fault and self._misbehave(fault):
            return
        repo = self._visible(name)
        if repo is None:
            return
        if verb == "refs":
            branches = [
                {"name": name, "ref": f"refs/heads/{name}", "targetCommit": repo.commit(name)}
                for name in repo.revisions
            ]
            self._send_json({"branches": branches, "tags": [], "converts": []})
            return
        commit = repo.commit(revision)
        if commit is None:
            self._refuse(404, "RevisionNotFound", f"Invalid rev id: {revision}")
            return
        files = repo.files(commit)
        siblings = [entry_of(path, file) for path, file in files.items()]
        for sibling in siblings:
            sibling["size"] += fault.resize if fault else 0
        if verb == "tree":
            self._send_json([tree_entry_of(path, file) for path, file in files.items()])
            return
        self._send_json(
            {
                "id": name,
                "modelId": name,
                "sha": commit,
                "private": repo.private,
                "gated": "manual" if repo.gated else False,
                "siblings": siblings,
            }
        )

    def _send_resolve(self, name: str, revision: str, path: str) -> None:
        fault = self.hub.take_fault("resolve")
        if fault and self._misbehave(fault):
            return
        repo = self._visible(name)
        if repo is None:
            return
        if repo.gated and not self._trusted():
            page = f"{self.hub.url}/{name}"
            message = f"Access to model {name} is restricted. Visit {page} to ask for access."
            self._refuse(403 if self._bearer() else 401, "GatedRepo", message)
            return
        commit = repo.commit(revision)
        if commit is None:
            self._refuse(404, "RevisionNotFound", f"Invalid rev id: {revision}")
            return
        file = repo.files(commit).get(path)
        if file is None:
            self._refuse(404, "EntryNotFound", "Entry not found", {"X-Repo-Commit": commit})
            return
        if not path.endswith(LARGE):
            self._send_body(
                file.read_bytes(), {"X-Repo-Commit": commit, "ETag": f'"{git_sha1_of(file)}"'}
            )
            return
        digest = sha256_of(file)
        headers = {
            "X-Repo-Commit": commit,
            "X-Linked-Etag": f'"{digest}"',
            "X-Linked-Size": str(file.stat().st_size),
            "ETag": f'"{git_sha1_of(file)}"',
            "Location": f"{self.hub.blob_url}/{digest}",
        }
        self._send(302, headers, b"")

    def _send_blob(self, digest: str) -> None:
        fault = self.hub.take_fault("blob")
        if fault and self._misbehave(fault):
            return
        file = self.hub.blob(digest)
        if file is None:
            self._refuse(404, None, "No such blob")
            return
        content = file.read_bytes()
        if fault and fault.corrupt:
            content = content[:-1] + bytes([content[-1] ^ 1])
        self._send_body(content, {"ETag": f'"{digest}"'}, fault)

    def _visible(self, name: str) -> Repo | None:
        """The repository; where there is none for this client, the answer is sent."""
        bearer = self._bearer()
        if bearer and self.hub.token and bearer != self.hub.token:
            self._refuse(401, None, "Invalid credentials in Authorization header")
            return None
        repo = self.hub.repos.get(name)
        if repo is None or (repo.private and not self._trusted()):
            self._refuse(404 if bearer else 401, "RepoNotFound", "Repository not found")
            return None
        return repo

    def _bearer(self) -> str | None:
        kind, _, token = self.headers.get("Authorization", "").partition(" ")
        return token if kind == "Bearer" and token else None

    def _trusted(self) -> bool:
        return self.hub.token is not None and self._bearer() == self.hub.token

    def _misbehave(self, fault: Fault) -> bool:
        """Answers as the fault says; false where the fault only bends a right answer."""
        if fault.status is not None:
            self._refuse(fault.status, fault.code, fault.message or "Injected", fault.headers)
        elif fault.web_page:
            page = b"<!DOCTYPE html><html><body>Please log in to this network</body></html>"
            self._send(200, {"Content-Type": "text/html"}, page)
        else:
            return False
        return True

    def _refuse(
        self, status: int, code: str | None, message: str, headers: Mapping[str, str] | None = None
    ) -> None:
        named = {"X-Error-Code": code} if code else {}
        told = {"X-Error-Message": message, "Content-Type": "application/json"}
        self._send(
            status, {**named, **told, **(headers or {})}, json.dumps({"error": message}).encode()
        )

    def _send_json(self, value: object) -> None:
        self._send(200, {"Content-Type": "application/json"}, json.dumps(value).encode())

    def _send_body(
        self, content: bytes, headers: Mapping[str, str], fault: Fault | None = None
    ) -> None:
        """A file, or the part of it that is asked for."""
        headers = {"Accept-Ranges": "bytes", **headers}
        wanted = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        if wanted is None:
            self._send(200, headers, content, fault)
            return
        start, end = int(wanted[1]), int(wanted[2] or len(content) - 1)
        if start >= len(content):
            self._send(416, {**headers, "Content-Range": f"bytes */{len(content)}"}, b"")
            return
        part = content[start : end + 1]
        place = f"bytes {start}-{start + len(part) - 1}/{len(content)}"
        self._send(206, {**headers, "Content-Range": place}, part, fault)

    def _send(
        self, status: int, headers: Mapping[str, str], body: bytes, fault: Fault | None = None
    ) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "HEAD":
            return
        if fault and fault.cut_after is not None and fault.cut_after < len(body):
            self.wfile.write(body[: fault.cut_after])
            self.close_connection = True
            if fault.reset:
                # What is written has to be on its way first: a reset throws away what is not.
                time.sleep(0.2)
                at_once = struct.pack("ii", 1, 0)
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, at_once)
                self.connection.close()
            return
        self.wfile.write(body)


def main() -> None:
    """Serves what the command line names until it is interrupted."""
    parser = argparse.ArgumentParser(description="A local Hub for tests.")
    parser.add_argument("--repo", action="append", default=[], metavar="OWNER/NAME=FOLDER")
    parser.add_argument("--file", action="append", default=[], metavar="OWNER/NAME:PATH=FILE")
    parser.add_argument("--port", type=int, default=0)
    arguments = parser.parse_args()
    repos: dict[str, Repo] = {}
    for text in arguments.repo:
        name, _, folder = text.partition("=")
        repos[name] = Repo.of_folder(Path(folder))
    for text in arguments.file:
        place, _, file = text.partition("=")
        name, _, path = place.partition(":")
        repo = repos.setdefault(name, Repo.of_files({}))
        repo.revisions["main"][path] = Path(file)
    with HubServer(repos, port=arguments.port) as hub:
        print(f"HF_ENDPOINT={hub.url}", flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            threading.Event().wait()


if __name__ == "__main__":
    main()
