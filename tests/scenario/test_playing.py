"""Scenarios, played on whole clusters in virtual time."""

from pathlib import Path

import pytest

from mockkube.scenario.runner.loading import load, parse
from mockkube.scenario.runner.results import RunOutcome, RunResult
from mockkube.scenario.runner.scenario_runner import RunOptions, ScenarioRun, play

HEAD = "apiVersion: mockkube.dev/v1alpha1\nkind: Scenario\nmetadata: {name: s}\nspec:\n"
BARE = "  cluster: {without: [scheduler, controllers, kubelets]}\n"


async def played(text: str, *, seed: int = 0, path: Path = Path("s.yaml")) -> RunResult:
    [scenario] = parse(HEAD + text, path)
    return await play(ScenarioRun(scenario, seed), RunOptions(keeps_trace=True))


async def test_what_is_caught_is_played_after_a_failure_and_the_end_in_any_case() -> None:
    result = await played(
        BARE
        + """
  steps:
  - name: b
    try:
    - assert: {timeout: 1s, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: none}}}
    - settle:
    catch:
    - advance: 2s
    finally:
    - advance: 4s
  - settle:
"""
    )
    assert [(step.verb, step.outcome.value) for step in result.steps] == [
        ("assert", "failed"),
        ("advance", "passed"),
        ("advance", "passed"),
    ]
    assert (result.outcome, result.virtual_seconds) == (RunOutcome.FAILED, 7.0)
    assert "ConfigMap none: not found" in result.message


async def test_a_pod_is_scheduled_and_runs_and_the_same_seed_does_the_same() -> None:
    text = """
  cluster: {nodes: 2}
  order: shuffled
  steps:
  - create: {apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, image: i}]}}
  - assert: {apiVersion: v1, kind: Pod, metadata: {name: p}, status: {phase: Running}}
  - expectEvent: {reason: Scheduled, about: {name: p}}
  - advance: 60s
"""
    one, two, other = [await played(text, seed=seed) for seed in (5, 5, 6)]
    assert (one.outcome, one.message) == (RunOutcome.PASSED, "")
    assert one.trace == two.trace
    assert one.trace != other.trace


async def test_gates_flip_and_what_is_refused_is_told_in_upstreams_words() -> None:
    result = await played(
        BARE
        + """
  steps:
  - expectRejected:
      create: &pod
        apiVersion: v1
        kind: Pod
        metadata: {name: p}
        spec:
          containers: [{name: c, image: i}]
          tolerations: [{key: sla, operator: Gt, value: "900", effect: NoSchedule}]
      code: 422
      reason: Invalid
      message: "spec.tolerations[0].operator"
  - component: {name: kube-apiserver, featureGates: {TaintTolerationComparisonOperators: true}}
  - create: *pod
  - component: {name: kube-apiserver, featureGates: {SidecarContainers: false}, refused: feature is locked to true}
  - component: {name: kube-scheduler, version: "1.33", running: true, warns: "1.33"}
"""
    )
    assert (result.outcome, result.message) == (RunOutcome.PASSED, "")


async def test_faults_strike_and_end() -> None:
    result = await played(
        """
  cluster: {nodes: 1}
  steps:
  - fault:
      name: no-binding
      match: {component: kube-scheduler, verbs: [create], resources: [pods/binding]}
      inject: {status: {code: 503, message: etcd is slow today}}
  - create: {apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, image: i}]}}
  - advance: 30s
  - assert: {timeout: 0s, resource: {apiVersion: v1, kind: Pod, metadata: {name: p}, status: {phase: Pending}}}
  - fault: {name: no-binding, end: true}
  - assert: {timeout: 2m, resource: {apiVersion: v1, kind: Pod, metadata: {name: p}, status: {phase: Running}}}
"""
    )
    assert (result.outcome, result.message) == (RunOutcome.PASSED, "")


async def test_a_snapshot_brings_everything_back() -> None:
    result = await played(
        """
  cluster: {nodes: 1}
  steps:
  - create: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {k: before}}
  - snapshot: then
  - update: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {k: between}}
  - patch: {ref: configmap/a, patch: {data: {k: after}}}
  - component: {name: kube-scheduler, version: "1.35"}
  - restore: then
  - assert: {timeout: 0s, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {k: before}}}
  - assert:
      apiVersion: control.mockkube.dev/v1alpha1
      kind: Component
      metadata: {name: kube-scheduler}
      spec: {version: "1.36"}
  - create: {apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, image: i}]}}
  - assert: {apiVersion: v1, kind: Pod, metadata: {name: p}, status: {phase: Running}}
"""
    )
    assert (result.outcome, result.message) == (RunOutcome.PASSED, "")


