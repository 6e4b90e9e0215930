"""The programs of how-to guides for other tools run as they are written there, where the tool is at hand."""

import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

pytestmark = [pytest.mark.heavy, pytest.mark.slow, pytest.mark.timeout(300)]

HOW_TO = Path(__file__).parents[2] / "docs" / "how-to"
_FILE = re.compile(r"`([\w.]+)`:\n\n( *)```\w+\n(.*?)^\2```$", re.MULTILINE | re.DOTALL)


def write_files(page: str, folder: Path) -> set[str]:
    """Write the files that a page shows; return their names."""
    files = {name: textwrap.dedent(text) for name, _, text in _FILE.findall((HOW_TO / page).read_text())}
    for name, text in files.items():
        (folder / name).write_text(text)
    return set(files)


def run(command: list[str], folder: Path) -> "subprocess.CompletedProcess[str]":
    """Run a command with mockkube on the path and an empty home."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "HOME": str(folder)}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.skipif(not shutil.which("npm"), reason="no Node and npm on the path")
def test_javascript(tmp_path: Path) -> None:
    assert write_files("test-in-javascript.md", tmp_path) == {"cluster.mjs", "deployment.test.mjs"}
    version = int(run(["node", "--version"], tmp_path).stdout.strip("v\n").partition(".")[0])
    if version < 20:
        pytest.skip(f"Node {version} is too old for the official client")
    (tmp_path / "package.json").write_text('{"private": true}')
    client = "@kubernetes/client-node" if version >= 22 else "@kubernetes/client-node@1"
    installed = run(["npm", "install", "--no-audit", "--no-fund", client], tmp_path)
    if installed.returncode:
        pytest.skip(f"npm cannot install {client}: {installed.stderr.strip().splitlines()[-1]}")
    done = run(["node", "--test"], tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "# pass 1" in done.stdout or "pass 1" in done.stdout


def test_kopf(tmp_path: Path) -> None:
    pytest.importorskip("kopf", reason="kopf is not installed")
    assert write_files("test-a-kopf-operator.md", tmp_path) == {"greeter.py", "crd.yaml", "test_greeter.py"}
    done = run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_greeter.py"], tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
