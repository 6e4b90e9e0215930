"""Scenarios in real time: on a cluster with an address, and on one that runs already."""

from pathlib import Path

from mockkube.cluster.passing import configuration_of, passing_cluster
from mockkube.scenario.loading import parse
from mockkube.scenario.playing import Manner, Run, play
from mockkube.scenario.results import Outcome

SCENARIO = """
apiVersion: mockkube.dev/v1alpha1
kind: Scenario
metadata: {name: s}
spec:
  cluster: {nodes: 1}
  steps:
  - create: {apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, image: i}]}}
  - assert: {apiVersion: v1, kind: Pod, metadata: {name: p}, status: {phase: Running}}
  - component: {name: kube-scheduler, version: "1.35"}
  - snapshot: then
  - delete: pod/p
  - restore: then
  - assert: {apiVersion: v1, kind: Pod, metadata: {name: p}}
  - script: test -s "$KUBECONFIG"
  - expectRate: {max: 0}
"""


async def test_a_scenario_is_played_on_a_cluster_with_an_address(tmp_path: Path) -> None:
    [scenario] = parse(SCENARIO, tmp_path / "s.yaml")
    result = await play(Run(scenario), Manner(real_time=True))
    assert (result.outcome, result.message) == (Outcome.PASSED, "")
    assert [(step.verb, step.message) for step in result.steps if step.outcome is Outcome.SKIPPED] == [
        ("expectRate", "loops are counted in virtual time only")
    ]


async def test_a_scenario_is_played_on_a_cluster_that_runs(tmp_path: Path) -> None:
    [scenario] = parse(SCENARIO, tmp_path / "s.yaml")
    async with passing_cluster(configuration_of({"nodes": 1})) as running:
        result = await play(Run(scenario), Manner(against=str(running.kubeconfig)))
    assert (result.outcome, result.message) == (Outcome.PASSED, "")


async def test_a_kubeconfig_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    [scenario] = parse(SCENARIO, tmp_path / "s.yaml")
    result = await play(Run(scenario), Manner(against=str(tmp_path / "none")))
    assert result.outcome is Outcome.NOT_STARTED
    assert "give a file that can be read" in result.message
