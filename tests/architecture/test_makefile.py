"""What make says when the Python that it is given will not do."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="no make on the path")


def refusal(tmp_path: Path, python: str) -> str:
    """Return what `make up` prints on standard error, which is nothing but its complaint and make's own line."""
    command = ["make", "up", f"PYTHON={python}", f"VENV={tmp_path / 'venv'}"]
    # these tests may run below make, of which this one is no part
    environment = {key: value for key, value in os.environ.items() if key not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    complaint, *rest = done.stderr.splitlines()
    assert all(line.startswith("make") for line in rest)
    return complaint


def test_a_python_that_is_missing_is_named(tmp_path: Path) -> None:
    assert refusal(tmp_path, "python3.99") == (
        "there is no 'python3.99': mockkube needs Python 3.11 or newer; give one with make PYTHON=/path/to/python3"
    )


def test_a_python_that_is_too_old_is_named_with_its_version(tmp_path: Path) -> None:
    python = tmp_path / "python3"
    python.write_text('#!/bin/sh\n[ "$1" = --version ] && echo Python 3.9.2 || exit 1\n')
    python.chmod(0o755)
    assert refusal(tmp_path, str(python)) == (
        f"'{python}' is Python 3.9.2, and mockkube needs Python 3.11 or newer: "
        "give one with make PYTHON=/path/to/python3"
    )
