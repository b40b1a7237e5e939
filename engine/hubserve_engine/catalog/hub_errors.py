"""What goes wrong with the Hub, each as one sentence with the next step."""

import errno
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hubserve_engine.catalog.model_id import HubModel
from hubserve_engine.errors import ResolveError

if TYPE_CHECKING:
    from huggingface_hub.errors import HfHubHTTPError


@dataclass(frozen=True, slots=True)
class Situation:
    """What was asked for, and of whom.

    `cache` is the folder of the cache, `has_token` tells whether an access token was sent along,
    `path` is the file that was being fetched, and `revisions` are those that the repository has.
    `in_cache` tells whether some of its files are in the cache.
    """

    model: HubModel
    endpoint: str
    cache: str
    has_token: bool
    path: str | None = None
    revisions: tuple[str, ...] = ()
    in_cache: bool = False

    @property
    def tokens_page(self) -> str:
        """Where access tokens are made."""
        return f"{self.endpoint}/settings/tokens"


def explain(error: Exception, situation: Situation) -> ResolveError:
    """An exception of huggingface_hub, of its HTTP client or of the disk, for people."""
    for cause in _chain(error):
        if sentence := _sentence(cause, situation):
            return ResolveError(sentence, param="model")
    text = str(error).strip().split("\n", 1)[0]
    return ResolveError(
        f"Fetching {situation.model.place!r} from {situation.endpoint} failed"
        f" ({type(error).__name__}: {text}); try again.",
        param="model",
    )


def is_network(error: BaseException) -> bool:
    """Whether the network failed, rather than the Hub said no."""
    from huggingface_hub.errors import HfHubHTTPError, OfflineModeIsEnabled

    if isinstance(error, HfHubHTTPError | OfflineModeIsEnabled):
        return False
    # huggingface_hub 1 uses httpx and 2 uses httpx2, whose exceptions have no other base.
    library = type(error).__module__.partition(".")[0]
    return isinstance(error, ConnectionError | TimeoutError) or library in ("httpx", "httpx2")


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """The error and its causes: the library wraps a failed request in "not found in the cache"."""
    while error is not None:
        yield error
        error = error.__cause__


def _sentence(error: BaseException, situation: Situation) -> str | None:
    from huggingface_hub import errors

    model, endpoint = situation.model, situation.endpoint
    match error:
        case errors.GatedRepoError():
            return _gated(situation)
        case errors.DisabledRepoError():
            return f"{model.repo!r} was disabled on {endpoint}; choose another repository."
        case errors.RepositoryNotFoundError():
            return _no_repository(situation)
        case errors.RevisionNotFoundError():
            there = ", ".join(situation.revisions) or "see its page"
            return f"{model.repo!r} has no revision {model.revision!r}; there is: {there}."
        case errors.EntryNotFoundError() if not isinstance(error, errors.LocalEntryNotFoundError):
            return (
                f"{model.place!r} has no file {situation.path!r} any more; see"
                f" {endpoint}/{model.repo}/tree/{model.revision or 'main'}."
            )
        case errors.HfHubHTTPError():
            return _status(error, situation)
        case errors.OfflineModeIsEnabled() if not situation.in_cache:
            return (
                f"HF_HUB_OFFLINE is set, and {model.place!r} is not in the cache"
                f" ({situation.cache}): unset it to download the model."
            )
        case errors.OfflineModeIsEnabled():
            return (
                f"HF_HUB_OFFLINE is set, so {model.place!r} is looked for in the cache"
                f" ({situation.cache}) only: unset it to download what is not there."
            )
        case errors.HFValidationError():
            return f"{model.repo!r} cannot be the name of a repository; it is 'owner/repo'."
        case errors.FileMetadataError():
            return _no_hub(situation)
        case errors.LocalEntryNotFoundError():
            return None
        case _ if is_network(error) and situation.path:
            return (
                f"The connection to {endpoint} was lost ({_reason(error)}) while downloading"
                f" {situation.path!r}: run the command again to go on where it stopped."
            )
        case _ if is_network(error):
            return (
                f"{endpoint} cannot be reached ({_reason(error)}): check the network and the"
                " variables HF_ENDPOINT and HTTPS_PROXY, or set HF_HUB_OFFLINE=1 to use the"
                " cache alone."
            )
        case OSError():
            return _disk(error, situation)
        case ValueError() | KeyError() | TypeError() | AttributeError():
            return _no_hub(situation)
    return None


def _no_hub(situation: Situation) -> str:
    return (
        f"{situation.endpoint} does not answer as a Hub does: check the variable HF_ENDPOINT, and"
        " whether a proxy or a login page is in between."
    )


def _gated(situation: Situation) -> str:
    page = f"{situation.endpoint}/{situation.model.repo}"
    if situation.has_token:
        return (
            f"{situation.model.repo!r} is gated and your access token may not read it yet: ask for"
            f" access at {page}, with the account that the token (HF_TOKEN) belongs to."
        )
    return (
        f"{situation.model.repo!r} is gated: ask for access at {page}, then set HF_TOKEN to an"
        f" access token from {situation.tokens_page}."
    )


def _no_repository(situation: Situation) -> str:
    token = "use a token (HF_TOKEN) that may read it" if situation.has_token else "set HF_TOKEN"
    return (
        f"There is no model repository {situation.model.repo!r} on {situation.endpoint}, or it is"
        f" private: check the name, or {token} ({situation.tokens_page})."
    )


def _bad_token(situation: Situation) -> str:
    return (
        f"{situation.endpoint} does not accept your access token: set HF_TOKEN to a valid one from"
        f" {situation.tokens_page}, or unset it and log out for models that are public."
    )


def _status(error: "HfHubHTTPError", situation: Situation) -> str:
    status = error.response.status_code
    model, endpoint = situation.model, situation.endpoint
    if status == 401:
        return _bad_token(situation) if situation.has_token else _no_repository(situation)
    if status == 403:
        return (
            f"{endpoint} forbids reading {model.repo!r} (403): use a token (HF_TOKEN) with the"
            f" right to read it; {situation.tokens_page} shows what yours may do."
        )
    if status == 404:
        return _no_repository(situation)
    if status == 429:
        wait = error.response.headers.get("Retry-After")
        when = f"in {wait} seconds" if wait else "in a few minutes"
        hint = "" if situation.has_token else ", or set HF_TOKEN, which raises the limit"
        return f"{endpoint} asks to slow down (429): try again {when}{hint}."
    if status >= 500:
        return f"{endpoint} has a fault of its own ({status}): try again in a few minutes."
    return f"{endpoint} refused {model.place!r} with status {status}: {_reason(error)}."


def _disk(error: OSError, situation: Situation) -> str | None:
    from huggingface_hub import constants

    what = situation.path or situation.model.place
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return (
            f"The disk of {situation.cache} is full and {what!r} is not wholly downloaded: make"
            " room there, or set HF_HOME to a folder on a larger disk."
        )
    if error.filename and str(error.filename) == constants.HF_TOKEN_PATH:
        return (
            f"The access token in {error.filename!r} cannot be read ({error.strerror}): make it"
            " readable, or set HF_TOKEN or HF_TOKEN_PATH."
        )
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOENT, errno.ENOTDIR):
        return (
            f"The cache {situation.cache} cannot be written ({error.strerror}): make it writable,"
            " or set HF_HOME to a folder that is."
        )
    return None


def _reason(error: BaseException) -> str:
    return str(error).strip().split("\n", 1)[0].rstrip(".") or type(error).__name__
