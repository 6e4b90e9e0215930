"""One cluster for all clients, on a socket, with TLS and a token; and every kubectl that is at hand."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

KUBECTL_VERSIONS: Final = ("1.27", "1.28", "1.29", "1.30", "1.31", "1.32", "1.33")
_ENDS: Final = (KUBECTL_VERSIONS[0], KUBECTL_VERSIONS[-1])
_FOLDERS: Final = (*os.environ.get("PATH", "").split(os.pathsep), "/usr/lib/google-cloud-sdk/bin")
STOP_SECONDS_MAX: Final = 10


@dataclass(frozen=True, slots=True)
class RunningCluster:
    """Where a cluster is found, and the environment in which clients find it."""

    url: str
    token: str
    ca_file: str
    kubeconfig: str
    home: Path

    @property
    def environment(self) -> dict[str, str]:
        """Of this machine, but with a home and a kubeconfig of its own."""
        return {**os.environ, "HOME": str(self.home), "KUBECONFIG": self.kubeconfig, "XDG_STATE_HOME": str(self.home)}


@contextmanager
def run_cluster(home: Path, name: str, without: str) -> Iterator[RunningCluster]:
    """A cluster of two nodes without some components, in a process of its own."""
    ready = home / "ready.json"
    command = [sys.executable, "-m", "mockkube.cli", "up", "--port", "0", "--ephemeral", "--nodes", "2"]
    command += ["--without", without, "--name", name, "--ready-file", str(ready)]
    environment = {**os.environ, "HOME": str(home), "XDG_STATE_HOME": str(home)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment, cwd=home) as process:
        assert process.stdout is not None
        assert process.stdout.readline(), "the cluster did not start: see its errors above"
        fields = json.loads(ready.read_text())
        yield RunningCluster(fields["url"], fields["token"], fields["caFile"], fields["kubeconfig"], home)
        process.terminate()
        assert process.wait(STOP_SECONDS_MAX) == 0


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningCluster]:
    """A cluster without components."""
    with run_cluster(tmp_path_factory.mktemp("home"), "clients", "scheduler,controllers,kubelets") as running:
        yield running


@pytest.fixture(scope="session")
def cluster_with_kubelets(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningCluster]:
    """A cluster whose pods run."""
    with run_cluster(tmp_path_factory.mktemp("home"), "streams", "controllers") as running:
        yield running


def find_kubectl(version: str) -> str | None:
    """The path of a kubectl of this minor version: `kubectl.1.30`, or a plain `kubectl` that says it is one."""
    for folder in _FOLDERS:
        if path := shutil.which(f"kubectl.{version}", path=folder):
            return path
    plain = shutil.which("kubectl")
    if plain is None:
        return None
    said = subprocess.run([plain, "version", "--client"], capture_output=True, text=True, check=False).stdout
    return plain if re.search(rf"v{re.escape(version)}\.\d+(?!\S*dispatcher)", said) else None


@dataclass(frozen=True, slots=True)
class Kubectl:
    """A kubectl that works in one namespace of the cluster, or in that of each object when it has none."""

    path: str
    version: tuple[int, int]
    namespace: str
    environment: dict[str, str]

    def run(self, *arguments: str, given: Any = None) -> "subprocess.CompletedProcess[str]":
        """What it says and how it ends; what is given stands on its input, as JSON if it is not text."""
        text = given if given is None or isinstance(given, str) else json.dumps(given)
        place = ["--namespace", self.namespace] if self.namespace else []
        command = [self.path, *place, *arguments]
        return subprocess.run(
            command, input=text, capture_output=True, text=True, check=False, env=self.environment, timeout=30
        )

    def __call__(self, *arguments: str, given: Any = None) -> str:
        """What it says when all goes well, which it must."""
        done = self.run(*arguments, given=given)
        assert done.returncode == 0, f"kubectl {' '.join(arguments)}: {done.stdout}{done.stderr}"
        return done.stdout

    def json(self, *arguments: str) -> Any:
        """What it shows as JSON."""
        return json.loads(self(*arguments, "--output", "json"))


@pytest.fixture(
    scope="session",
    params=[pytest.param(one, marks=() if one in _ENDS else pytest.mark.slow) for one in KUBECTL_VERSIONS],
    ids=KUBECTL_VERSIONS,
)
def kubectl_binary(request: pytest.FixtureRequest) -> tuple[str, str]:
    """Each version of kubectl and its path; skipped where it is not installed."""
    path = find_kubectl(request.param)
    if path is None:
        pytest.skip(f"no kubectl {request.param} on the path nor in /usr/lib/google-cloud-sdk/bin")
    return request.param, path


@pytest.fixture(scope="module")
def kubectl(kubectl_binary: tuple[str, str], cluster: RunningCluster, request: pytest.FixtureRequest) -> Kubectl:
    """A kubectl of each version, in a namespace of this module and version."""
    version, path = kubectl_binary
    major, minor = version.split(".")
    namespace = f"{request.module.__name__.rpartition('test_')[2].replace('_', '-')}-{major}-{minor}"
    made = Kubectl(path, (int(major), int(minor)), namespace, cluster.environment)
    made("apply", "-f", "-", given={"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    return made


@pytest.fixture(scope="session")
def newest_kubectl(cluster: RunningCluster) -> Kubectl:
    """The newest kubectl at hand, in no namespace of its own."""
    for version in reversed(KUBECTL_VERSIONS):
        if path := find_kubectl(version):
            major, minor = version.split(".")
            return Kubectl(path, (int(major), int(minor)), "", cluster.environment)
    pytest.skip(f"no kubectl from {KUBECTL_VERSIONS[0]} to {KUBECTL_VERSIONS[-1]} is installed")