async def test_outputs_bind_names(tmp_path: Path) -> None:
    result = await played(
        BARE
        + """
  steps:
  - create:
      resource: {apiVersion: v1, kind: ConfigMap, metadata: {generateName: a-}, data: {k: v}}
      outputs: [{name: made, value: (metadata.name)}]
  - script: {content: 'echo "$MOCKKUBE_MADE"', outputs: [{name: said, value: ($stdout)}]}
  - assert: {apiVersion: v1, kind: ConfigMap, metadata: {name: ($said)}, data: {k: v}}
  - create:
      resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: ($made)}}
      expect: [{check: {($error != null): true}}]
""",
        path=tmp_path / "s.yaml",
    )
    assert (result.outcome, result.message) == (RunOutcome.PASSED, "")


async def test_kubectl_is_built_in() -> None:
    result = await played(
        """
  cluster: {nodes: 2}
  steps:
  - kubectl: label node node-1 zone=a
  - kubectl: {command: label node node-1 zone=b, refused: "already has a value (a), and --overwrite is false"}
  - kubectl: cordon node-2
  - apply:
      apiVersion: apps/v1
      kind: Deployment
      metadata: {name: web}
      spec:
        selector: {matchLabels: {app: web}}
        template:
          metadata: {labels: {app: web}}
          spec: {containers: [{name: c, image: i}]}
  - kubectl: {command: rollout status deployment/web, prints: successfully rolled out}
  - kubectl: scale deployment web --replicas=2
  - wait: {kind: pods, selector: app=web, for: {condition: {name: Ready}}}
  - kubectl: {command: "get pods -l app=web -o jsonpath={.items[*].spec.nodeName}", prints: node-1 node-1}
  - kubectl: taint nodes node-1 broken=yes:NoExecute
  - advance: 1s
  - kubectl: {command: "get pods -l app=web -o jsonpath={.items[*].status.phase}", prints: Pending}
  - kubectl: taint nodes node-1 broken-
  - kubectl: delete deployment web
  - error: {timeout: 2m, resource: {apiVersion: v1, kind: Pod, metadata: {labels: {app: web}}}}
"""
    )
    assert (result.outcome, result.message) == (RunOutcome.PASSED, "")


async def test_why_a_pod_waits_depends_on_the_configuration_of_the_scheduler() -> None:
    result = await played(
        """
  cluster:
    nodes: 1
    components:
      kube-scheduler:
        flags:
          config:
            apiVersion: kubescheduler.config.k8s.io/v1
            kind: KubeSchedulerConfiguration
            profiles:
            - {schedulerName: default-scheduler, plugins: {multiPoint: {disabled: [{name: TaintToleration}]}}}
            - {schedulerName: usual}
  steps:
  - taint: node-1 sla=100:NoSchedule
  - create: {apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, image: i}]}}
  - expectWhy: {pod: p, node: node-1, stoppedBy: ""}
  - create:
      apiVersion: v1
      kind: Pod
      metadata: {name: q}
      spec: {schedulerName: usual, containers: [{name: c, image: i}]}
  - expectWhy: {pod: q, node: "", refusedBy: TaintToleration, stoppedBy: kube-scheduler, obstacle: does not place it}
"""
    )
    assert (result.outcome, result.message) == (RunOutcome.PASSED, "")


async def test_why_other_components_stop_pods_is_claimed() -> None:
    result = await played(
        """
  cluster: {nodes: 1}
  steps:
  - create:
      apiVersion: v1
      kind: Pod
      metadata: {name: refused}
      spec: {nodeName: node-1, nodeSelector: {no: such}, containers: [{name: c, image: i}]}
  - expectWhy: {pod: refused, stoppedBy: kubelet, obstacle: NodeAffinity, deed: rejected it on node-1}
  - create: {apiVersion: v1, kind: Pod, metadata: {name: evicted}, spec: {containers: [{name: c, image: i}]}}
  - settle:
  - taint: node-1 broken=yes:NoExecute
  - expectWhy: {pod: evicted, deed: evicted it, contains: [taint-eviction-controller]}
"""
    )
    assert (result.outcome, result.message) == (RunOutcome.PASSED, "")


@pytest.mark.parametrize(
    ("check", "told"),
    [
        pytest.param("stoppedBy: kubelet", "stopped by kube-scheduler instead of kubelet", id="component"),
        pytest.param('stoppedBy: ""', "stopped by kube-scheduler instead of nothing", id="nothing"),
        pytest.param("obstacle: volume", "lacks 'volume'", id="obstacle"),
        pytest.param("deed: evicted", "no component has done 'evicted'", id="deed"),
    ],
)
async def test_a_wrong_claim_of_why_fails(check: str, told: str) -> None:
    pod = "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, image: i}]}}"
    result = await played(f"  steps:\n  - create: {pod}\n  - expectWhy: {{pod: p, {check}}}\n")
    assert result.outcome is RunOutcome.FAILED
    assert told in result.message


