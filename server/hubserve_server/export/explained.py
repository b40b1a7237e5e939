"""Errors of the exporters as those that the command line tells in a line."""

from collections.abc import Iterator
from contextlib import contextmanager

from hubserve_engine.errors import StartError


@contextmanager
def explained() -> Iterator[None]:
    """Raises StartError for what the exporters raise, and what the system refuses."""
    from hubserve_exporters.errors import ExportError
    from hubserve_exporters.gguf.errors import GGUFError

    try:
        yield
    except (ExportError, GGUFError) as error:
        raise StartError(f"{str(error).rstrip('.')}.") from error
    except OSError as error:
        named = f"{error.filename}: " if error.filename else ""
        raise StartError(f"{named}{error.strerror or error}.") from error
