"""Plans as users write them, each with the verdicts worked out by hand from the definitions in docs/explore.md.

A plan names its components by letter: A is the API server, S the scheduler, C the controller manager, K the kubelets.
The verdicts are written the same way: "SA safe, AS unsafe".
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
import yaml

from mockkube.explore import exploration, players
from mockkube.explore.counterexample_scenario import render_counterexample
from mockkube.explore.plans import loading
from mockkube.explore.plans.plan import Direction
from mockkube.scenario.runner.loading import parse as parse_scenario
from mockkube.scenario.runner.results import RunOutcome
from mockkube.scenario.runner.scenario_runner import ScenarioRun, play

Document = dict[str, Any]
COMPONENTS = {"A": "kube-apiserver", "S": "kube-scheduler", "C": "kube-controller-manager", "K": "kubelet"}
LETTERS = {name: letter for letter, name in COMPONENTS.items()}
COMPARISON = {"TaintTolerationComparisonOperators": True}
SEMVER = {"TaintTolerationNodeAffinitySemverComparisonOperators": True}
EXPRESSIONS = {"TaintTolerationCEL": True}


_OF_PODS = ("affinity", "priorityClassName", "nodeSelector", "topologySpreadConstraints")


def tolerates(operator: str, effect: str = "", seconds: int | None = None) -> list[Document]:
    """Return a toleration of the taint `sla`; Gt is the operator that needs the gate."""
    value = {"value": "900"} if operator == "Gt" else {}
    rest = {"effect": effect} if effect else {}
    return [
        {"key": "sla", "operator": operator, **value, **rest, **({"tolerationSeconds": seconds} if seconds else {})}
    ]


def pod(name: str, tolerations: Sequence[Document] = (), **spec: Any) -> Document:
    template = _template(name, tolerations, spec)
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": template["spec"]}


def workload(kind: str, tolerations: Sequence[Document] = (), replicas: int = 1, **spec: Any) -> Document:
    """Return a workload called w, whose pods have the label app=w."""
    pods: Document = {name: spec.pop(name) for name in _OF_PODS if name in spec}
    whole: Document = {"selector": {"matchLabels": {"app": "w"}}, "template": _template("w", tolerations, pods), **spec}
    if kind != "DaemonSet":
        whole["replicas"] = replicas
    if kind == "StatefulSet":
        whole["serviceName"] = "w"
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": "w"}, "spec": whole}


def _template(name: str, tolerations: Sequence[Document], spec: Mapping[str, Any]) -> Document:
    told = {"tolerations": list(tolerations)} if tolerations else {}
    containers = [{"name": "main", "image": "registry.example/a:1"}]
    return {
        "metadata": {"labels": {"app": name}},
        "spec": {"terminationGracePeriodSeconds": 0, "containers": containers, **told, **spec},
    }


def job(tolerations: Sequence[Document]) -> Document:
    template = _template("w", tolerations, {"restartPolicy": "Never"})
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "w"}, "spec": {"template": template}}


def node(effect: str = "", **labels: str) -> Document:
    """Return a node, with the taint sla=950 if an effect is given."""
    return {"labels": labels, "taints": [{"key": "sla", "value": "950", "effect": effect}] if effect else []}


def happens(*do: Document, when: str = "every-step", only: str = "") -> Document:
    """Return a disturbance; `only` is the one direction in which it happens."""
    name = f"{when} {only} {'; '.join(f'{verb} {what}' for one in do for verb, what in one.items())}"
    return {"name": name, "when": when, "phases": [only] if only else ["up", "down"], "do": list(do)}


def kubectl(command: str) -> Document:
    return {"kubectl": command}


def edit(kind: str, tolerations: Sequence[Document] | None) -> Document:
    patch = {"spec": {"template": {"spec": {"tolerations": tolerations}}}}
    return {"patch": {"ref": f"{kind}/w", "patch": patch}}


DELETE_PODS: Document = {"delete": {"ref": {"kind": "Pod", "labels": {"app": "w"}}, "wait": False}}
ANOTHER_POD: Document = {
    "create": {**pod("more", tolerates("Gt", "NoSchedule")), "metadata": {"generateName": "more-"}},
}
TAINT: Document = {"taint": "node-1 sla=950:NoExecute"}
GT, EXISTS = tolerates("Gt", "NoSchedule"), tolerates("Exists", "NoSchedule")
GT_NO_EXECUTE = tolerates("Gt", "NoExecute")
TERM: Document = {"matchExpressions": [{"key": "driver", "operator": "SemverGt", "values": ["1.2.0"]}]}
REQUIRED: Document = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [TERM]}}
NEWER: Document = {"affinity": {"nodeAffinity": REQUIRED}}
UNCORDONED = [{"expression": "taint.key == 'node.kubernetes.io/unschedulable'"}]


def _quota(pods: int) -> Document:
    head = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}}
    return {"create": {**head, "spec": {"hard": {"pods": str(pods)}}}}


def _priority(name: str, value: int) -> Document:
    head = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}}
    return {"create": {**head, "value": value}}


TRAINING: Document = {
    "apiVersion": "example.com/v1",
    "kind": "Training",
    "metadata": {"name": "w"},
    "spec": {"replicas": 2, "template": _template("w", GT, {})},
}
UPDATE_ALL: Document = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 2}}
MANAGED: Document = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "w"},
    "spec": {"managedBy": "example.com/queue", "template": _template("w", (), {"restartPolicy": "Never"})},
}
DISK: Document = {
    "apiVersion": "v1",
    "kind": "PersistentVolume",
    "metadata": {"name": "disk"},
    "spec": {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "csi": {"driver": "d.example.com", "volumeHandle": "one"},
        "nodeAffinity": {"required": {"nodeSelectorTerms": [TERM]}},
    },
}
CLAIM: Document = {
    "apiVersion": "v1",
    "kind": "PersistentVolumeClaim",
    "metadata": {"name": "data"},
    "spec": {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "",
        "volumeName": "disk",
        "resources": {"requests": {"storage": "1Gi"}},
    },
}
BUDGET: Document = {
    "apiVersion": "policy/v1",
    "kind": "PodDisruptionBudget",
    "metadata": {"name": "b"},
    "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "w"}}},
}
SPREAD: Document = {
    "maxSkew": 1,
    "topologyKey": "kubernetes.io/hostname",
    "whenUnsatisfiable": "DoNotSchedule",
    "labelSelector": {"matchLabels": {"app": "w"}},
    "matchLabelKeys": ["pod-template-hash"],
}


def mounting(kind: str) -> Document:
    """Return a workload whose pods mount the claim."""
    made = workload(kind)
    made["spec"]["template"]["spec"]["volumes"] = [{"name": "d", "persistentVolumeClaim": {"claimName": "data"}}]
    return made


def _prepared(*steps: Document) -> list[Document]:
    order = [COMPONENTS["S"], COMPONENTS["A"]]
    return [{"name": "prepared", "phase": "down", "order": order, "claim": "safe", "prepare": list(steps)}]


@dataclass(frozen=True)
class Case:
    """A plan, and the verdicts that it ought to get."""

    name: str
    change: str
    """The letters of the components that change; the others have the gates from the start."""
    workload: Document | Sequence[Document]
    up: str
    down: str
    prepared: str = ""
    nodes: Sequence[Document] = (node("NoSchedule"),)
    disturbances: Sequence[Document] = ()
    gates: Mapping[str, bool] | None = None
    setup: Sequence[Document] = ()
    orders: Sequence[Document] = ()
    left_out: str = ""
    """The letters of components that never get the gates."""
    version: str = "1.36"
    off: Sequence[str] = ()
    """Gates of the change that are on by default, and off before it."""

    def plan(self) -> Document:
        gates = dict(self.gates or COMPARISON)
        ready = [letter for letter in COMPONENTS if letter not in self.change + self.left_out]
        before = {"from": {"gates": dict.fromkeys(self.off, False)}} if self.off else {}
        told = [{"component": {"name": COMPONENTS[letter], "featureGates": gates}} for letter in ready]
        spec = {
            "version": self.version,
            "change": {COMPONENTS[letter]: {"gates": gates, **before} for letter in self.change},
            "nodes": list(self.nodes),
            "workload": [self.workload] if isinstance(self.workload, dict) else list(self.workload),
            "setup": [*told, *self.setup],
            "disturbances": list(self.disturbances),
            "orders": list(self.orders),
            "seconds": 10,
        }
        head = {"apiVersion": "mockkube.dev/v1alpha1", "kind": "RolloutPlan", "metadata": {"name": "case"}}
        return {**head, "spec": spec}


NOT_TRIED = "AS not tried, SA not tried"
CASES = (
    # pods that users create
    Case("a pod that users create hangs", "AS", pod("w", GT), "SA safe, AS unsafe", "AS safe, SA unsafe",
         disturbances=[happens(ANOTHER_POD)]),
    Case("the scheduler is forgotten", "A", pod("w", GT), "A unsafe", "A unsafe", left_out="SCK"),
    Case("only the API server changes", "A", pod("w", GT), "A safe", "A not tried"),
    Case("nothing happens", "AS", pod("w", EXISTS), "SA safe, AS safe", NOT_TRIED),
    Case("a bound pod meets its kubelet", "AK", pod("w", GT_NO_EXECUTE, nodeName="node-1"), "KA safe, AK unsafe",
         "AK unsafe, KA unsafe", nodes=[node("NoExecute")], disturbances=[happens({"restart": "kubelet"})]),
    Case("kubelets do not ask about NoSchedule", "AK", workload("Deployment", GT), "KA safe, AK safe",
         "AK safe, KA safe", disturbances=[happens({"restart": "kubelet"})]),
    # workloads
    Case("a daemon set on a NoExecute taint", "AC", workload("DaemonSet", GT_NO_EXECUTE), "CA safe, AC unsafe",
         "AC unsafe, CA unsafe", nodes=[node("NoExecute")]),
    Case("pods of a stateful set are deleted", "AS", workload("StatefulSet", GT), "SA safe, AS unsafe",
         "AS unsafe, SA unsafe", disturbances=[happens(DELETE_PODS)]),
    Case("a job", "AS", job(GT), "SA safe, AS unsafe", NOT_TRIED),
    Case("an affinity of a daemon set is replaced by its node", "AC", workload("DaemonSet", **NEWER),
         "CA safe, AC unsafe", "AC safe, CA unsafe", nodes=[node(driver="2.0.0")], gates=SEMVER,
         disturbances=[happens(kubectl("label node node-1 driver=1.0.0 --overwrite"), only="down")]),
    # scaling
    Case("scaled up", "AS", workload("Deployment", GT), "SA safe, AS unsafe", NOT_TRIED,
         disturbances=[happens(kubectl("scale deployment w --replicas=3"), only="up")]),
    Case("scaled to nothing", "AS", workload("Deployment", GT, 2), "SA safe, AS unsafe", "AS safe, SA not tried",
         disturbances=[happens(kubectl("scale deployment w --replicas=0"), only="down")]),
    # edits
    Case("an edit ends what has hung until then", "AS", workload("Deployment", GT), "SA safe, AS unsafe", NOT_TRIED,
         disturbances=[happens(edit("Deployment", EXISTS), only="up")]),
    Case("an edit takes the tolerations away", "AS", workload("Deployment", EXISTS), "SA safe, AS safe", NOT_TRIED,
         disturbances=[happens(edit("Deployment", None))]),
    Case("a replica set gets another template", "AS", workload("ReplicaSet", GT), "SA safe, AS unsafe",
         "AS safe, SA safe",
         disturbances=[happens(edit("ReplicaSet", EXISTS), when="before-down"), happens(DELETE_PODS, only="down")]),
    Case("pods of an OnDelete daemon set stay as they are", "AC",
         workload("DaemonSet", GT_NO_EXECUTE, updateStrategy={"type": "OnDelete"}), "CA safe, AC unsafe",
         "AC unsafe, CA unsafe", nodes=[node("NoExecute")],
         disturbances=[happens(edit("DaemonSet", tolerates("Exists")), when="before-down")]),
    Case("a daemon set is rolled out before the way down", "AC", workload("DaemonSet", GT_NO_EXECUTE),
         "CA safe, AC unsafe", "AC safe, CA safe", nodes=[node("NoExecute")],
         disturbances=[happens(edit("DaemonSet", tolerates("Exists")), when="before-down"),
                       happens(DELETE_PODS, only="down")]),
    Case("deleted and created again", "AS", workload("Deployment", GT), "SA safe, AS unsafe", "AS safe, SA safe",
         disturbances=[happens({"delete": {"ref": "Deployment/w"}}, {"apply": workload("Deployment", EXISTS)},
                               only="down")]),
    # what operators do to nodes
    Case("cordoned", "AS", workload("Deployment", EXISTS), "SA safe, AS safe", "AS safe, SA safe",
         disturbances=[happens(kubectl("cordon node-1"), DELETE_PODS)]),
    Case("a cordon that an expression tolerates", "AS", workload("Deployment", UNCORDONED), "SA safe, AS unsafe",
         "AS unsafe, SA unsafe", nodes=[node()], gates=EXPRESSIONS,
         disturbances=[happens(kubectl("cordon node-1"), DELETE_PODS)]),
    Case("drained", "AS", workload("Deployment", EXISTS, 2), "SA safe, AS safe", NOT_TRIED, nodes=[node(), node()],
         disturbances=[happens(kubectl("drain node-1 --ignore-daemonsets --force"), kubectl("uncordon node-1"))]),
    Case("a taint that nothing tolerates", "AC", workload("Deployment", (), 2), "CA safe, AC safe",
         "AC not tried, CA not tried", nodes=[node()], disturbances=[happens(TAINT)]),
    Case("evicted when its seconds are over", "AC", pod("w", tolerates("Gt", "NoExecute", 3)), "CA safe, AC safe",
         "AC not tried, CA not tried", nodes=[node()], disturbances=[happens(TAINT, when="before-down")]),
    Case("evicted before its seconds are over", "AC", pod("w", tolerates("Gt", "NoExecute", 30)),
         "CA safe, AC unsafe", "AC not tried, CA unsafe", nodes=[node()], disturbances=[happens(TAINT, only="up")]),
    # what follows from other rules
    Case("a quota", "AS", workload("Deployment", EXISTS, 2), "SA safe, AS safe", NOT_TRIED, setup=[_quota(1)],
         disturbances=[happens(DELETE_PODS, only="up")]),
    Case("a pod of higher priority", "AS", workload("Deployment", EXISTS, priorityClassName="low"),
         "SA safe, AS safe", NOT_TRIED, setup=[_priority("low", 1), _priority("high", 100), {"patch": {
             "ref": "Node/node-1", "subresource": "status", "patch": {"status": {"allocatable": {"pods": "1"}}}}}],
         disturbances=[happens({"create": pod("big", EXISTS, priorityClassName="high")})]),
    # what an outsider would try
    Case("pods of an operator are deleted", "AS", TRAINING, "SA safe, AS unsafe", "AS unsafe, SA unsafe",
         setup=[{"customController": {"kind": "Training"}}], disturbances=[happens(DELETE_PODS)]),
    Case("a custom resource is edited before the way down", "AS", TRAINING, "SA safe, AS unsafe", "AS safe, SA safe",
         setup=[{"customController": {"kind": "Training"}}],
         disturbances=[happens(edit("Training", EXISTS), when="before-down"), happens(DELETE_PODS, only="down")]),
    Case("a field of a workload outside its pods", "AC", workload("StatefulSet", replicas=2, updateStrategy=UPDATE_ALL),
         "AC safe, CA unsafe", "AC safe, CA safe", gates={"MaxUnavailableStatefulSet": True},
         off=["MaxUnavailableStatefulSet"], disturbances=[happens(kubectl("rollout restart statefulset w"))]),
    Case("a job that another controller is to manage", "AC", MANAGED, "AC safe, CA unsafe",
         "AC not tried, CA not tried", version="1.33", gates={"JobManagedBy": True}, off=["JobManagedBy"]),
    Case("the affinity of a volume", "AS", [DISK, CLAIM, mounting("Deployment")], "SA safe, AS unsafe",
         "AS unsafe, SA unsafe", nodes=[node(driver="2.0.0")], gates=SEMVER, disturbances=[happens(DELETE_PODS)]),
    Case("a drain that a disruption budget slows down", "SK", [workload("Deployment", EXISTS, 2), BUDGET],
         "SK safe, KS safe", NOT_TRIED.replace("A", "K"), nodes=[node(), node()],
         disturbances=[happens(kubectl("drain node-1 --ignore-daemonsets --force"), kubectl("uncordon node-1"),
                               only="up")]),
    # preparations
    Case("prepared by deleting", "AS", workload("StatefulSet", GT), "SA safe, AS unsafe", "AS unsafe, SA unsafe",
         "SA not tried", disturbances=[happens(DELETE_PODS)],
         orders=_prepared({"delete": {"ref": "StatefulSet/w", "wait": False}})),
    Case("prepared by an edit", "AS", workload("StatefulSet", GT), "SA safe, AS unsafe", "AS unsafe, SA unsafe",
         "SA safe", disturbances=[happens(DELETE_PODS)], orders=_prepared(edit("StatefulSet", EXISTS))),
)  # fmt: skip


@pytest.mark.heavy
@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_verdicts_are_those_worked_out_by_hand(case: Case) -> None:
    explored = _explored(case.plan())
    assert _verdicts(explored, "up") == _read(case.up)
    assert _verdicts(explored, "down") == _read(case.down)
    assert _verdicts(explored, "down", prepared=True) == _read(case.prepared)
    assert not explored.never_accepted
    for one in explored.orders:  # nothing is safe beside harm
        assert (one.verdict is exploration.SafetyVerdict.UNSAFE) == bool(
            one.worst.harm.nonzero_counts() or one.worst.breaks
        )


def test_actions_that_are_refused_everywhere_are_named() -> None:
    wrong = {"patch": {"ref": "Deployment/other", "patch": {"spec": {"replicas": 2}}}}
    restart = {"restart": "kubelet.node-9"}
    plan = Case("", "A", pod("w", EXISTS), "", "", disturbances=[happens(wrong, restart)]).plan()
    assert [reason.partition(":")[0] for reason in _explored(plan).never_accepted.values()] == ["patch", "restart"]


def test_a_harm_that_something_ended_in_the_same_step_is_shown_where_it_is() -> None:
    case = next(case for case in CASES if case.name == "an edit ends what has hung until then")
    explored = _explored(case.plan())
    [example] = explored.counterexamples
    [scenario] = parse_scenario(render_counterexample(explored.plan, example))
    result = asyncio.run(play(ScenarioRun(scenario)))
    assert (example.invariant, result.outcome) == ("admitted-pods-schedulable", RunOutcome.PASSED)


@pytest.mark.slow
def test_a_loop_of_replica_sets_is_named_by_their_deployment() -> None:
    rollout = happens(kubectl("rollout restart deployment w"), only="down")
    # The Deployment keeps the field and each new ReplicaSet loses it, so none ever equals the template.
    case = Case("", "A", workload("Deployment", topologySpreadConstraints=[SPREAD]), "", "A unsafe", version="1.33",
                gates={"MatchLabelKeysInPodTopologySpread": True}, off=["MatchLabelKeysInPodTopologySpread"],
                disturbances=[rollout])  # fmt: skip
    plan = case.plan()
    explored = _explored({**plan, "spec": {**plan["spec"], "creationsMax": 10}})
    assert _verdicts(explored, "down") == _read(case.down)
    [rate] = explored.rates
    assert [one.workload for one in rate.made] == ["deployment/w"]


def test_pods_that_a_deleted_deployment_leaves_behind_are_still_wanted() -> None:
    orphan = happens(kubectl("delete deployment w --cascade=orphan"), when="before-down")
    plan = Case(
        "", "C", workload("Deployment", GT_NO_EXECUTE), "", "", nodes=[node("NoExecute")], disturbances=[orphan]
    )
    [down] = _explored(plan.plan()).list_verdicts(Direction.DOWN)
    broken = {one.invariant for one in down.worst.breaks}
    assert "tolerated-pods-stay" in broken
    assert "fields-kept" not in broken


def _explored(plan: Document) -> exploration.Exploration:
    parsed = loading.parse(yaml.safe_dump(plan))
    return exploration.explore_plan(parsed, players.SequentialPlayer(parsed))


def _verdicts(explored: exploration.Exploration, phase: str, *, prepared: bool = False) -> dict[str, str]:
    orders = [one for one in explored.orders if str(one.direction) == phase and bool(one.prepares) == prepared]
    return {"".join(LETTERS[name] for name in one.order): str(one.verdict) for one in orders}


def _read(text: str) -> dict[str, str]:
    return dict(one.split(" ", 1) for one in text.split(", ")) if text else {}
