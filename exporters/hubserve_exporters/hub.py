"""Files onto the Hub: those of a model and no others, private unless it is said otherwise."""

import fnmatch
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hubserve_exporters.errors import ExportError
from hubserve_exporters.gguf.errors import GGUFError
from hubserve_exporters.gguf.reader import open_gguf

if TYPE_CHECKING:
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError

CARD = "README.md"
ALLOWED = (
    "*.gguf",
    "*.safetensors",
    "*.safetensors.index.json",
    CARD,
    "LICENSE*",
    "NOTICE*",
    "USE_POLICY.md",
    "config.json",
    "generation_config.json",
    "tokenizer.json",
    "tokenizer.model",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.json",
    "merges.txt",
    "chat_template.json",
    "chat_template.jinja",
    "additional_chat_templates/*.jinja",
)
"""What is part of a model. A folder may also hold logs, notes and secrets."""
_REPOSITORY = re.compile(r"[\w.-]+/[\w.-]+", re.ASCII)


@dataclass(frozen=True, slots=True)
class Pushed:
    """Where the files are now, which ones they are, and whether others can see them."""

    url: str
    files: tuple[str, ...]
    private: bool

    def __str__(self) -> str:
        return f"{self.url} ({'private' if self.private else 'public'}): {', '.join(self.files)}"


def check_repository(repo_id: str) -> None:
    """Raises ExportError for what does not look like the name of a repository."""
    if not _REPOSITORY.fullmatch(repo_id):
        raise _no_name(repo_id)


def push_to_hub(
    folder: str | os.PathLike[str],
    repo_id: str,
    model_card: str | None = None,
    private: bool = True,
    token: str | None = None,
    *,
    endpoint: str | None = None,
    report: Callable[[str, int], None] = lambda name, size: None,
    ended: Callable[[], bool] = lambda: False,
) -> Pushed:
    """Uploads a folder's model to the repository, which is made if it is not there.

    Only files that ALLOWED names are sent. `model_card` becomes the README where neither the folder
    nor the repository has one. A repository that is there keeps its visibility, and a public one
    takes nothing that is to be `private`. `token` None takes that of the login or of HF_TOKEN.
    `report` is told the name and the bytes of each file before it is read; `ended`, which several
    threads ask, ends the upload. Raises ExportError.
    """
    from huggingface_hub import HfApi

    from hubserve_exporters.upload import Upload

    check_repository(repo_id)
    files = _files(Path(folder))
    api = HfApi(endpoint=endpoint, token=token, library_name="hubserve")
    with _explained(repo_id, api):
        there = _settle(api, repo_id, private)
        additions = []
        for name, path in files.items():
            report(name, path.stat().st_size)
            additions.append(Upload(name, str(path), ended))
        if model_card is not None and CARD not in files and CARD not in there.files:
            additions.append(Upload(CARD, model_card.encode(), ended))
        names = tuple(addition.path_in_repo for addition in additions)
        api.create_commit(repo_id, additions, commit_message="Upload of a model in GGUF")
    return Pushed(f"{api.endpoint.rstrip('/')}/{repo_id}", names, there.private)


def _files(folder: Path) -> dict[str, Path]:
    """What is to be sent, by its path in the repository. Raises ExportError."""
    try:
        paths = sorted(path for path in folder.rglob("*") if path.is_file())
    except OSError as error:
        raise ExportError(f"{str(folder)!r} cannot be read: {error.strerror}.") from error
    names = {path.relative_to(folder).as_posix(): path for path in paths}
    files = {name: path for name, path in names.items() if _is_allowed(name)}
    if not any(name.endswith((".gguf", ".safetensors")) for name in files):
        raise ExportError(
            f"There is no model in {str(folder)!r}; name the folder that the export was written to."
        )
    home = folder.resolve()
    for name, path in files.items():
        if home not in path.resolve().parents:
            raise ExportError(
                f"{name!r} is a link to {str(path.resolve())!r}, which is not in the folder; copy"
                " the file, so that it is plain what is published."
            )
        if name.endswith(".gguf"):
            try:
                open_gguf(path).close()
            except GGUFError as error:
                raise ExportError(f"A damaged file is not published: {error}.") from error
    return files


def _is_allowed(name: str) -> bool:
    return any(
        fnmatch.fnmatchcase(name, pattern) and name.count("/") == pattern.count("/")
        for pattern in ALLOWED
    )


@dataclass(frozen=True, slots=True)
class _There:
    files: frozenset[str]
    private: bool


def _settle(api: "HfApi", repo_id: str, private: bool) -> _There:
    """The repository as it is, or made. Raises ExportError, and what the library raises."""
    from huggingface_hub.errors import RepositoryNotFoundError

    try:
        info = api.model_info(repo_id)
    except RepositoryNotFoundError:
        # One that somebody makes meanwhile would keep its visibility, so it must not be there.
        api.create_repo(repo_id, private=private, exist_ok=False)
        return _There(frozenset(), private)
    if private and not info.private:
        raise ExportError(
            f"{repo_id!r} is public, and the model was to be private: name another repository, or"
            " say --public (private=False) to publish it."
        )
    files = frozenset(sibling.rfilename for sibling in info.siblings or ())
    return _There(files, bool(info.private))


@contextmanager
def _explained(repo_id: str, api: "HfApi") -> Iterator[None]:
    """Makes sentences of what goes wrong with the Hub; none of them has a token in it."""
    from huggingface_hub import errors

    try:
        yield
    except ExportError:
        raise
    except errors.HFValidationError:
        raise _no_name(repo_id) from None
    except errors.HfHubHTTPError as error:
        raise ExportError(_status(repo_id, api.endpoint, error)) from None
    except errors.OfflineModeIsEnabled as error:
        raise ExportError(
            f"HF_HUB_OFFLINE is set, so nothing can be sent to {repo_id!r}; unset it."
        ) from error
    except Exception as error:
        # The HTTP client's exceptions pass the library, and have no base of their own.
        cause = error.__cause__ or error
        if isinstance(cause, ExportError):
            raise cause from None
        if isinstance(cause, errors.HfHubHTTPError):
            raise ExportError(_status(repo_id, api.endpoint, cause)) from None
        raise ExportError(
            f"Sending to {repo_id!r} on {api.endpoint} failed ({type(cause).__name__}); check the"
            " network and HF_ENDPOINT, and run the command again: what is sent is not sent twice."
        ) from None


def _no_name(repo_id: str) -> ExportError:
    return ExportError(f"{repo_id!r} cannot be the name of a repository; it is 'owner/repo'.")


def _status(repo_id: str, endpoint: str, error: "HfHubHTTPError") -> str:
    code = error.response.status_code
    if code == 401:
        return (
            f"{endpoint} asks who you are: log in with `hf auth login`, or set HF_TOKEN to a token"
            f" that may write to {repo_id!r}."
        )
    if code == 403:
        return f"Your token may not write to {repo_id!r}; make one with the right to write there."
    if code == 404:
        return f"There is no repository {repo_id!r} on {endpoint}, and none could be made."
    if code == 409:
        return f"{repo_id!r} was made by somebody else just now; run the command again."
    if code >= 500:
        return f"{endpoint} has a fault of its own ({code}); try again in a few minutes."
    said = str(error.server_message or "no reason is given").strip().splitlines()[0].rstrip(".")
    return f"{endpoint} does not take the files ({code}): {said}."
