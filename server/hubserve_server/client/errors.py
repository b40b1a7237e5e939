"""What ends a command that asks servers."""

FAILED, ENDED = 1, 143
"""Exit codes: a server cannot be asked, or does not do well; SIGTERM came, as shells have it."""


class CommandError(Exception):
    """The message is one sentence for the user: what went wrong, and where there is one, the next
    step."""


class Refused(CommandError):
    """A server answered, but with an error, or with what is no answer."""
