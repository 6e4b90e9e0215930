"""What a piece of a trace did to the workloads: who was evicted, rejected, taken away, and which fields disappeared."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from mockkube.api.types import ReadOnlyObject
from mockkube.cluster.trace import OPERATOR, Step, Write
from mockkube.proposals.view import lost
from mockkube.scenario.explore.intent import Intent
from mockkube.scenario.explore.mirror import EVENTS, NODES, PODS, Mirror

_EVICTED = "DeletionByTaintManager"
_ONLY_ADDED = "spec.tolerations"
"""Users may add tolerations to a pod that is there; where one goes, the API server has lost it."""


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing that happened to one object."""

    harm: str
    """The count of `Harm` it adds to, or `created`."""
    object: str
    """The name of the object, as it was drawn."""
    of: str
    """The workload it belongs to."""
    component: str
    at: float
    text: str
    meant_to_stay: bool = False
    """Whether the owner's manifest tolerates what it was taken away for."""
    uid: str = ""
    reason: str = ""
    """Why a kubelet refused it; of a field that was lost, its path."""

    def told(self) -> str:
        """Return it without anything that was drawn: the same in each walk."""
        return f"{self.of or self.object}: {self.text}"


def facts(steps: Iterable[Step], intent: Intent, mirror: Mirror) -> Iterator[Fact]:
    """Yield what happened, in order; `mirror` is followed on the way."""
    for step in steps:
        for write in step.writes:
            if write.resource == PODS:
                yield from _of_pod(step, write, intent, mirror)
            elif write.resource == EVENTS and write.verb != "delete":
                yield from _of_event(step, write)
        mirror.follow((step,))


def _of_pod(step: Step, write: Write, intent: Intent, mirror: Mirror) -> Iterator[Fact]:
    pod, before = write.object(), write.previous()
    own = intent.workload_of(pod)
    component = step.worker.partition("/")[0]
    name, of, uid = write.name, own.name if own else "", pod["metadata"].get("uid", "")
    node = mirror.all(NODES).get(pod["spec"].get("nodeName", ""))
    stays = intent.tolerates(pod, node)

    def fact(harm: str, text: str, *, stays: bool = False, reason: str = "") -> Fact:
        return Fact(harm, name, of, component, step.at, text, stays, uid, reason)

    if write.verb == "create":
        yield fact("created", "made")
        yield from (fact("lost", f"made without toleration {_shown(one)}") for one in intent.lost(pod))
        return
    if before is None:
        return
    if write.verb == "update":
        for path in _lost(before, pod, by_users=step.worker == OPERATOR):
            yield fact("lost", f"{path} is no longer stored: written by {component}", reason=path)
    if _disrupted(pod) and not _disrupted(before) and not _finished(before):
        yield fact("evicted", f"evicted from its node{_for(node)}", stays=stays)
    if _rejected(pod) and not _rejected(before) and component.startswith("kubelet"):
        reason = pod["status"].get("reason", "")
        yield fact("rejected", f"rejected by its kubelet: {reason}", stays=stays, reason=reason)
    if (
        "daemonset-controller" in step.worker
        and not _outdated(pod, mirror)
        and _going(pod, write)
        and not _going(before)
        and not _finished(before)
    ):
        yield fact("removed", "taken away by the daemonset controller", stays=stays)


def _lost(before: ReadOnlyObject, pod: ReadOnlyObject, *, by_users: bool) -> Iterator[str]:
    """Yield the fields that are no longer there; of what users wrote themselves, those that they cannot take away."""
    for path in lost(before["spec"], pod["spec"], "spec"):
        if not by_users or path.startswith(_ONLY_ADDED):
            yield path


def _of_event(step: Step, write: Write) -> Iterator[Fact]:
    event = write.object()
    if event.get("reason") == "FailedCreate":
        about = event.get("involvedObject") or {}
        name = f"{about.get('namespace', '')}/{about.get('name', '')}"
        yield Fact("refused", name, "", "kube-apiserver", step.at, "a pod of it is refused")


def _for(node: ReadOnlyObject | None) -> str:
    found = [one for one in (node or {}).get("spec", {}).get("taints") or () if one.get("effect") == "NoExecute"]
    return f" for {', '.join(taint_text(one) for one in found)}" if found else ""


def taint_text(taint: ReadOnlyObject) -> str:
    """Return a taint as kubectl writes it."""
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


def _outdated(pod: ReadOnlyObject, mirror: Mirror) -> bool:
    """Whether the template of its daemon set has changed since it was made."""
    owner = next((one["name"] for one in pod["metadata"].get("ownerReferences") or () if one.get("controller")), "")
    daemons = mirror.all("apps/daemonsets").get(f"{pod['metadata']['namespace']}/{owner}")
    generation = str((daemons or {}).get("metadata", {}).get("generation", ""))
    return (pod["metadata"].get("labels") or {}).get("pod-template-generation") != generation


def _finished(pod: ReadOnlyObject) -> bool:
    return (pod.get("status") or {}).get("phase") in ("Failed", "Succeeded")


def _going(pod: ReadOnlyObject, write: Write | None = None) -> bool:
    return bool(pod["metadata"].get("deletionTimestamp")) or (write is not None and write.verb == "delete")
