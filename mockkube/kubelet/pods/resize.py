"""In-place resize of pods: whether containers may get the resources of the spec.

Allocated resources are kept in the pod's status, so they survive a restart of the kubelet.
upstream 1.36: pkg/kubelet/allocation/{allocation_manager,handlers}.go, pkg/kubelet/events/resize.go
"""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.quantities.pod_requests import calculate_pod_requests
from mockkube.api.quantities.resources import Resources
from mockkube.features.capabilities import Capabilities
from mockkube.features.versions import Version
from mockkube.kubelet.admission.admitted_pod import AdmittedPod
from mockkube.kubelet.admission.handlers import AdmissionRules, Rejection
from mockkube.kubelet.containers.kubelet_event import KubeletEvent
from mockkube.lazy_dataclasses import dataclass

INFEASIBLE: Final = "Infeasible"
DEFERRED: Final = "Deferred"


@dataclass(frozen=True, slots=True)
class ResizeRules:
    """Resize behavior of a kubelet at one version and set of feature gates."""

    is_enabled: bool = True
    # Whether more than the node's allocatable is infeasible; since 1.36 it is deferred like any other shortage.
    has_infeasible: bool = False
    records_completed: bool = True
    records_all: bool = True

    @classmethod
    def from_capabilities(cls, caps: Capabilities) -> "ResizeRules":
        """Return the rules of a kubelet with these capabilities."""
        version = caps.version
        return cls(
            is_enabled=caps.enabled("InPlacePodVerticalScaling"),
            has_infeasible=version < Version(1, 36),
            records_completed=version >= Version(1, 34),
            records_all=version >= Version(1, 35),
        )


@dataclass(frozen=True, slots=True)
class PendingResize:
    """Reason and message of a pending resize."""

    reason: str
    message: str


def has_resize(pod: ReadOnlyObject) -> bool:
    """Return whether the spec of a running container differs from its allocated resources."""
    given = {one["name"]: one for one in _running_statuses(pod)}
    # A kubelet without the feature reported none, so there is nothing to compare with.
    if not any("resources" in one for one in (pod.get("status") or {}, *given.values())):
        return False
    return any(
        (given[one["name"]].get("resources") or {}) != (one.get("resources") or {})
        # Containers that do not run yet start with the resources of the spec, which is no resize.
        for one in _iterate_containers(pod["spec"])
        if one["name"] in given
    )


def make_resized_pod(pod: ReadOnlyObject, rules: AdmissionRules) -> AdmittedPod:
    """Return the admitted pod as it counts once it has all resources of its spec."""
    return AdmittedPod.from_object(pod, replace(rules.requests, use_status=False))


def with_allocated_resources(pod: ReadOnlyObject) -> ReadOnlyObject:
    """Return the pod with allocated resources in place of those of its spec."""
    given = {one["name"]: one.get("resources") or {} for one in _running_statuses(pod)}
    spec = dict(pod["spec"])
    for listed in ("initContainers", "containers"):
        if listed in spec:
            spec[listed] = [
                {**one, "resources": given[one["name"]]} if one["name"] in given else one for one in spec[listed]
            ]
    return {**pod, "spec": spec}


def find_infeasible(pod: ReadOnlyObject, node: ReadOnlyObject, rules: AdmissionRules) -> PendingResize | None:
    """Return why the resize is infeasible on the node, None if it is not."""
    wanted = calculate_pod_requests(pod, replace(rules.requests, use_status=False))
    allocatable = Resources.from_resource_list((node.get("status") or {}).get("allocatable") or {})
    for name, amount, most in (
        ("memory", wanted.memory, allocatable.memory),
        ("cpu", wanted.cpu_milli, allocatable.cpu_milli),
    ):
        if amount > most:
            message = f"Node didn't have enough capacity: {name}, requested: {amount}, capacity: {most}"
            return PendingResize(INFEASIBLE, message)
    return None


def make_deferred(rejection: Rejection) -> PendingResize:
    """Return the deferred resize for a failed admission."""
    return PendingResize(DEFERRED, rejection.message)


def completed_events(pod: ReadOnlyObject, rules: ResizeRules) -> tuple[KubeletEvent, ...]:
    """Return events of a resize that completes in the sync that starts it."""
    text = _format_summary(pod, rules, "")
    notes = []
    if rules.records_all:
        notes.append(KubeletEvent("Normal", "ResizeStarted", f"Pod resize started: {text}"))
    if rules.records_completed:
        notes.append(KubeletEvent("Normal", "ResizeCompleted", f"Pod resize completed: {text}"))
    return tuple(notes)


def pending_events(pod: ReadOnlyObject, pending: PendingResize, rules: ResizeRules) -> tuple[KubeletEvent, ...]:
    """Return the event of a pending resize, once per reason and generation."""
    if not rules.records_all or _is_recorded(pod, pending):
        return ()
    text = f"Pod resize {pending.reason}: {_format_summary(pod, rules, pending.message)}"
    return (KubeletEvent("Warning", f"Resize{pending.reason}", text),)


def _is_recorded(pod: ReadOnlyObject, pending: PendingResize) -> bool:
    """Return whether the condition in the status shows this pending resize already."""
    for condition in pod["status"].get("conditions") or ():
        if condition["type"] == "PodResizePending":
            generation = pod["metadata"].get("generation")
            return (condition.get("reason"), condition.get("observedGeneration")) == (pending.reason, generation)
    return False


def _format_summary(pod: ReadOnlyObject, rules: ResizeRules, error: str) -> str:
    """Return the resize as JSON in the field order of upstream's event message."""
    shown: Object = {}
    for listed in ("initContainers", "containers"):
        if containers := pod["spec"].get(listed):
            shown[listed] = [{"name": one["name"], "resources": _ordered_resources(one)} for one in containers]
    if rules.records_all:
        shown["generation"] = pod["metadata"].get("generation", 0)
    if error:
        shown["error"] = error
    return json.dumps(shown, separators=(",", ":"))


def _ordered_resources(container: ReadOnlyObject) -> Object:
    resources = container.get("resources") or {}
    return {side: dict(sorted(resources[side].items())) for side in ("limits", "requests") if resources.get(side)}


def _iterate_containers(spec: ReadOnlyObject) -> Iterator[ReadOnlyObject]:
    yield from spec.get("containers") or ()
    yield from spec.get("initContainers") or ()


def _running_statuses(pod: ReadOnlyObject) -> Iterator[ReadOnlyObject]:
    """Return statuses of running containers."""
    status = pod.get("status") or {}
    for listed in ("containerStatuses", "initContainerStatuses"):
        for one in status.get(listed) or ():
            if "running" in (one.get("state") or {}):
                yield one
