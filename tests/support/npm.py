"""Packages of npm that a test needs, in the versions of the lock file beside it."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import NoReturn

import pytest
from tests.support.process import SAFETY


def installed(folder: Path, package: str) -> Path:
    """The `node_modules` of `folder`, installed anew unless `package` is there in its version.

    Without npm, or where it fails, the test is skipped; in CI, as with models, it fails.
    """
    npm = shutil.which("npm")
    if npm is None:
        missing("npm is not installed")
    if _version(folder / f"node_modules/{package}/package.json", package) != _version(
        folder / "package-lock.json", package
    ):
        done = subprocess.run(
            [npm, "ci", "--no-audit", "--no-fund"],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=10 * SAFETY,
        )
        if done.returncode:
            missing(f"npm could not install {package}: {done.stderr}")
    return folder / "node_modules"


def node() -> str:
    found = shutil.which("node")
    return found or missing("Node is not installed")


def missing(reason: str) -> NoReturn:
    if os.environ.get("HUBSERVE_REQUIRE_MODELS"):
        pytest.fail(reason)
    pytest.skip(reason)


def _version(path: Path, package: str) -> str | None:
    """The version of a package, as it says itself or as a lock file does."""
    if not path.exists():
        return None
    content = json.loads(path.read_text())
    found: str = content.get("packages", {}).get(f"node_modules/{package}", content)["version"]
    return found
