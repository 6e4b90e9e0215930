"""Explain a pod on a node: whether the kubelet would admit it and the controller manager would keep it."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.kinds.core.pod.affinity import REQUIRED
from mockkube.api.quantities.pod_requests import PodResourcesOptions, calculate_pod_requests
from mockkube.controllers.nodelifecycle.node_health_map import NOT_READY, UNREACHABLE
from mockkube.controllers.tainteviction.taint_eviction import NO_EXECUTE, min_toleration_seconds, no_execute_taints
from mockkube.explain import object_changes
from mockkube.explain.components import DecidingComponent
from mockkube.explain.explanation import Obstacle, PodProgress, Remedy
from mockkube.explain.fact_formatting import format_facts
from mockkube.explain.object_changes import ObjectEdit
from mockkube.explain.tolerations import UntoleratedTaint, compile_for_component, find_first_untolerated
from mockkube.features.capabilities import Capabilities
from mockkube.kubelet.admission.admitted_pod import AdmittedPod
from mockkube.kubelet.admission.handlers import AdmissionRules, Rejection, admit_pod
from mockkube.lazy_dataclasses import dataclass

# Taints of a node whose kubelet does not report.
_SILENT_KUBELET_TAINTS = (NOT_READY["key"], UNREACHABLE["key"])
# Bound on admission runs while shortages are collected.
_SHORTAGES_MAX = 5


@dataclass(frozen=True, slots=True)
class NodeAdmission:
    """A pod on a node, the other pods there, and the components that decide about it."""

    pod: ReadOnlyObject
    node: ReadOnlyObject
    others: Sequence[ReadOnlyObject]
    kubelet: DecidingComponent
    manager: DecidingComponent
    # Whether the kubelet decides: a running pod is not admitted again until its kubelet restarts.
    is_entering: bool = True

    def find_obstacle(self) -> Obstacle | None:
        """Return what stops the pod; None if it can start and stay."""
        if self.is_entering and (rejection := self._find_rejection()) is not None:
            return rejection
        return self._find_eviction()

    # The kubelet

    def _find_rejection(self) -> Obstacle | None:
        """Return the kubelet's rejection."""
        if self.kubelet.idle:
            return Obstacle(PodProgress.ADMITTED, self.kubelet.name, f"does nothing: {self.kubelet.idle}")
        rejection = find_rejection(self)
        if rejection is None:
            return None
        taint, compared = self._compared_facts(rejection.reason)
        text = f"rejects it on {self.node['metadata']['name']}: {rejection.reason}"
        detail = "; ".join(part for part in (rejection.message, compared) if part)
        missing = {rejection.resource: rejection.shortage} if rejection.resource else {}
        return Obstacle(PodProgress.ADMITTED, self.kubelet.name, text, detail, taint, missing)

    def _compared_facts(self, reason: str) -> tuple[ReadOnlyObject | None, str]:
        """Return the taint behind a rejection, and the compared facts that its message omits."""
        pod, node = self.kubelet.decode(self.pod), self.kubelet.decode(self.node)
        match reason:
            case "TaintToleration":
                found = find_first_untolerated(_get_tolerations(pod), node, self.kubelet.caps, (NO_EXECUTE,))
                return (None, "") if found is None else (found.taint, found.detail)
            case "NodeAffinity":
                return None, _format_affinity(pod, node)
        return None, ""

    # The controller manager

    def _find_eviction(self) -> Obstacle | None:
        """Return the eviction by the taint-eviction-controller, if that runs."""
        if self.manager.idle:
            return None
        pod, node = self.manager.decode(self.pod), self.manager.decode(self.node)
        own = compile_for_component(_get_tolerations(pod), self.manager.caps)
        taints = no_execute_taints(node)
        seconds = min_toleration_seconds(taints, own)
        if seconds is None:
            return None
        found = find_first_untolerated(_get_tolerations(pod), node, self.manager.caps, (NO_EXECUTE,))
        if found is None:
            # Every taint is tolerated, but one for a limited time: the taint with the shortest time evicts the pod.
            taint = next(one for one in taints if min_toleration_seconds([one], own) == seconds)
            found = UntoleratedTaint(taint, format_facts({"taint": taint}))
        when = f"{seconds:g} s after the taint came" if seconds else "at once"
        return Obstacle(PodProgress.KEPT, self.manager.name, f"evicts it {when}", found.detail, found.taint)

    # What would help

    def find_remedies(self) -> Iterator[Remedy]:
        """Yield the single changes after which the pod gets past what stops it."""
        obstacle = self.find_obstacle()
        if obstacle is None:
            return
        yield from (
            found for one in self._list_attempts(obstacle) if (found := self._as_remedy(obstacle, one)) is not None
        )

    def _as_remedy(self, obstacle: Obstacle, tried: "_AdmissionAttempt") -> Remedy | None:
        """Return an attempt as a remedy if the pod gets further."""
        then = tried.admission.find_obstacle()
        # An obstacle at the same stage is no progress; one at a later stage is, and stands in the column "but then".
        if then is not None and then.stage <= obstacle.stage:
            return None
        but = "" if then is None else then.describe()
        return Remedy(tried.kind, tried.component, tried.change, self.node["metadata"]["name"], but)

    def _list_attempts(self, obstacle: Obstacle) -> "Iterator[_AdmissionAttempt]":
        member = self.kubelet if obstacle.stage is PodProgress.ADMITTED else self.manager
        if member.idle:
            yield _AdmissionAttempt("running", member.name, "works", replace(self, kubelet=replace(member, idle="")))
            return

        # The controller manager removes these taints as soon as the kubelet reports again.
        if self.kubelet.idle and obstacle.taint is not None and obstacle.taint.get("key") in _SILENT_KUBELET_TAINTS:
            reporting = object_changes.remove_taint(self.node, obstacle.taint).obj
            yield _AdmissionAttempt("running", self.kubelet.name, "works", replace(self, node=reporting))

        def attempt(kind: str, change: str, caps: Capabilities) -> _AdmissionAttempt:
            return _AdmissionAttempt(kind, member.name, change, self._with_capabilities(obstacle.stage, caps))

        def helps(caps: Capabilities) -> bool:
            return self._as_remedy(obstacle, attempt("", "", caps)) is not None

        yield from (attempt(one.kind, one.change, one.caps) for one in member.features.find_helpful(helps))
        yield from (
            _AdmissionAttempt(edit.kind, "", edit.description, self._with_edit(edit))
            for edit in self._list_edits(obstacle)
        )

    def _with_capabilities(self, stage: PodProgress, caps: Capabilities) -> "NodeAdmission":
        if stage is PodProgress.ADMITTED:
            return replace(self, kubelet=self.kubelet.with_capabilities(caps))
        return replace(self, manager=self.manager.with_capabilities(caps))

    def _list_edits(self, obstacle: Obstacle) -> Iterator[ObjectEdit]:
        if obstacle.taint is not None:
            yield object_changes.add_toleration(self.pod, obstacle.taint)
            yield object_changes.remove_taint(self.node, obstacle.taint)
        if obstacle.stage is PodProgress.ADMITTED:
            yield from object_changes.remove_constraints(self.pod)
            yield object_changes.add_capacity(
                self.node, self._missing_amounts() or requested_amounts(self.pod, self.kubelet.caps)
            )

    def _missing_amounts(self) -> dict[str, int]:
        """Return all missing amounts: the kubelet reports one resource at a time."""
        missing: dict[str, int] = {}
        now = self
        for _ in range(_SHORTAGES_MAX):
            rejection = find_rejection(now)
            if rejection is None or not rejection.resource:
                break
            missing[rejection.resource] = missing.get(rejection.resource, 0) + rejection.shortage
            now = now._with_edit(object_changes.add_capacity(now.node, {rejection.resource: rejection.shortage}))
        return missing

    def _with_edit(self, edit: ObjectEdit) -> "NodeAdmission":
        return replace(self, pod=edit.obj) if edit.obj["kind"] == "Pod" else replace(self, node=edit.obj)