async def test_why_a_pod_waits_is_claimed() -> None:
    result = await played(
        """
  cluster: {nodes: 1}
  steps:
  - taint: node-1 sla=100:NoSchedule
  - create: {apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, image: i}]}}
  - expectWhy: {pod: p, node: "", refusedBy: TaintToleration, on: node-1, whatIf: [{kind: taint}, {kind: toleration}]}
  - expectMetric: {component: kube-scheduler, name: scheduler_pending_pods, labels: {queue: unschedulable}, value: 1}
"""
    )
    assert (result.outcome, result.message) == (RunOutcome.PASSED, "")


@pytest.mark.parametrize(
    ("steps", "outcome", "told"),
    [
        pytest.param("  - script: exit 3", RunOutcome.FAILED, "exit status 3", id="a program that fails"),
        pytest.param("  - advance: ($none)", RunOutcome.FAILED, "$none is not bound", id="a name that is not bound"),
        pytest.param(
            "  - script: {content: sleep 60, timeout: 0.1s}", RunOutcome.TIMED_OUT, "did not end within", id="real time"
        ),
        pytest.param("  - restart: kubelet.x", RunOutcome.FAILED, '"kubelet.x" not found', id="no such component"),
        pytest.param("  - kubectl: exec p -- ls", RunOutcome.FAILED, "exec is not built in", id="no such command"),
    ],
)
async def test_how_runs_end(steps: str, outcome: RunOutcome, told: str, tmp_path: Path) -> None:
    result = await played(f"{BARE}  steps:\n{steps}\n", path=tmp_path / "s.yaml")
    assert result.outcome is outcome
    assert told in result.message


async def test_a_chainsaw_test_is_played_unchanged() -> None:
    [scenario] = load(Path(__file__).parent / "chainsaw-test.yaml")
    result = await play(ScenarioRun(scenario))
    assert (result.outcome, result.message) == (RunOutcome.PASSED, "")
    assert result.virtual_seconds >= 5


async def test_the_clock_of_the_control_api_moves_virtual_time() -> None:
    result = await played(
        BARE
        + """
  steps:
  - patch: {ref: Clock/cluster, type: merge, patch: {spec: {advance: 5m}}}
  - advance: 10s
  - assert:
      apiVersion: control.mockkube.dev/v1alpha1
      kind: Clock
      metadata: {name: cluster}
      status:
        now: "2030-01-01T00:05:00Z"
        "(conditions[?type=='AtRest'].status)": ["True"]
"""
    )
    assert (result.outcome, result.message, result.virtual_seconds) == (RunOutcome.PASSED, "", 310.0)


async def test_what_holds_of_several_objects_together_is_claimed_by_get() -> None:
    text = (
        BARE
        + """
  vars: {map: {apiVersion: v1, kind: ConfigMap, metadata: {generateName: c-, labels: {app: x}}}}
  steps:
  - create: {resource: ($map)}
  - get: {kind: ConfigMap, labels: {app: x}, outputs: [{name: first, value: "(items[].metadata.uid)"}]}
  - create: {resource: ($map)}
  - get:
      kind: ConfigMap
      labels: {app: x}
      expect:
      - check: {"(length(items[?contains($first, metadata.uid)]) == `1` && length(items) == `COUNT`)": true}
"""
    )
    assert (await played(text.replace("COUNT", "2"))).message == ""
    assert (await played(text.replace("COUNT", "3"))).outcome is RunOutcome.FAILED


async def test_events_are_claimed_by_how_the_name_of_their_object_begins() -> None:
    text = """
  cluster: {nodes: 1}
  steps:
  - create: {apiVersion: v1, kind: Pod, metadata: {name: web-1}, spec: {containers: [{name: c, image: i}]}}
  - expectEvent: {reason: Scheduled, about: {kind: Pod, name: "NAME"}, timeout: 0s}
"""
    assert (await played(text.replace("NAME", "web-*"))).message == ""
    assert (await played(text.replace("NAME", "web"))).outcome is RunOutcome.FAILED


async def test_pods_evicted_over_and_over_are_made_as_fast_as_by_the_real_controllers() -> None:
    """Those of 1.36, told nothing of their pace, made 101 in 20 seconds."""
    result = await played("""
  cluster:
    featureGates: {TaintTolerationComparisonOperators: true}
    components:
      kube-controller-manager:
        featureGates: {TaintTolerationComparisonOperators: false}
        flags: {kube-api-qps: 20, kube-api-burst: 30}
    without: [kubelets]
    nodes: 1
  steps:
  - taint: node-1 sla=950:NoExecute
  - create:
      apiVersion: apps/v1
      kind: ReplicaSet
      metadata: {name: web}
      spec:
        replicas: 1
        selector: {matchLabels: {app: web}}
        template:
          metadata: {labels: {app: web}}
          spec:
            terminationGracePeriodSeconds: 0
            tolerations: [{key: sla, operator: Gt, value: "900", effect: NoExecute}]
            containers: [{name: main, image: i}]
  - advance: 20s
  - expectRate: {writes: core/pods, writeVerb: create, window: 20s, min: 290, max: 330}
""")
    assert (result.outcome, result.message) == (RunOutcome.PASSED, "")
