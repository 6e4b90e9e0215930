"""Scenarios in real time: on a cluster with an address, and on one that runs already."""

from pathlib import Path

from mockkube.cluster.temporary_cluster import make_temporary_configuration, run_temporary_cluster
from mockkube.scenario.runner.loading import parse
from mockkube.scenario.runner.results import RunOutcome
from mockkube.scenario.runner.scenario_runner import RunOptions, ScenarioRun, play

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
    result = await play(ScenarioRun(scenario), RunOptions(real_time=True))
    assert (result.outcome, result.message) == (RunOutcome.PASSED, "")
    assert [(step.verb, step.message) for step in result.steps if step.outcome is RunOutcome.SKIPPED] == [
        ("expectRate", "loops are counted in virtual time only")
    ]


async def test_a_scenario_is_played_on_a_cluster_that_runs(tmp_path: Path) -> None:
    [scenario] = parse(SCENARIO, tmp_path / "s.yaml")
    async with run_temporary_cluster(make_temporary_configuration({"nodes": 1})) as running:
        result = await play(ScenarioRun(scenario), RunOptions(against=str(running.kubeconfig)))
    assert (result.outcome, result.message) == (RunOutcome.PASSED, "")


async def test_a_kubeconfig_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    [scenario] = parse(SCENARIO, tmp_path / "s.yaml")
    result = await play(ScenarioRun(scenario), RunOptions(against=str(tmp_path / "none")))
    assert result.outcome is RunOutcome.NOT_STARTED
    assert "give a file that can be read" in result.message