@dataclass(frozen=True, slots=True)
class _AdmissionAttempt:
    """The same pod and node with one change: of a component, or, if that is empty, of an object."""

    kind: str
    component: str
    change: str
    admission: NodeAdmission


def requested_amounts(pod: ReadOnlyObject, caps: Capabilities) -> dict[str, int]:
    """Return what a pod requests of the resources of a node."""
    requests = calculate_pod_requests(pod, PodResourcesOptions.from_capabilities(caps))
    amounts = {"cpu": requests.cpu_milli, "memory": requests.memory, **requests.scalars}
    return {name: amount for name, amount in amounts.items() if amount}


def find_rejection(admission: NodeAdmission) -> Rejection | None:
    """Return why the kubelet would reject the pod; None if it would admit it."""
    sees, rules = admission.kubelet.decode, AdmissionRules.from_capabilities(admission.kubelet.caps)
    admitted = [AdmittedPod.from_object(sees(one), rules.requests) for one in admission.others]
    return admit_pod(sees(admission.pod), sees(admission.node), admitted, rules).rejection


def _get_tolerations(pod: ReadOnlyObject) -> Sequence[ReadOnlyObject]:
    return pod["spec"].get("tolerations") or ()


def _format_affinity(pod: ReadOnlyObject, node: ReadOnlyObject) -> str:
    """Return node selector and required node affinity in one line, compared with the node's labels."""
    required: Object = ((pod["spec"].get("affinity") or {}).get("nodeAffinity") or {}).get(REQUIRED) or {}
    labels, selector = node["metadata"].get("labels") or {}, pod["spec"].get("nodeSelector") or {}
    return format_facts({"labels": labels, "node_selector": selector, "required": required})
