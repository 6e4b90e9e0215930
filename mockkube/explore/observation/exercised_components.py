"""Find the components that had something to decide in a move: a change that nothing exercises is not tried."""

from collections.abc import Iterable, Iterator, Sequence

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.cluster.execution.step_trace import OPERATOR, TraceStep, TraceWrite
from mockkube.explore.observation.stored_objects import NODES, PODS, StoredObjects
from mockkube.explore.observation.taint_times import evicting_taints
from mockkube.features.components import API_SERVER, CONTROLLER_MANAGER, KUBELET, SCHEDULER

_WORKLOADS = frozenset({PODS, "core/replicationcontrollers"})
_GROUPS = ("apps/", "batch/")
_RESTART = "restart: "


def find_exercised(
    components: Iterable[str], steps: Sequence[TraceStep], stored: StoredObjects, *, waited: bool
) -> frozenset[str]:
    """Return the components that decided about a pod, or about a write of a pod or workload.

    `stored` is the cluster at the end of the move; `waited` says whether pods were pending when it began.
    """
    return frozenset(component for component in components if _is_exercised(component, steps, stored, waited=waited))


def has_events(steps: Iterable[TraceStep]) -> bool:
    """Return whether anything was created, changed, ended or restarted besides the components of the rollout."""
    return any(
        step.worker.startswith(_RESTART) or any(_is_event(step, write) for write in step.writes) for step in steps
    )


def _is_event(step: TraceStep, write: TraceWrite) -> bool:
    if write.resource in _WORKLOADS or write.resource.startswith(_GROUPS):
        return step.worker == OPERATOR or _is_decision(write)
    return step.worker == OPERATOR and write.resource == NODES


def _is_exercised(component: str, steps: Sequence[TraceStep], stored: StoredObjects, *, waited: bool) -> bool:
    family, _, node = component.partition(".")
    writes = list(_list_workload_writes(steps))
    if family == API_SERVER:
        return any(_is_validated(step, write) for step, write in writes)
    if family == SCHEDULER:
        return waited or any(step.worker.startswith(SCHEDULER) and write.resource == PODS for step, write in writes)
    if family == CONTROLLER_MANAGER:
        decided = any(step.worker.startswith(CONTROLLER_MANAGER) and _is_decision(write) for step, write in writes)
        return decided or _has_pods_on_tainted_nodes(stored) or bool(stored.list_objects("apps/daemonsets"))
    admitted = any(step.worker.startswith(KUBELET) and write.resource == PODS for step, write in writes)
    return family == KUBELET and (admitted or any(_is_on(pod, node) for pod in stored.list_objects(PODS).values()))


def _list_workload_writes(steps: Iterable[TraceStep]) -> Iterator[tuple[TraceStep, TraceWrite]]:
    for step in steps:
        for write in step.writes:
            if write.resource in _WORKLOADS or write.resource.startswith(_GROUPS):
                yield step, write


def _is_validated(step: TraceStep, write: TraceWrite) -> bool:
    """Return whether the API server had to validate and store a pod template."""
    return write.verb == "create" or (write.verb == "update" and (step.worker == OPERATOR or _has_new_spec(write)))


def _is_decision(write: TraceWrite) -> bool:
    return write.verb in ("create", "delete") or _has_new_spec(write) or _is_deleted(write)


def _has_new_spec(write: TraceWrite) -> bool:
    """Return whether the spec of an object changed."""
    before = write.load_previous()
    return before is None or before.get("spec") != write.load_object().get("spec")


def _is_deleted(write: TraceWrite) -> bool:
    return bool(write.load_object()["metadata"].get("deletionTimestamp"))


def _has_pods_on_tainted_nodes(stored: StoredObjects) -> bool:
    """Return whether pods are on nodes with NoExecute taints."""
    nodes = stored.list_objects(NODES)
    tainted = {name for name, node in nodes.items() if next(evicting_taints(node), None) is not None}
    return any(pod["spec"].get("nodeName") in tainted for pod in stored.list_objects(PODS).values())


def _is_on(pod: ReadOnlyObject, node: str) -> bool:
    name = pod["spec"].get("nodeName")
    return bool(name) and node in ("", name) and (pod.get("status") or {}).get("phase") not in ("Failed", "Succeeded")
