"""kubectl drain in scenarios: it evicts, waits, and refuses in kubectl's words."""

from mockkube.scenario.runner.loading import parse
from mockkube.scenario.runner.results import RunOutcome
from mockkube.scenario.runner.scenario_runner import ScenarioRun, play

SCENARIO = """\
apiVersion: mockkube.dev/v1alpha1
kind: Scenario
metadata: {name: drain}
spec:
  cluster: {nodes: 2}
  steps:
  - create:
      apiVersion: apps/v1
      kind: Deployment
      metadata: {name: w}
      spec:
        replicas: 2
        selector: {matchLabels: {app: w}}
        template: {metadata: {labels: {app: w}}, spec: {containers: [{name: c, image: i}]}}
  - create:
      apiVersion: v1
      kind: Pod
      metadata: {name: bare}
      spec: {nodeName: node-1, containers: [{name: c, image: i}]}
  - settle: {}
  - kubectl:
      command: drain node-1 --ignore-daemonsets
      refused: "cannot delete Pods that declare no controller (use --force to override): default/bare"
  - kubectl: {command: drain node-1 --ignore-daemonsets --force, prints: node/node-1 drained}
  - error: {apiVersion: v1, kind: Pod, spec: {nodeName: node-1}}
  - assert: {apiVersion: apps/v1, kind: Deployment, metadata: {name: w}, status: {readyReplicas: 2}}
  - create:
      apiVersion: policy/v1
      kind: PodDisruptionBudget
      metadata: {name: w}
      spec: {minAvailable: 2, selector: {matchLabels: {app: w}}}
  - settle: {}
  - kubectl: {command: drain node-2, refused: Cannot evict pod as it would violate the pod's disruption budget}
"""


async def test_a_node_is_drained_as_far_as_budgets_and_flags_allow() -> None:
    [scenario] = parse(SCENARIO)
    result = await play(ScenarioRun(scenario))
    assert (result.outcome, result.message) == (RunOutcome.PASSED, "")
