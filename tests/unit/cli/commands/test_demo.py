"""`mockkube demo`: its story, and the command as a user types it."""

import asyncio
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import aiohttp
import pytest

from mockkube.cli.demo.demo_cluster import SimulatedDemoCluster
from mockkube.cli.demo.example import NODES
from mockkube.cli.demo.guide import GuideStep, play
from mockkube.cluster.configuration.cluster_configuration import ClusterConfiguration
from mockkube.cluster.simulated_cluster import SimulatedCluster, SimulatedClusterConfig

if TYPE_CHECKING:
    from mockkube.explore.exploration import Exploration

STEPS_BEFORE_EXPLORATION = 5


def refuse() -> "Exploration":
    raise AssertionError("the orders are not explored here")


async def play_first_steps() -> list[GuideStep]:
    """Play what comes before the exploration."""
    steps = []
    async with SimulatedCluster(SimulatedClusterConfig(ClusterConfiguration(nodes=NODES))) as cluster:
        guide = play(SimulatedDemoCluster(cluster), refuse)
        async for step in guide:
            steps.append(step)
            if len(steps) == STEPS_BEFORE_EXPLORATION:
                break
        await guide.aclose()  # type: ignore[attr-defined]
    return steps


async def test_a_gate_that_is_half_on_evicts_pods_and_the_reason_is_found() -> None:
    *_, deployed, waited, explained = await play_first_steps()
    assert "created" in deployed.lines[0]
    evicted = re.search(r"(\d+) pods have been started and evicted", waited.title)
    assert evicted is not None
    assert int(evicted[1]) > 20
    assert any("kube-controller-manager evicts it at once" in line for line in explained.lines)
    assert any("gate" in line and "kube-controller-manager" in line for line in explained.lines)


@pytest.mark.slow
def test_it_plays_without_kubectl_and_finds_the_safe_orders(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mockkube.cli", "demo"]
    environment = {"PATH": str(tmp_path), "HOME": str(tmp_path)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=110, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "`kube-apiserver` last" not in done.stdout
    assert "kube-apiserver last; the other two in any order" in done.stdout
    assert done.stdout.count("   unsafe") == 4
    assert "no evictions in the minute after" in done.stdout
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
async def test_its_page_answers_until_the_command_is_interrupted(tmp_path: Path) -> None:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "mockkube.cli", "demo", "--ui"),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={"PATH": "", "HOME": str(tmp_path)},
    )  # fmt: skip
    assert process.stdout is not None
    first = (await process.stdout.readline()).decode()
    link = re.search(r"http://\S+", first)
    assert link is not None, first
    async with aiohttp.ClientSession() as session, session.get(link[0].partition("#")[0]) as response:
        assert response.status == 200
    # Interrupted between two steps.
    while b"2. Pods that compare" not in await process.stdout.readline():
        pass
    process.send_signal(signal.SIGINT)
    _, errors = await process.communicate()
    assert (process.returncode, errors) == (0, b"")
