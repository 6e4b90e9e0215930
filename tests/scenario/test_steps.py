"""Steps on whole clusters: copies of manifests, scans, kubectl's queries, API servers that are down."""

from pathlib import Path

import pytest

from mockkube.scenario.runner.loading import parse
from mockkube.scenario.runner.results import RunOutcome, RunResult
from mockkube.scenario.runner.scenario_runner import RunOptions, ScenarioRun, play

_HEAD = "apiVersion: mockkube.dev/v1alpha1\nkind: Scenario\nmetadata: {name: s}\nspec:\n"


async def _played(text: str) -> RunResult:
    [scenario] = parse(_HEAD + text, Path("s.yaml"))
    return await play(ScenarioRun(scenario), RunOptions())


async def test_copies_are_counted_from_zero_in_every_place() -> None:
    result = await _played("""
  cluster: {without: [scheduler, controllers, kubelets]}
  steps:
  - create:
      copies: 3
      resource:
        apiVersion: v1
        kind: Node
        metadata: {name: node-($index), labels: {zone: zone-($index)}}
        spec: {taints: [{key: sla, value: (to_string($index)), effect: NoSchedule}]}
  - kubectl:
      command: >-
        get nodes -o jsonpath='{range .items[*]}{.metadata.name}{.metadata.labels.zone}{.spec.taints[*].value} {end}'
      output: "node-0zone-00 node-1zone-11 node-2zone-22 "
""")
    assert (result.outcome, result.message) == (RunOutcome.PASSED, "")


_POD = """
  - create:
      apiVersion: v1
      kind: Pod
      metadata: {name: numeric}
      spec:
        containers: [{name: c, image: i}]
        tolerations: [{key: sla, operator: Gt, value: "900", effect: NoSchedule}]
"""
_GATED = f"\n  cluster: {{featureGates: {{TaintTolerationComparisonOperators: true}}}}\n  steps:{_POD}"


@pytest.mark.parametrize(
    ("scan", "message"),
    [
        pytest.param("featureGates: {TaintTolerationComparisonOperators: false}", "", id="anything"),
        pytest.param(
            "featureGates: {TaintTolerationComparisonOperators: false}, "
            "finds: [{component: kube-scheduler, kind: Pod, name: numeric, field: 'tolerations[0]', reason: Pending}]",
            "",
            id="a finding",
        ),
        pytest.param("to: '1.34', finds: [{component: kube-apiserver, name: numeric}]", "", id="older version"),
        pytest.param(
            "featureGates: {TaintTolerationComparisonOperators: false}, components: [kubelet], count: 0",
            "",
            id="a component that does not care",
        ),
        pytest.param(
            "featureGates: {TaintTolerationComparisonOperators: false}, spares: [{name: numeric}]",
            "it finds ExpectedFinding",
            id="what is not to be found",
        ),
        pytest.param(
            "featureGates: {TaintTolerationComparisonOperators: false}, finds: [{name: other}]",
            "it does not find",
            id="what is missing",
        ),
        pytest.param(
            "featureGates: {TaintTolerationComparisonOperators: false}, count: 99", "instead of 99", id="count"
        ),
        pytest.param("featureGates: {NoSuchGate: false}", "NoSuchGate", id="unknown gate"),
    ],
)
async def test_a_scan_compares_what_it_finds(scan: str, message: str) -> None:
    result = await _played(f"{_GATED}  - scan: {{{scan}}}\n")
    assert (result.outcome is RunOutcome.PASSED) is (not message)
    assert message in result.message


async def test_the_output_of_kubectl_goes_through_grep() -> None:
    query = '{range .items[*]}{.metadata.name}{": "}{.spec.tolerations[?(@.operator=="%s")].value}{"\\n"}{end}'
    steps = "".join(
        f"""
  - kubectl:
      command: >-
        get pods -A -o jsonpath='{query % operator}' | grep -v "^[^:]*: *$"
      output: "{printed}"
      lacks: [plain]
"""
        for operator, printed in (("Gt", "numeric: 900"), ("Lt", ""))
    )
    plain = (
        "\n  - create: {apiVersion: v1, kind: Pod, metadata: {name: plain}, spec: {containers: [{name: c, image: i}]}}"
    )
    result = await _played(_GATED + plain + steps)
    assert (result.outcome, result.message) == (RunOutcome.PASSED, "")


async def test_an_api_server_that_is_down_is_missed_and_found_again() -> None:
    result = await _played("""
  cluster: {nodes: 1}
  steps:
  - create:
      &pod
      apiVersion: v1
      kind: Pod
      metadata: {name: web}
      spec: {schedulingGates: [{name: held}], containers: [{name: c, image: i}]}
  - component: {name: kube-apiserver, running: false}
  - expectRejected: {create: {<<: *pod, metadata: {name: q}}, code: 503}
  - advance: 1m
  - component: {name: kube-apiserver, running: true}
  - patch: {ref: pod/web, patch: {spec: {schedulingGates: []}}}
  - assert: {apiVersion: v1, kind: Pod, metadata: {name: web}, status: {phase: Running}}
""")
    assert (result.outcome, result.message) == (RunOutcome.PASSED, "")
