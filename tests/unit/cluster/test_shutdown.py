"""Ending a cluster from outside, whether it runs, ignores the wish, or was killed."""

import asyncio
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from mockkube.cluster.shutdown import stop_cluster
from mockkube.cluster.state.kubeconfig import KubeconfigEntries, render_kubeconfig
from mockkube.cluster.state.kubeconfig_contexts import KubeconfigContexts
from mockkube.cluster.state.state_directory import StateDirectory
from mockkube.runtime.clock import RealClock

HOLDER = """
import signal, sys
from pathlib import Path
from mockkube.cluster.state.state_directory import StateDirectory, StateLock
if sys.argv[2] == "stubborn":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
with StateLock(StateDirectory(Path(sys.argv[1]))):
    print("locked", flush=True)
    signal.pause()
"""


@pytest.fixture
def directory(tmp_path: Path) -> StateDirectory:
    return StateDirectory(tmp_path / "lab")


class Holders:
    """Processes that hold the lock of a directory."""

    def __init__(self, directory: StateDirectory) -> None:
        self.directory = directory
        self.processes: list[subprocess.Popen[str]] = []

    def start(self, manner: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", HOLDER, str(self.directory.path), manner]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.processes.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "locked\n"
        return process


@pytest.fixture
def holders(directory: StateDirectory) -> Iterator[Holders]:
    holders = Holders(directory)
    yield holders
    for process in holders.processes:
        process.kill()
        process.communicate()


def ended(directory: StateDirectory, *, wait_seconds: float = 20) -> bool:
    return asyncio.run(stop_cluster(directory, clock=RealClock(), wait_seconds=wait_seconds))


def test_a_running_cluster_is_asked_to_end_and_waited_for(directory: StateDirectory, holders: Holders) -> None:
    process = holders.start("obedient")
    assert ended(directory)
    assert directory.find_holder_pid() is None
    assert process.wait() == -signal.SIGTERM


def test_one_that_does_not_end_is_given_up_and_left_alone(directory: StateDirectory, holders: Holders) -> None:
    process = holders.start("stubborn")
    with pytest.raises(TimeoutError):
        ended(directory, wait_seconds=0.05)
    assert directory.find_holder_pid() == process.pid


def test_one_that_does_not_run_is_no_error(directory: StateDirectory) -> None:
    assert not ended(directory)


def test_what_a_killed_cluster_left_in_kubeconfigs_is_taken_out(directory: StateDirectory, tmp_path: Path) -> None:
    directory.path.mkdir()
    directory.kubeconfig.write_text(render_kubeconfig(KubeconfigEntries("lab", "http://127.0.0.1:1")))
    path = tmp_path / "config"
    asyncio.run(KubeconfigContexts(directory, RealClock()).add(path, set_context=True))
    assert not ended(directory)
    config = yaml.safe_load(path.read_text())
    assert (config["clusters"], config["contexts"], config["current-context"]) == ([], [], "")
    assert not directory.merged.exists()


def test_merging_twice_remembers_the_context_before_the_first(directory: StateDirectory, tmp_path: Path) -> None:
    directory.path.mkdir()
    directory.kubeconfig.write_text(render_kubeconfig(KubeconfigEntries("lab", "http://127.0.0.1:1")))
    path = tmp_path / "config"
    path.write_text("contexts: [{name: prod, context: {}}]\ncurrent-context: prod\n")
    for _ in range(2):
        asyncio.run(KubeconfigContexts(directory, RealClock()).add(path, set_context=True))
    assert json.loads(directory.merged.read_text()) == {str(path): "prod"}
    ended(directory)
    assert yaml.safe_load(path.read_text())["current-context"] == "prod"


def test_a_kubeconfig_that_was_broken_since_then_does_not_hold_up_the_end(
    directory: StateDirectory, tmp_path: Path
) -> None:
    directory.path.mkdir()
    directory.merged.write_text(json.dumps({str(tmp_path / "config"): None}))
    (tmp_path / "config").write_text("{")
    assert not ended(directory)
    assert (tmp_path / "config").read_text() == "{"


STOPS_BY_ITSELF = """
import asyncio
from contextlib import asynccontextmanager
from mockkube.cluster.foreground import run_until_signal

@asynccontextmanager
async def serve():
    task = asyncio.current_task()
    yield lambda: asyncio.get_running_loop().call_later(0, task.cancel)

run_until_signal(serve, lambda cancel: cancel())
"""


def test_a_server_that_stops_by_itself_has_failed() -> None:
    ended = subprocess.run([sys.executable, "-c", STOPS_BY_ITSELF], capture_output=True, text=True, timeout=60)
    assert ended.returncode == 1
    assert "RuntimeError: the server has stopped by itself" in ended.stderr
