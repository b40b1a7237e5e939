"""What ends a measurement."""


class BenchError(Exception):
    """The message is one sentence for the user: what went wrong, and where there is one, the next
    step."""
