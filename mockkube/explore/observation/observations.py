"""Observe what a part of a trace did to workloads: evictions, rejections, removals, lost fields.

Consequences of operators' actions are no harm: pods that they delete, drain, scale down or roll out, and pods that
would end in the same way if every component had changed.
"""

from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import Final

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.cluster.execution.step_trace import OPERATOR, TraceStep, TraceWrite
from mockkube.explain.fact_formatting import format_taint
from mockkube.explore.observation.operator_intent import OperatorIntent
from mockkube.explore.observation.stored_objects import EVENTS, NODES, PODS, StoredObjects
from mockkube.explore.observation.taint_times import TaintTimes, evicting_taints
from mockkube.explore.observation.workload_kinds import find_pod_spec
from mockkube.kubelet.admission.admitted_pod import AdmittedPod
from mockkube.kubelet.admission.handlers import admit_pod
from mockkube.lazy_dataclasses import dataclass
from mockkube.proposals.component_view import find_lost_paths

_EVICTED: Final = "DeletionByTaintManager"
_REJECTION_REASONS: Final = ("FailedCreate", "ReplicaSetCreateError")
# Workers whose deletions are judged one by one; others delete what operators or owners no longer want.
_JUDGED_WORKERS: Final = ("taint-eviction", "daemonset-controller")
# Reasons for which a kubelet ends a pod that it had admitted.
_RUNTIME_REASONS: Final = ("DeadlineExceeded", "Evicted", "Preempting", "Terminated", "NodeShutdown")
_ENDED: Final = ("Failed", "Succeeded")
_EARLY_SECONDS: Final = 0.5


class ObservationKind(StrEnum):
    """Kind of change that happened to an object."""

    CREATED = "created"
    # Deleted or finished, for whatever reason; follows an eviction, rejection or removal, too.
    ENDED = "ended"
    # Evicted by the taint eviction of kube-controller-manager.
    EVICTED = "evicted"
    # Set to Failed by a kubelet that does not admit it.
    REJECTED = "rejected"
    # Deleted by the DaemonSet controller.
    REMOVED = "removed"
    # A field that was written is not stored.
    LOST = "lost"
    # The API server rejects a pod that a controller creates.
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Observation:
    """One observation about one object."""

    kind: ObservationKind
    # Name of the object, with generated parts.
    object: str
    # Workload of the object.
    workload: str
    component: str
    at: float
    text: str
    # True if it would not have happened had every component changed, and no operator asked for it.
    is_harmful: bool = False
    uid: str = ""
    # Reason of a kubelet's rejection; for a lost field, its path.
    reason: str = ""
    object_kind: str = "Pod"
    api_version: str = "v1"

    def describe(self) -> str:
        """Return the observation without generated names, so that it is the same on each path."""
        return f"{self.workload or self.object}: {self.text}"


def observe(
    steps: Iterable[TraceStep], intent: OperatorIntent, stored: StoredObjects, times: TaintTimes
) -> Iterator[Observation]:
    """Yield observations in order, while bringing intent, stored objects and times up to date."""
    observer = _Observer(intent, stored, times)
    for step in steps:
        times.record_step(step)
        for write in step.writes:
            yield from observer.observe_write(step, write)
        # After its writes were observed: they are judged by what was stored before the step.
        stored.apply_steps((step,))


