"""The error object, in replies and in streams."""

import msgspec
from msgspec import UNSET, UnsetType


class ErrorDetail(msgspec.Struct):
    """`n_prompt_tokens` and `n_ctx` come with a context overflow, as llama-server has them."""

    message: str
    type: str
    param: str | None
    code: str | None
    n_prompt_tokens: int | UnsetType = UNSET
    n_ctx: int | UnsetType = UNSET


class ErrorReply(msgspec.Struct):
    error: ErrorDetail
