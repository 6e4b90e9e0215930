"""Invariants of interleavings: what must hold in every order, checked after each step that writes."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from mockkube.api.conditions import find_condition
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.quantities.pod_quantities import (
    Quantities,
    add_quantities,
    calculate_pod_quantities,
    parse_resource_list,
)
from mockkube.api.quantities.quantity import parse
from mockkube.api.selectors.labels import from_label_selector
from mockkube.cluster.execution.step_trace import TraceStep, TraceWrite
from mockkube.explore.observation.stored_objects import NODES, PODS, StoredObjects
from mockkube.explore.plans.invariants import NO_HOT_LOOP
from mockkube.features.components import KUBELET
from mockkube.lazy_dataclasses import dataclass
from mockkube.matching.pods import DISRUPTION_TARGET, FINISHED, is_active, is_finished, is_ready
from mockkube.matching.taints import TaintRules, compile_tolerations, find_untolerated

REPLICAS_KEPT: Final = "replicas-not-exceeded"
ORDER_KEPT: Final = "statefulset-order-kept"
NOT_REJECTED: Final = "pods-not-rejected"
EVICTED_FOR_TAINTS: Final = "evicted-for-present-taints"
QUOTA_KEPT: Final = "quota-not-exceeded"
BUDGET_KEPT: Final = "disruption-budget-kept"
NODES_FIT: Final = "nodes-not-overcommitted"
OWNED_KEPT: Final = "owned-objects-kept"
SAME_OUTCOME: Final = "same-outcome"

# In the order of reports.
INVARIANTS: Final[Mapping[str, str]] = MappingProxyType(
    {
        REPLICAS_KEPT: "No workload gets more pods than it wants, nor a Job more than it has completions left.",
        ORDER_KEPT: "No ordered StatefulSet gets a pod before those with lower ordinals are ready.",
        NOT_REJECTED: "No kubelet rejects a pod that was bound to its node.",
        NO_HOT_LOOP: "No controller creates pods over and over.",
        EVICTED_FOR_TAINTS: "No pod is evicted for a taint that its node does not have.",
        QUOTA_KEPT: "No namespace uses more than its ResourceQuota allows.",
        BUDGET_KEPT: "No eviction leaves fewer healthy pods than a PodDisruptionBudget wants.",
        NODES_FIT: "No pod is bound to a node that has not enough of what it requests.",
        OWNED_KEPT: "The garbage collector deletes no object that has an owner.",
        SAME_OUTCOME: "In the end there are the same objects and ready pods as in the default order, and those pods "
        "of the beginning that are there then, too.",
    }
)

_SETS: Final = "apps/replicasets"
_CONTROLLERS: Final = "core/replicationcontrollers"
_STATEFUL_SETS: Final = "apps/statefulsets"
_DAEMON_SETS: Final = "apps/daemonsets"
_JOBS: Final = "batch/jobs"
_QUOTAS: Final = "core/resourcequotas"
_BUDGETS: Final = "policy/poddisruptionbudgets"
_RESOURCES: Final[Mapping[str, str]] = {
    "ReplicaSet": _SETS,
    "ReplicationController": _CONTROLLERS,
    "StatefulSet": _STATEFUL_SETS,
    "DaemonSet": _DAEMON_SETS,
    "Job": _JOBS,
}
_GARBAGE_COLLECTOR: Final = "/garbage-collector-controller"
_TAINT_MANAGER: Final = "DeletionByTaintManager"
# Reasons for which a kubelet ends a pod that it had admitted.
_RUNTIME_REASONS: Final = ("DeadlineExceeded", "Evicted", "Preempting", "Terminated", "NodeShutdown")
_NO_EXECUTE: Final = ("NoExecute",)
# Resources that say nothing about the outcome of an order.
_NO_OUTCOME: Final = ("leases", "events", "controllerrevisions", "endpoints", "endpointslices")


# Outcome of a run: numbers of objects, in words.
Outcome = Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Violation:
    """An invariant that does not hold."""

    invariant: str
    message: str


class InvariantMonitor:
    """Follows the writes of a run and checks the invariants after each step."""

    def __init__(self, invariants: Iterable[str], taints: TaintRules, *, creations_max: int) -> None:
        self.stored = StoredObjects()
        # Pods that were there when the window began, by uid.
        self._first_pods: set[str] = set()
        self._checks = [check for name, check in _make_checks(taints, creations_max) if name in set(invariants)]

    def follow(self, steps: Iterable[TraceStep]) -> None:
        """Apply steps without checks: those before the window."""
        known = list(steps)
        self.stored.apply_steps(known)
        for check in self._checks:
            check.follow(write for step in known for write in step.writes)

    def start_window(self) -> None:
        """Start to check: what workloads want now is what they may have."""
        self._first_pods = {pod["metadata"]["uid"] for pod in self.stored.list_objects(PODS).values()}
        for check in self._checks:
            check.start(self.stored)

    def check(self, step: TraceStep) -> list[Violation]:
        """Apply a step, and return what it breaks."""
        if not step.writes:
            return []
        self.stored.apply_steps([step])
        return [found for check in self._checks for write in step.writes for found in check.check(step, write)]

    def summarize_outcome(self) -> Outcome:
        """Return what there is now, and which pods of the beginning are still there."""
        pods = self.stored.list_objects(PODS)
        kept = [name for name, pod in pods.items() if pod["metadata"]["uid"] in self._first_pods and is_active(pod)]
        return {**_count_objects(self.stored), **{f"kept pods {name}": 1 for name in kept}}


class _Check:
    """Check of one invariant."""

    invariant: str

    def __init__(self) -> None:
        self.stored = StoredObjects()

    def follow(self, writes: Iterable[TraceWrite]) -> None:
        """Take in writes before the window."""

    def start(self, stored: StoredObjects) -> None:
        """Start with these objects, which are kept up to date."""
        self.stored = stored

    def check(self, step: TraceStep, write: TraceWrite) -> Iterator[Violation]:
        """Yield what a write breaks."""
        raise NotImplementedError

    def _broken(self, message: str) -> Violation:
        return Violation(self.invariant, message)

    def _list_pods_of(self, owner: ReadOnlyObject) -> list[ReadOnlyObject]:
        return [pod for pod in self.stored.list_objects(PODS).values() if _controller_uid(pod) == owner["uid"]]


class _ReplicasCheck(_Check):
    """Counts the pods of a workload whenever it gets one; what it wanted in the window at most is allowed."""

    invariant = REPLICAS_KEPT

    def __init__(self) -> None:
        super().__init__()
        self._wanted: dict[str, int] = {}
        # Pods of Jobs that have succeeded, although they may be gone.
        self._succeeded: dict[str, set[str]] = {}

    def start(self, stored: StoredObjects) -> None:
        super().start(stored)
        for resource in (_SETS, _CONTROLLERS, _STATEFUL_SETS, _JOBS):
            for obj in stored.list_objects(resource).values():
                self._note_wanted(resource, obj)
        for pod in stored.list_objects(PODS).values():
            self._note_success(pod)

    def _note_wanted(self, resource: str, obj: ReadOnlyObject) -> None:
        wanted = obj["spec"].get("parallelism" if resource == _JOBS else "replicas", 1)
        uid = obj["metadata"]["uid"]
        self._wanted[uid] = max(self._wanted.get(uid, 0), wanted)

    def _note_success(self, pod: ReadOnlyObject) -> None:
        if pod.get("status", {}).get("phase") == "Succeeded" and (uid := _controller_uid(pod)):
            self._succeeded.setdefault(uid, set()).add(pod["metadata"]["uid"])

    def check(self, step: TraceStep, write: TraceWrite) -> Iterator[Violation]:
        if write.resource in (_SETS, _CONTROLLERS, _STATEFUL_SETS, _JOBS):
            self._note_wanted(write.resource, write.load_object())
        if write.resource != PODS:
            return
        pod = write.load_object()
        self._note_success(pod)
        if write.verb != "create" or (owner := _find_controller(pod)) is None:
            return
        active = [one for one in self._list_pods_of(owner) if is_active(one)]
        name = f"{owner['kind']} {_namespace(pod)}/{owner['name']}"
        if owner["kind"] == "DaemonSet":
            yield from self._check_daemon_set(name, pod, active)
        elif len(active) > (wanted := self._wanted.get(owner["uid"], len(active))):
            names = ", ".join(sorted(one["metadata"]["name"] for one in active))
            yield self._broken(f"{name} has {len(active)} pods and wants {wanted}: {names}")
        elif owner["kind"] == "Job":
            yield from self._check_job(name, owner, len(active))

    def _check_daemon_set(
        self, name: str, pod: ReadOnlyObject, active: Sequence[ReadOnlyObject]
    ) -> Iterator[Violation]:
        node, allowed = _target_node(pod), 1
        daemon_set = self.stored.list_objects(_DAEMON_SETS).get(name.partition(" ")[2])
        rolling = ((daemon_set or {}).get("spec", {}).get("updateStrategy") or {}).get("rollingUpdate") or {}
        if rolling.get("maxSurge") not in (None, 0, "0%"):
            allowed = 2
        there = sorted(one["metadata"]["name"] for one in active if _target_node(one) == node)
        if len(there) > allowed:
            yield self._broken(f"{name} has {len(there)} pods on {node}: {', '.join(there)}")

    def _check_job(self, name: str, owner: ReadOnlyObject, active: int) -> Iterator[Violation]:
        job = self.stored.list_objects(_JOBS).get(name.partition(" ")[2])
        completions = (job or {}).get("spec", {}).get("completions")
        succeeded = len(self._succeeded.get(owner["uid"], ()))
        if completions is not None and succeeded + active > completions:
            text = f"{name} needs {completions} completions: {succeeded} pods have succeeded, and {active} more run"
            yield self._broken(text)


class _OrderCheck(_Check):
    """Checks the pods with lower ordinals when a StatefulSet gets a pod."""

    invariant = ORDER_KEPT

    def check(self, step: TraceStep, write: TraceWrite) -> Iterator[Violation]:
        if write.resource != PODS or write.verb != "create":
            return
        pod = write.load_object()
        owner = _find_controller(pod)
        if owner is None or owner["kind"] != "StatefulSet":
            return
        obj = self.stored.list_objects(_STATEFUL_SETS).get(f"{_namespace(pod)}/{owner['name']}")
        if obj is None or obj["spec"].get("podManagementPolicy") == "Parallel":
            return
        start = (obj["spec"].get("ordinals") or {}).get("start", 0)
        pods = self.stored.list_objects(PODS)
        lower = [f"{owner['name']}-{number}" for number in range(start, _ordinal(pod))]
        waiting = [name for name in lower if not _is_available(pods.get(f"{_namespace(pod)}/{name}"))]
        if waiting:
            yield self._broken(f"{pod['metadata']['name']} is created while {', '.join(waiting)} is not ready")


def _is_available(pod: ReadOnlyObject | None) -> bool:
    return pod is not None and is_active(pod) and is_ready(pod)


class _RejectionCheck(_Check):
    """Looks for pods that a kubelet rejects."""

    invariant = NOT_REJECTED

    def check(self, step: TraceStep, write: TraceWrite) -> Iterator[Violation]:
        if write.resource != PODS or write.verb != "update" or not step.worker.startswith(KUBELET):
            return
        pod, before = write.load_object(), write.load_previous() or {}
        status = pod.get("status") or {}
        if status.get("phase") != "Failed" or not status.get("reason") or is_finished(before):
            return
        if status["reason"] not in _RUNTIME_REASONS and not (before.get("status") or {}).get("startTime"):
            node = pod["spec"].get("nodeName")
            text = f"the kubelet of {node} rejects pod {write.name}: {status['reason']}"
            yield self._broken(f"{text}: {status.get('message', '')}".removesuffix(": "))


class _HotLoopCheck(_Check):
    """Counts the pods that each workload gets in a window."""

    invariant = NO_HOT_LOOP

    def __init__(self, creations_max: int) -> None:
        super().__init__()
        self._creations_max = creations_max
        self._created: Counter[str] = Counter()

    def check(self, step: TraceStep, write: TraceWrite) -> Iterator[Violation]:
        if write.resource != PODS or write.verb != "create":
            return
        pod = write.load_object()
        if (owner := _find_controller(pod)) is None:
            return
        name = f"{owner['kind']} {_namespace(pod)}/{owner['name']}"
        self._created[name] += 1
        if self._created[name] > self._creations_max:
            ended = sum(not is_active(one) for one in self._list_pods_of(owner))
            yield self._broken(f"{name} has created {self._created[name]} pods, of which {ended} have ended")


class _EvictionCheck(_Check):
    """Compares the taints of a node, as they are stored, with a pod that is evicted for them."""

    invariant = EVICTED_FOR_TAINTS

    def __init__(self, taints: TaintRules) -> None:
        super().__init__()
        self._taints = taints

    def check(self, step: TraceStep, write: TraceWrite) -> Iterator[Violation]:
        if write.resource != PODS or write.verb == "create":
            return
        pod, before = write.load_object(), write.load_previous() or {}
        is_new = write.verb == "update" and not _is_evicted_for_taint(before)
        if not is_new or not _is_evicted_for_taint(pod):
            return
        node = self.stored.list_objects(NODES).get(pod["spec"].get("nodeName", ""))
        tolerations = compile_tolerations(pod["spec"].get("tolerations") or (), self._taints)
        taints = () if node is None else node["spec"].get("taints") or ()
        if find_untolerated(taints, tolerations, _NO_EXECUTE) is None:
            yield self._broken(
                f"pod {write.name} is evicted for a taint, but it tolerates all that {pod['spec'].get('nodeName')} has"
            )


class _QuotaCheck(_Check):
    """Sums up what the pods of a namespace use when one is created."""

    invariant = QUOTA_KEPT

    def check(self, step: TraceStep, write: TraceWrite) -> Iterator[Violation]:
        if write.verb != "create":
            return
        namespace = write.name.rpartition("/")[0]
        for quota in self.stored.list_objects(_QUOTAS).values():
            # Quotas with scopes count only some of the objects.
            if _namespace(quota) != namespace or quota["spec"].get("scopes") or quota["spec"].get("scopeSelector"):
                continue
            hard = parse_resource_list(quota["spec"].get("hard"))
            used = self._calculate_used(namespace, hard)
            for name, amount in used.items():
                if amount > hard[name]:
                    text = f"namespace {namespace} uses {amount} {name}, and quota {quota['metadata']['name']}"
                    yield self._broken(f"{text} allows {hard[name]}")

    def _calculate_used(self, namespace: str, hard: Iterable[str]) -> Quantities:
        pods = [one for one in self.stored.list_objects(PODS).values() if _namespace(one) == namespace]
        counted = [pod for pod in pods if not is_finished(pod)]
        used: Quantities = {}
        for name in hard:
            side, _, resource = name.partition(".")
            if name == "pods":
                used[name] = parse(str(len(counted)))
            elif side in ("requests", "limits") and resource in ("cpu", "memory"):
                if (total := _sum_quantities(counted, side).get(resource)) is not None:
                    used[name] = total
            elif name.startswith("count/"):
                plural, _, group = name.removeprefix("count/").partition(".")
                objects = self.stored.list_objects(f"{group or 'core'}/{plural}")
                number = sum(_namespace(one) == namespace for one in objects.values())
                used[name] = parse(str(number))
        return used


class _BudgetCheck(_Check):
    """Counts the healthy pods of a budget after each eviction."""

    invariant = BUDGET_KEPT

    def check(self, step: TraceStep, write: TraceWrite) -> Iterator[Violation]:
        evicts = any(one.resource == _BUDGETS and one.verb == "update" for one in step.writes)
        if write.resource != PODS or not evicts:
            return
        pod = write.load_object()
        if write.verb == "create" or (write.verb == "update" and is_active(pod)):
            return
        for budget in self.stored.list_objects(_BUDGETS).values():
            selector = from_label_selector(budget["spec"].get("selector"))
            if _namespace(budget) != _namespace(pod) or not selector.matches(pod["metadata"].get("labels") or {}):
                continue
            pods = self.stored.list_objects(PODS).values()
            matching = [one for one in pods if selector.matches(one["metadata"].get("labels") or {})]
            healthy = sum(is_ready(one) and is_active(one) for one in matching if _namespace(one) == _namespace(pod))
            desired = (budget.get("status") or {}).get("desiredHealthy", 0)
            if healthy < desired:
                name = budget["metadata"]["name"]
                text = f"after the eviction of pod {write.name}, {healthy} pods are healthy, and budget {name}"
                yield self._broken(f"{text} wants {desired}")


class _NodeCheck(_Check):
    """Sums up the requests of the pods of a node whenever one is bound to it."""

    invariant = NODES_FIT

    def check(self, step: TraceStep, write: TraceWrite) -> Iterator[Violation]:
        if write.resource != PODS or write.verb == "delete":
            return
        pod, before = write.load_object(), write.load_previous() or {"spec": {}}
        name = pod["spec"].get("nodeName", "")
        node = self.stored.list_objects(NODES).get(name)
        if node is None or before["spec"].get("nodeName"):
            return
        there = [one for one in self.stored.list_objects(PODS).values() if one["spec"].get("nodeName") == name]
        running = [one for one in there if not is_finished(one)]
        allocatable = parse_resource_list((node.get("status") or {}).get("allocatable"))
        for resource, total in _sum_quantities(running, "requests").items():
            if resource in allocatable and total > allocatable[resource]:
                text = f"pod {write.name} is bound to {name}, whose pods then request {total} {resource}"
                yield self._broken(f"{text} of {allocatable[resource]}")


class _OwnedCheck(_Check):
    """Looks for owners of an object that the garbage collector deletes, as they are stored."""

    invariant = OWNED_KEPT

    def __init__(self) -> None:
        super().__init__()
        # Names of the objects that exist, by uid; without those that are being deleted, whose dependents may go first.
        self._names: dict[str, str] = {}

    def follow(self, writes: Iterable[TraceWrite]) -> None:
        for write in writes:
            self._note(write)

    def _note(self, write: TraceWrite) -> None:
        metadata = write.load_object()["metadata"]
        if write.verb == "delete" or metadata.get("deletionTimestamp"):
            self._names.pop(metadata["uid"], None)
        else:
            self._names[metadata["uid"]] = write.name

    def check(self, step: TraceStep, write: TraceWrite) -> Iterator[Violation]:
        uid = write.load_object()["metadata"]["uid"]
        was_there = uid in self._names
        self._note(write)
        if not step.worker.endswith(_GARBAGE_COLLECTOR) or not was_there or uid in self._names:
            return
        for one in write.load_object()["metadata"].get("ownerReferences") or ():
            if one["uid"] in self._names:
                text = f"the garbage collector deletes {write.resource} {write.name}"
                yield self._broken(f"{text}, whose owner {one['kind']} {one['name']} exists")


def _make_checks(taints: TaintRules, creations_max: int) -> Sequence[tuple[str, _Check]]:
    checks: Sequence[_Check] = (
        _ReplicasCheck(), _OrderCheck(), _RejectionCheck(), _HotLoopCheck(creations_max), _EvictionCheck(taints),
        _QuotaCheck(), _BudgetCheck(), _NodeCheck(), _OwnedCheck(),
    )  # fmt: skip
    return [(check.invariant, check) for check in checks]


def _count_objects(stored: StoredObjects) -> dict[str, int]:
    """Return the number of objects of each owner, and of its ready pods; generated names do not matter."""
    counts: Counter[str] = Counter()
    for resource in stored.list_resources():
        if resource.rpartition("/")[2] in _NO_OUTCOME:
            continue
        for name, obj in stored.list_objects(resource).items():
            owner = _find_controller(obj)
            whose = name if owner is None else f"of {owner['kind']} {_namespace(obj)}/{owner['name']}"
            if resource == PODS:
                phase = (obj.get("status") or {}).get("phase", "Pending")
                ended = phase if phase in FINISHED else "ready" if is_ready(obj) and is_active(obj) else ""
                if ended != "Failed" or owner is None:
                    counts[f"{ended or 'waiting'} pods {whose}"] += 1
            else:
                counts[f"{resource} {whose}"] += 1
    return counts


def compare_outcomes(usual: Outcome, outcome: Outcome) -> list[Violation]:
    """Return how an outcome differs from that of the default order."""
    differing = sorted(name for name in usual.keys() | outcome.keys() if usual.get(name, 0) != outcome.get(name, 0))
    texts = [f"{outcome.get(name, 0)} {name} instead of {usual.get(name, 0)}" for name in differing]
    return [Violation(SAME_OUTCOME, "in the end " + "; ".join(texts))] if texts else []


def _sum_quantities(pods: Iterable[ReadOnlyObject], side: str) -> Quantities:
    total: Quantities = {}
    for pod in pods:
        add_quantities(total, calculate_pod_quantities(pod["spec"], side, pod_level=True))
    return total


def _namespace(obj: ReadOnlyObject) -> str:
    namespace: str = obj["metadata"].get("namespace", "")
    return namespace


def _find_controller(obj: ReadOnlyObject) -> ReadOnlyObject | None:
    references = obj["metadata"].get("ownerReferences") or ()
    return next((one for one in references if one.get("controller")), None)


def _controller_uid(obj: ReadOnlyObject) -> str:
    owner = _find_controller(obj)
    return "" if owner is None else owner["uid"]


def _ordinal(pod: ReadOnlyObject) -> int:
    number = pod["metadata"]["name"].rpartition("-")[2]
    return int(number) if number.isdecimal() else 0


def _target_node(pod: ReadOnlyObject) -> str:
    """Return the node of a daemon pod, which is in its affinity before it is bound."""
    if pod["spec"].get("nodeName"):
        return str(pod["spec"]["nodeName"])
    affinity = (pod["spec"].get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    fields = [one for term in required.get("nodeSelectorTerms") or () for one in term.get("matchFields") or ()]
    return next((value for one in fields for value in one.get("values") or ()), "")


def _is_evicted_for_taint(pod: ReadOnlyObject) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or ()
    target = find_condition(conditions, DISRUPTION_TARGET)
    return target is not None and target["status"] == "True" and target.get("reason") == _TAINT_MANAGER
