"""The steps of action.yml as a runner runs them: what they install and start, later steps find in their environment."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kubernetes
import pytest
import yaml

from mockkube.client import kubeconfig

pytestmark = [pytest.mark.heavy, pytest.mark.timeout(300)]

ROOT = Path(__file__).parents[2]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text())


class Runner:
    """Runs steps of the action with inputs, in a folder of its own."""

    def __init__(self, folder: Path, **inputs: str) -> None:
        self.folder = folder
        self.inputs = {name: given["default"] for name, given in ACTION["inputs"].items()} | inputs
        self.files = {name: folder / name for name in ("GITHUB_ENV", "GITHUB_OUTPUT", "GITHUB_PATH")}
        for path in self.files.values():
            path.touch()

    def run(self, step: dict[str, Any]) -> "subprocess.CompletedProcess[str]":
        """Run the script of a step as `shell: bash` does."""
        environment = {
            **os.environ,
            **{name: str(path) for name, path in self.files.items()},
            **{name: self.expand(value) for name, value in step["env"].items()},
            "GITHUB_ACTION_PATH": str(ROOT),
            "RUNNER_TEMP": str(self.folder),
            "HOME": str(self.folder),
        }
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, cwd=self.folder)

    def expand(self, text: str) -> str:
        """Replace the expressions of inputs, the only ones that steps use."""
        return re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda match: self.inputs[match[1]], text)

    def values(self, name: str) -> dict[str, str]:
        """Return what steps wrote to a file of the runner."""
        return dict(line.split("=", 1) for line in self.files[name].read_text().splitlines())


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A folder in which the step that installs has run; the environment of these tests stands for its result."""
    (tmp_path / "mockkube").mkdir()
    (tmp_path / "mockkube" / "bin").symlink_to(Path(sys.executable).parent)
    return tmp_path


@pytest.fixture
def stopped(installed: Path) -> Iterator[None]:
    yield
    ready = installed / "mockkube-run" / "ready.json"
    if ready.exists():
        os.kill(json.loads(ready.read_text())["pid"], signal.SIGTERM)


@pytest.mark.usefixtures("stopped")
def test_later_steps_find_the_cluster_and_the_assets(installed: Path) -> None:
    gates = "TaintTolerationComparisonOperators=true"
    runner = Runner(installed, version="1.35", nodes="2", **{"feature-gates": gates})
    done = runner.run(ACTION["runs"]["steps"][1])
    assert done.returncode == 0, done.stderr
    assert "is ready at https://127.0.0.1:" in done.stdout
    environment, outputs = runner.values("GITHUB_ENV"), runner.values("GITHUB_OUTPUT")
    assert outputs == {
        "kubeconfig": environment["KUBECONFIG"],
        "assets": environment["KUBEBUILDER_ASSETS"],
        "url": kubeconfig.load(Path(environment["KUBECONFIG"])).server,
    }
    assert {path.name for path in Path(outputs["assets"]).iterdir()} >= {"etcd", "kube-apiserver"}
    with kubernetes.config.new_client_from_config(environment["KUBECONFIG"]) as client:
        nodes = kubernetes.client.CoreV1Api(client).list_node().items
    assert [node.metadata.name for node in nodes] == ["node-1", "node-2"]


def test_a_cluster_that_does_not_start_fails_the_step_with_its_reason(installed: Path) -> None:
    done = Runner(installed, version="1.12").run(ACTION["runs"]["steps"][1])
    assert done.returncode == 1
    assert done.stdout.startswith("::error::mockkube: --version: version 1.12 is not supported")


def test_a_python_that_is_too_old_fails_with_the_remedy(tmp_path: Path) -> None:
    python = tmp_path / "python3"
    python.write_text('#!/bin/sh\n[ "$1" = --version ] && echo Python 3.9.2 || exit 1\n')
    python.chmod(0o755)
    done = Runner(tmp_path, python=str(python)).run(ACTION["runs"]["steps"][0])
    assert done.returncode == 1
    assert "mockkube needs Python 3.11 or newer" in done.stdout
    assert "add actions/setup-python" in done.stdout


def test_every_input_reaches_a_script_by_a_variable() -> None:
    steps = ACTION["runs"]["steps"]
    used = {name for step in steps for name in re.findall(r"inputs\.([\w-]+)", " ".join(step["env"].values()))}
    assert used == set(ACTION["inputs"])
    assert not any("${{" in step["run"] for step in steps)  # text of an input would run as code
