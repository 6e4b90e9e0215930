"""Observe what a part of a trace did to workloads: evictions, rejections, removals, lost fields.

Consequences of operators' actions are no harm: pods that they delete, drain, scale down or roll out, and pods that
would end in the same way if every component had changed.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from mockkube.api.catalogue import POD_SPEC_PATHS
from mockkube.api.types import ReadOnlyObject
from mockkube.cluster.trace import OPERATOR, Step, Write
from mockkube.kubelet.admission import admit
from mockkube.kubelet.admitted_pod import Guest
from mockkube.proposals import places
from mockkube.proposals.view import find_lost_paths
from mockkube.scenario.explore.intent import Intent
from mockkube.scenario.explore.mirror import EVENTS, NODES, PODS, Mirror
from mockkube.scenario.explore.taint_times import TaintTimes, evicting

_EVICTED: Final = "DeletionByTaintManager"
_REFUSALS: Final = ("FailedCreate", "ReplicaSetCreateError")
# Workers whose deletions are judged one by one; others delete what operators or owners no longer want.
_UNASKED: Final = ("taint-eviction", "daemonset-controller")
# Reasons for which a kubelet ends a pod that it had admitted.
_LATER: Final = ("DeadlineExceeded", "Evicted", "Preempting", "Terminated", "NodeShutdown")
_ENDED: Final = ("Failed", "Succeeded")
_EARLY_SECONDS: Final = 0.5


@dataclass(frozen=True, slots=True)
class Fact:
    """One observation about one object."""

    # The count of `Harm` it adds to, or `created`, `ended`.
    harm: str
    # Name of the object, with generated parts.
    object: str
    # Workload of the object.
    of: str
    component: str
    at: float
    text: str
    # True if it would not have happened had every component changed, and no operator asked for it.
    harmful: bool = False
    uid: str = ""
    # Reason of a kubelet's rejection; for a lost field, its path.
    reason: str = ""
    kind: str = "Pod"

    def told(self) -> str:
        """Return the observation without generated names, so that it is the same on each path."""
        return f"{self.of or self.object}: {self.text}"


def facts(steps: Iterable[Step], intent: Intent, mirror: Mirror, times: TaintTimes) -> Iterator[Fact]:
    """Yield observations in order, while bringing intent, stored objects and times up to date."""
    observer = _Observer(intent, mirror, times)
    for step in steps:
        times.follow(step)
        for write in step.writes:
            yield from observer.written(step, write)
        # After its writes were observed: they are judged by what was stored before the step.
        mirror.follow((step,))


@dataclass(frozen=True, slots=True)
class _Observer:
    """Observes writes with the intent of operators, the stored objects and the times of taints."""

    intent: Intent
    mirror: Mirror
    times: TaintTimes

    def written(self, step: Step, write: Write) -> Iterator[Fact]:
        if write.resource == EVENTS:
            if write.verb != "delete":
                yield from _of_event(step, write)
            return
        by_operator = step.worker == OPERATOR
        unstored = self.intent.observe(write, by_operator=by_operator)
        kind = write.object().get("kind", "")
        if kind not in POD_SPEC_PATHS:
            return
        yield from self._unstored(step, write, unstored)
        if not by_operator and write.verb == "update":
            yield from self._dropped(step, write)
        if kind == "Pod":
            yield from self._of_pod(step, write)

    def _unstored(self, step: Step, write: Write, paths: Iterable[str]) -> Iterator[Fact]:
        obj = write.object()
        for path in paths:
            yield self._lost(step, write, obj, f"{path} is not stored, although it was requested", path)

    def _dropped(self, step: Step, write: Write) -> Iterator[Fact]:
        """Yield fields of pods and templates that were lost when a component wrote the object."""
        obj, before = write.object(), write.previous()
        part, old = places.pod_spec(obj), places.pod_spec(before) if before is not None else None
        if part is None or old is None:
            return
        component = step.worker.partition("/")[0]
        for path in find_lost_paths(old.value, part.value, part.at):
            yield self._lost(step, write, obj, f"{path} is no longer stored: written by {component}", path)

    def _lost(self, step: Step, write: Write, obj: ReadOnlyObject, text: str, path: str) -> Fact:
        own = self.intent.workload_of(obj)
        name, uid = own.name if own is not None else "", obj["metadata"].get("uid", "")
        component = step.worker.partition("/")[0]
        return Fact("lost", write.name, name, component, step.at, text, True, uid, path, obj["kind"])

    def _of_pod(self, step: Step, write: Write) -> Iterator[Fact]:
        pod, before = write.object(), write.previous()
        own = self.intent.workload_of(pod)
        component = step.worker.partition("/")[0]
        name, of, uid = write.name, own.name if own is not None else "", pod["metadata"].get("uid", "")

        def fact(harm: str, text: str, *, harmful: bool = False, reason: str = "") -> Fact:
            return Fact(harm, name, of, component, step.at, text, harmful, uid, reason)

        if write.verb == "create":
            yield fact("created", "made")
            if own is not None and own.uid != uid:
                lacking = [f"toleration {_shown(one)}" for one in self.intent.lost(pod)]
                for what in [*lacking, *self.intent.lost_paths(pod)]:
                    yield fact("lost", f"made without {what}", harmful=True, reason=what)
            return
        if before is None:
            return
        over = _going(before) or _finished(before)
        if _disrupted(pod) and not _disrupted(before) and not over:
            text = f"evicted from its node{_for(self._node(pod))}"
            yield fact("evicted", text, harmful=self._evicted_unasked(pod, step.at))
        if _rejected(pod) and not _rejected(before) and component.startswith("kubelet"):
            reason = pod["status"].get("reason", "")
            harmful = not over and reason not in _LATER and self._would_be_admitted(pod)
            yield fact("rejected", f"rejected by its kubelet: {reason}", harmful=harmful, reason=reason)
        going = _going(pod, write) and not over
        if "daemonset-controller" in step.worker and going:
            harmful = self._removed_unasked(pod)
            yield fact("removed", "taken away by the daemonset controller", harmful=harmful)
        if going or (_finished(pod) and not _finished(before)):
            unasked = going and any(worker in step.worker for worker in _UNASKED)
            yield fact("ended", "over", harmful=unasked)

    def _node(self, pod: ReadOnlyObject) -> ReadOnlyObject | None:
        return self.mirror.all(NODES).get(pod["spec"].get("nodeName", ""))

    def _evicted_unasked(self, pod: ReadOnlyObject, at: float) -> bool:
        """Return whether an evicted pod should stay, or stay longer."""
        node = self._node(pod)
        if node is None or self.intent.superseded(pod, self.mirror):
            return False
        until = [
            self.times.since(pod, node, taint) + self.intent.toleration_seconds(pod, taint) for taint in evicting(node)
        ]
        # Timers of the eviction may fire a moment early; half a second is no harm.
        return at + _EARLY_SECONDS < min(until, default=float("inf"))

    def _removed_unasked(self, pod: ReadOnlyObject) -> bool:
        """Return whether a removed daemon should stay."""
        node = self._node(pod)
        wanted = node is not None and self.intent.daemon_stays(pod, node)
        return wanted and not self.intent.superseded(pod, self.mirror)

    def _would_be_admitted(self, pod: ReadOnlyObject) -> bool:
        """Return whether the kubelet would admit a pod after its change."""
        if self.intent.superseded(pod, self.mirror):
            return False
        where, uid = pod["spec"].get("nodeName", ""), pod["metadata"].get("uid", "")
        rules = self.intent.reference.admission(where)
        others = [
            Guest.of(other, rules.requests)
            for other in self.mirror.all(PODS).values()
            if other["spec"].get("nodeName") == where and other["metadata"].get("uid") != uid and not _finished(other)
        ]
        return admit(self.intent.meant(pod), self._node(pod), others, rules).refusal is None


def _of_event(step: Step, write: Write) -> Iterator[Fact]:
    event = write.object()
    if event.get("reason") in _REFUSALS:
        about = event.get("involvedObject") or {}
        name = f"{about.get('namespace', '')}/{about.get('name', '')}"
        message = str(event.get("message", ""))
        uid = about.get("uid", "")
        yield Fact("refused", name, "", "kube-apiserver", step.at, "a pod of it is refused", False, uid, message)


def _for(node: ReadOnlyObject | None) -> str:
    found = list(evicting(node)) if node is not None else []
    return f" for {', '.join(taint_text(one) for one in found)}" if found else ""


def taint_text(taint: ReadOnlyObject) -> str:
    """Return a taint in kubectl's notation."""
    value = f"={taint['value']}" if taint.get("value") else ""
    return f"{taint['key']}{value}:{taint.get('effect', '')}"


def _shown(toleration: ReadOnlyObject) -> str:
    return " ".join(str(toleration[name]) for name in ("key", "operator", "value", "expression") if name in toleration)


def _disrupted(pod: ReadOnlyObject) -> bool:
    return any(
        one["type"] == "DisruptionTarget" and one["status"] == "True" and one.get("reason") == _EVICTED
        for one in (pod.get("status") or {}).get("conditions") or ()
    )


def _rejected(pod: ReadOnlyObject) -> bool:
    status = pod.get("status") or {}
    return status.get("phase") == "Failed" and bool(status.get("reason"))


def _finished(pod: ReadOnlyObject) -> bool:
    return (pod.get("status") or {}).get("phase") in _ENDED


def _going(pod: ReadOnlyObject, write: Write | None = None) -> bool:
    return bool(pod["metadata"].get("deletionTimestamp")) or (write is not None and write.verb == "delete")
