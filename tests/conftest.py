"""What holds for all tests."""

import sys

import pytest
from hypothesis import settings

# No test is about time, and a busy machine is slow now and then.
settings.register_profile("hubserve", deadline=None)
settings.load_profile("hubserve")


def pytest_unconfigure(config: pytest.Config) -> None:
    """llama_cpp opens two files when it is imported, and Python complains at its end of them."""
    if library := sys.modules.get("llama_cpp._utils"):
        for file in (library.outnull_file, library.errnull_file):
            file.close()
