"""What holds for all tests."""

import os
import shutil
import sys
import tempfile

import pytest
from hypothesis import settings

from hubserve_engine.config import CACHE_VARIABLE

# No test is about time, and a busy machine is slow now and then.
settings.register_profile("hubserve", deadline=None)
settings.load_profile("hubserve")


def pytest_configure(config: pytest.Config) -> None:
    """No server that a test starts leaves prefixes in the user's own cache."""
    os.environ[CACHE_VARIABLE] = tempfile.mkdtemp(prefix="hubserve-tests-")


def pytest_unconfigure(config: pytest.Config) -> None:
    """llama_cpp opens two files when it is imported, and Python complains at its end of them."""
    shutil.rmtree(os.environ[CACHE_VARIABLE], ignore_errors=True)
    if library := sys.modules.get("llama_cpp._utils"):
        for file in (library.outnull_file, library.errnull_file):
            file.close()
