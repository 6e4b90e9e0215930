"""Step `customController`: a controller keeps pods for each object of a custom resource."""

from pathlib import Path

from mockkube.scenario.runner.loading import parse
from mockkube.scenario.runner.results import RunOutcome, RunResult
from mockkube.scenario.runner.scenario_runner import RunOptions, ScenarioRun, play

_START = """
apiVersion: mockkube.dev/v1alpha1
kind: Scenario
metadata: {name: s}
spec:
  cluster: {version: "1.36"}
  steps:
  - customController: {kind: Training}
  - create:
      apiVersion: example.com/v1
      kind: Training
      metadata: {name: t}
      spec:
        replicas: 2
        template:
          metadata: {labels: {app: t}}
          spec: {terminationGracePeriodSeconds: 0, containers: [{name: main, image: i}]}
  - advance: 1s
"""


async def _played(steps: str) -> RunResult:
    [scenario] = parse(_START + steps, Path("s.yaml"))
    return await play(ScenarioRun(scenario), RunOptions())


def _pods(names: str) -> str:
    return f"""
  - get: {{kind: Pod, labels: {{app: t}}, expect: [{{check: {{"(sort(items[*].metadata.name))": [{names}]}}}}]}}
"""


async def test_the_pods_follow_the_object() -> None:
    result = await _played(
        _pods("t-0, t-1")
        + "  - delete: {ref: Pod/t-1, wait: false}"
        + _pods("t-0, t-1")
        + "  - patch: {ref: Training/t, patch: {spec: {replicas: 1}}}"
        + _pods("t-0")
        + "  - delete: {ref: Training/t}"
        + _pods("")
    )
    assert (result.outcome, result.message) == (RunOutcome.PASSED, "")


async def test_the_template_is_validated_in_the_pods_only_and_tried_again_with_backoff() -> None:
    patch = "{spec: {replicas: 1, template: {spec: {tolerations: [{key: sla, operator: Gt, value: '900'}]}}}}"
    result = await _played(
        f"  - patch: {{ref: Training/t, patch: {patch}}}"
        + _pods("")
        + """
  - expectEvent: {about: {kind: Training, name: t}, reason: FailedCreate, message: 'spec.tolerations[0].operator'}
  - component: {name: kube-apiserver, featureGates: {TaintTolerationComparisonOperators: true}}
  - advance: 60s
"""
        + _pods("t-0")
    )
    assert (result.outcome, result.message) == (RunOutcome.PASSED, "")


async def test_a_pod_that_has_ended_is_replaced() -> None:
    result = await _played(
        """
  - patch: {ref: Pod/t-0, subresource: status, patch: {status: {phase: Failed}}}
  - advance: 1s
"""
        + _pods("t-0, t-1")
    )
    assert (result.outcome, result.message) == (RunOutcome.PASSED, "")


async def test_the_step_again_changes_nothing() -> None:
    result = await _played("  - customController: {kind: Training}" + _pods("t-0, t-1"))
    assert (result.outcome, result.message) == (RunOutcome.PASSED, "")