@dataclass(frozen=True, slots=True)
class _Observer:
    """Observes writes with the intent of operators, the stored objects and the times of taints."""

    intent: OperatorIntent
    stored: StoredObjects
    times: TaintTimes

    def observe_write(self, step: TraceStep, write: TraceWrite) -> Iterator[Observation]:
        if write.resource == EVENTS:
            if write.verb != "delete":
                yield from _observe_event(step, write)
            return
        by_operator = step.worker == OPERATOR
        unstored = self.intent.record_write(write, by_operator=by_operator)
        obj = write.load_object()
        if by_operator and write.verb != "delete":
            yield from self._observe_unstored(step, write, self.intent.find_unstored_fields(write))
        if find_pod_spec(obj) is None:
            return
        yield from self._observe_unstored(step, write, unstored)
        if not by_operator and write.verb == "update":
            yield from self._observe_dropped(step, write)
        if obj["kind"] == "Pod":
            yield from self._observe_pod(step, write)

    def _observe_unstored(self, step: TraceStep, write: TraceWrite, paths: Iterable[str]) -> Iterator[Observation]:
        obj = write.load_object()
        for path in paths:
            yield self._make_lost_field(step, write, obj, f"{path} is not stored, although it was requested", path)

    def _observe_dropped(self, step: TraceStep, write: TraceWrite) -> Iterator[Observation]:
        """Yield fields of pods and templates that were lost when a component wrote the object."""
        obj, before = write.load_object(), write.load_previous()
        part, old = find_pod_spec(obj), find_pod_spec(before) if before is not None else None
        if part is None or old is None:
            return
        component = step.worker.partition("/")[0]
        for path in find_lost_paths(old.value, part.value, part.at):
            yield self._make_lost_field(step, write, obj, f"{path} is no longer stored: written by {component}", path)

    def _make_lost_field(
        self, step: TraceStep, write: TraceWrite, obj: ReadOnlyObject, text: str, path: str
    ) -> Observation:
        workload = self.intent.workload_of(obj)
        name = workload.name if workload is not None else f"{obj['kind'].lower()}/{obj['metadata']['name']}"
        uid, component = obj["metadata"].get("uid", ""), step.worker.partition("/")[0]
        kind, version = obj["kind"], obj["apiVersion"]
        return Observation(
            ObservationKind.LOST, write.name, name, component, step.at, text, True, uid, path, kind, version
        )

    def _observe_pod(self, step: TraceStep, write: TraceWrite) -> Iterator[Observation]:
        pod, before = write.load_object(), write.load_previous()
        workload = self.intent.workload_of(pod)
        component = step.worker.partition("/")[0]
        name, workload_name, uid = (
            write.name,
            workload.name if workload is not None else "",
            pod["metadata"].get("uid", ""),
        )

        def observation(kind: ObservationKind, text: str, *, harmful: bool = False, reason: str = "") -> Observation:
            return Observation(kind, name, workload_name, component, step.at, text, harmful, uid, reason)

        if write.verb == "create":
            yield observation(ObservationKind.CREATED, "created")
            if workload is not None and workload.uid != uid:
                lacking = [f"toleration {_format_toleration(one)}" for one in self.intent.find_lost_tolerations(pod)]
                for what in [*lacking, *self.intent.find_lost_paths(pod)]:
                    yield observation(ObservationKind.LOST, f"created without {what}", harmful=True, reason=what)
            return
        if before is None:
            return
        over = _is_terminating(before) or _is_finished(before)
        if _is_evicted_by_taint(pod) and not _is_evicted_by_taint(before) and not over:
            text = f"evicted from its node{_format_evicting_taints(self._node_of(pod))}"
            yield observation(ObservationKind.EVICTED, text, harmful=self._is_harmful_eviction(pod, step.at))
        if _is_rejected(pod) and not _is_rejected(before) and component.startswith("kubelet"):
            reason = pod["status"].get("reason", "")
            harmful = not over and reason not in _RUNTIME_REASONS and self._would_be_admitted(pod)
            yield observation(
                ObservationKind.REJECTED, f"rejected by its kubelet: {reason}", harmful=harmful, reason=reason
            )
        going = _is_terminating(pod, write) and not over
        if "daemonset-controller" in step.worker and going:
            harmful = self._is_harmful_removal(pod)
            yield observation(ObservationKind.REMOVED, "deleted by the daemonset controller", harmful=harmful)
        if going or (_is_finished(pod) and not _is_finished(before)):
            unasked = going and any(worker in step.worker for worker in _JUDGED_WORKERS)
            yield observation(ObservationKind.ENDED, "over", harmful=unasked)

    def _node_of(self, pod: ReadOnlyObject) -> ReadOnlyObject | None:
        return self.stored.list_objects(NODES).get(pod["spec"].get("nodeName", ""))

    def _is_harmful_eviction(self, pod: ReadOnlyObject, at: float) -> bool:
        """Return whether an evicted pod should stay, or stay longer."""
        node = self._node_of(pod)
        if node is None or self.intent.is_superseded(pod, self.stored):
            return False
        until = [
            self.times.tainted_since(pod, node, taint) + self.intent.toleration_seconds(pod, taint)
            for taint in evicting_taints(node)
        ]
        # Timers of the eviction may fire a moment early; half a second is no harm.
        return at + _EARLY_SECONDS < min(until, default=float("inf"))

    def _is_harmful_removal(self, pod: ReadOnlyObject) -> bool:
        """Return whether a removed daemon should stay."""
        node = self._node_of(pod)
        wanted = node is not None and self.intent.keeps_daemon(pod, node)
        return wanted and not self.intent.is_superseded(pod, self.stored)

    def _would_be_admitted(self, pod: ReadOnlyObject) -> bool:
        """Return whether the kubelet would admit a pod after its change."""
        if self.intent.is_superseded(pod, self.stored):
            return False
        where, uid = pod["spec"].get("nodeName", ""), pod["metadata"].get("uid", "")
        rules = self.intent.reference.admission_rules(where)
        others = [
            AdmittedPod.from_object(other, rules.requests)
            for other in self.stored.list_objects(PODS).values()
            if other["spec"].get("nodeName") == where
            and other["metadata"].get("uid") != uid
            and not _is_finished(other)
        ]
        return admit_pod(self.intent.restore_intended(pod), self._node_of(pod), others, rules).rejection is None


def _observe_event(step: TraceStep, write: TraceWrite) -> Iterator[Observation]:
    event = write.load_object()
    if event.get("reason") in _REJECTION_REASONS:
        about = event.get("involvedObject") or {}
        name = f"{about.get('namespace', '')}/{about.get('name', '')}"
        message = str(event.get("message", ""))
        uid = about.get("uid", "")
        yield Observation(
            ObservationKind.REFUSED, name, "", "kube-apiserver", step.at, "a pod of it is rejected", False, uid, message
        )


def _format_evicting_taints(node: ReadOnlyObject | None) -> str:
    found = list(evicting_taints(node)) if node is not None else []
    return f" for {', '.join(format_taint(one) for one in found)}" if found else ""


def _format_toleration(toleration: ReadOnlyObject) -> str:
    return " ".join(str(toleration[name]) for name in ("key", "operator", "value", "expression") if name in toleration)


def _is_evicted_by_taint(pod: ReadOnlyObject) -> bool:
    return any(
        one["type"] == "DisruptionTarget" and one["status"] == "True" and one.get("reason") == _EVICTED
        for one in (pod.get("status") or {}).get("conditions") or ()
    )


def _is_rejected(pod: ReadOnlyObject) -> bool:
    status = pod.get("status") or {}
    return status.get("phase") == "Failed" and bool(status.get("reason"))


def _is_finished(pod: ReadOnlyObject) -> bool:
    return (pod.get("status") or {}).get("phase") in _ENDED


def _is_terminating(pod: ReadOnlyObject, write: TraceWrite | None = None) -> bool:
    return bool(pod["metadata"].get("deletionTimestamp")) or (write is not None and write.verb == "delete")
