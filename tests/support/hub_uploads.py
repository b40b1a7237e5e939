"""The half of a local Hub that takes files: repositories are made, and commits added to them.

What a client sends for a commit is, in this order: a check of the README's heading, a question
which files are large, large ones to the store of blobs, and then the commit, which names them.
"""

import base64
import json
from hashlib import sha256
from pathlib import Path
from typing import Any

from tests.support.hub_repo import LARGE, Repo, git_sha1_of

Answer = tuple[int, str | None, dict[str, Any]]
"""Status, error code, and body; in an error the body has the message."""


class Uploads:
    """What is written to, by repository; new files are kept in `folder`.

    `taken` are the paths that were sent as large files, in the order in which they came.
    """

    def __init__(self, repos: dict[str, Repo], folder: Path) -> None:
        self._repos = repos
        self._folder = folder
        self.taken: list[str] = []

    def create(self, body: dict[str, Any], url: str) -> Answer:
        """Makes a repository; one that is there stays as it is."""
        name = f"{body['organization']}/{body['name']}"
        if name in self._repos:
            message = "You already created this model repo"
            return 409, None, {"error": message, "url": f"{url}/{name}"}
        private = body.get("visibility") == "private" or body.get("private") is True
        self._repos[name] = Repo.of_files({})
        self._repos[name].private = private
        return 200, None, {"url": f"{url}/{name}", "name": name}

    def modes(self, name: str, body: dict[str, Any]) -> Answer:
        """Which files go to the store of blobs, and what is there under their paths."""
        files = self._repos[name].revisions["main"]
        answers = []
        for file in body["files"]:
            path = file["path"]
            there = files.get(path)
            answers.append(
                {
                    "path": path,
                    "uploadMode": "lfs" if path.endswith(LARGE) else "regular",
                    "shouldIgnore": False,
                    "oid": git_sha1_of(there) if there and not path.endswith(LARGE) else None,
                }
            )
        return 200, None, {"files": answers}

    def batch(self, body: dict[str, Any], store: str) -> Answer:
        """Where each large file is to be sent; nowhere if it is there already."""
        objects = []
        for wanted in body["objects"]:
            answer: dict[str, Any] = {"oid": wanted["oid"], "size": wanted["size"]}
            if not self.blob(wanted["oid"]).exists():
                answer["actions"] = {"upload": {"href": f"{store}/{wanted['oid']}"}}
            objects.append(answer)
        return 200, None, {"transfer": "basic", "objects": objects}

    def put(self, digest: str, content: bytes) -> int:
        """Keeps a large file; the status. One that is not what it is called is refused."""
        if sha256(content).hexdigest() != digest:
            return 400
        self.blob(digest).write_bytes(content)
        return 200

    def blob(self, digest: str) -> Path:
        """Where a large file is kept."""
        return self._folder / digest

    def commit(self, name: str, lines: bytes, url: str) -> Answer:
        """Adds the files of a commit to the main branch."""
        repo = self._repos[name]
        for line in lines.splitlines():
            entry = json.loads(line)
            value = entry["value"]
            if entry["key"] == "file":
                content = base64.b64decode(value["content"])
                file = self.blob(sha256(content).hexdigest())
                file.write_bytes(content)
            elif entry["key"] == "lfsFile":
                file = self.blob(value["oid"])
                if not file.exists():
                    return 400, None, {"error": f"Large file {value['path']} was not uploaded"}
                self.taken.append(value["path"])
            else:
                continue
            repo.revisions["main"][value["path"]] = file
        commit = repo.commit("main")
        return 200, None, {"commitUrl": f"{url}/{name}/commit/{commit}", "commitOid": commit}
