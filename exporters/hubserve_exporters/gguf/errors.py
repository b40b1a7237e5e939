"""The one error of this package."""


class GGUFError(ValueError):
    """A file is not a GGUF file that can be used; the message says where and why in one sentence.

    It is also raised where a metadata key holds another type than the caller asked for.
    """
