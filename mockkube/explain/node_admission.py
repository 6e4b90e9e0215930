"""Explain a pod on a node: whether the kubelet would admit it and the controller manager would keep it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from mockkube.api.kinds.core.pod.affinity import REQUIRED
from mockkube.api.requests import PodResourcesOptions, calculate_pod_requests
from mockkube.api.types import Object, ReadOnlyObject
from mockkube.controllers.nodelifecycle.node_health_map import NOT_READY, UNREACHABLE
from mockkube.controllers.pods.taint_eviction import NO_EXECUTE, min_toleration_seconds, no_execute_taints
from mockkube.explain import object_changes
from mockkube.explain.components import Member
from mockkube.explain.explanation import Obstacle, Remedy, Stage
from mockkube.explain.facts import text_of
from mockkube.explain.object_changes import Edit
from mockkube.explain.tolerations import Untolerated, compiled, first_untolerated
from mockkube.features.capabilities import Capabilities
from mockkube.kubelet.admission import AdmissionRules, Rejection, admit
from mockkube.kubelet.admitted_pod import Guest

# Taints of a node whose kubelet does not report.
_OF_SILENCE = (NOT_READY["key"], UNREACHABLE["key"])
# Bound on admission runs while shortages are collected.
_SHORTAGES_MAX = 5


@dataclass(frozen=True, slots=True)
class Lodging:
    """A pod on a node, the other pods there, and the components that decide about it."""

    pod: ReadOnlyObject
    node: ReadOnlyObject
    others: Sequence[ReadOnlyObject]
    kubelet: Member
    manager: Member
    # Whether the kubelet decides: a running pod is not admitted again until its kubelet restarts.
    entering: bool = True

    def obstacle(self) -> Obstacle | None:
        """Return what stops the pod; None if it can start and stay."""
        if self.entering and (rejection := self._refused()) is not None:
            return rejection
        return self._evicted()

    # The kubelet

    def _refused(self) -> Obstacle | None:
        """Return the kubelet's rejection."""
        if self.kubelet.idle:
            return Obstacle(Stage.ADMITTED, self.kubelet.name, f"does nothing: {self.kubelet.idle}")
        rejection = rejection_of(self)
        if rejection is None:
            return None
        taint, compared = self._compared(rejection.reason)
        text = f"refuses it on {self.node['metadata']['name']}: {rejection.reason}"
        detail = "; ".join(part for part in (rejection.message, compared) if part)
        missing = {rejection.resource: rejection.lack} if rejection.resource else {}
        return Obstacle(Stage.ADMITTED, self.kubelet.name, text, detail, taint, missing)

    def _compared(self, reason: str) -> tuple[ReadOnlyObject | None, str]:
        """Return the taint behind a rejection, and the compared facts that its message omits."""
        pod, node = self.kubelet.sees(self.pod), self.kubelet.sees(self.node)
        match reason:
            case "TaintToleration":
                found = first_untolerated(_tolerations(pod), node, self.kubelet.caps, (NO_EXECUTE,))
                return (None, "") if found is None else (found.taint, found.detail)
            case "NodeAffinity":
                return None, _affinity(pod, node)
        return None, ""

    # The controller manager

    def _evicted(self) -> Obstacle | None:
        """Return the eviction by the taint-eviction-controller, if that runs."""
        if self.manager.idle:
            return None
        pod, node = self.manager.sees(self.pod), self.manager.sees(self.node)
        own = compiled(_tolerations(pod), self.manager.caps)
        taints = no_execute_taints(node)
        seconds = min_toleration_seconds(taints, own)
        if seconds is None:
            return None
        found = first_untolerated(_tolerations(pod), node, self.manager.caps, (NO_EXECUTE,))
        if found is None:
            # Every taint is tolerated, but one for a limited time: the taint with the shortest time evicts the pod.
            taint = next(one for one in taints if min_toleration_seconds([one], own) == seconds)
            found = Untolerated(taint, text_of({"taint": taint}))
        when = f"{seconds:g} s after the taint came" if seconds else "at once"
        return Obstacle(Stage.KEPT, self.manager.name, f"evicts it {when}", found.detail, found.taint)

    # What would help

    def remedies(self) -> Iterator[Remedy]:
        """Yield the single changes after which the pod gets past what stops it."""
        obstacle = self.obstacle()
        if obstacle is None:
            return
        yield from (found for one in self._attempts(obstacle) if (found := self._remedy(obstacle, one)) is not None)

    def _remedy(self, obstacle: Obstacle, tried: "_Attempt") -> Remedy | None:
        """Return an attempt as a remedy if the pod gets further."""
        then = tried.lodging.obstacle()
        # An obstacle at the same stage is no progress; one at a later stage is, and stands in the column "but then".
        if then is not None and then.stage <= obstacle.stage:
            return None
        but = "" if then is None else then.told()
        return Remedy(tried.kind, tried.component, tried.change, self.node["metadata"]["name"], but)

    def _attempts(self, obstacle: Obstacle) -> "Iterator[_Attempt]":
        member = self.kubelet if obstacle.stage is Stage.ADMITTED else self.manager
        if member.idle:
            yield _Attempt("running", member.name, "works", replace(self, kubelet=replace(member, idle="")))
            return

        # The controller manager removes these taints as soon as the kubelet reports again.
        if self.kubelet.idle and obstacle.taint is not None and obstacle.taint.get("key") in _OF_SILENCE:
            reporting = object_changes.without_taint(self.node, obstacle.taint).obj
            yield _Attempt("running", self.kubelet.name, "works", replace(self, node=reporting))

        def attempt(kind: str, change: str, caps: Capabilities) -> _Attempt:
            return _Attempt(kind, member.name, change, self._able(obstacle.stage, caps))

        def helps(caps: Capabilities) -> bool:
            return self._remedy(obstacle, attempt("", "", caps)) is not None

        yield from (attempt(one.kind, one.change, one.caps) for one in member.standing.helpful(helps))
        yield from (_Attempt(edit.kind, "", edit.told, self._with(edit)) for edit in self._edits(obstacle))

    def _able(self, stage: Stage, caps: Capabilities) -> "Lodging":
        if stage is Stage.ADMITTED:
            return replace(self, kubelet=self.kubelet.able(caps))
        return replace(self, manager=self.manager.able(caps))

    def _edits(self, obstacle: Obstacle) -> Iterator[Edit]:
        if obstacle.taint is not None:
            yield object_changes.tolerating(self.pod, obstacle.taint)
            yield object_changes.without_taint(self.node, obstacle.taint)
        if obstacle.stage is Stage.ADMITTED:
            yield from object_changes.relaxed(self.pod)
            yield object_changes.roomier(self.node, self._all_missing() or wanted(self.pod, self.kubelet.caps))

    def _all_missing(self) -> dict[str, int]:
        """Return all missing amounts: the kubelet reports one resource at a time."""
        missing: dict[str, int] = {}
        now = self
        for _ in range(_SHORTAGES_MAX):
            rejection = rejection_of(now)
            if rejection is None or not rejection.resource:
                break
            missing[rejection.resource] = missing.get(rejection.resource, 0) + rejection.lack
            now = now._with(object_changes.roomier(now.node, {rejection.resource: rejection.lack}))
        return missing

    def _with(self, edit: Edit) -> "Lodging":
        return replace(self, pod=edit.obj) if edit.obj["kind"] == "Pod" else replace(self, node=edit.obj)


@dataclass(frozen=True, slots=True)
class _Attempt:
    """The same pod and node with one change: of a component, or, if that is empty, of an object."""

    kind: str
    component: str
    change: str
    lodging: Lodging


def wanted(pod: ReadOnlyObject, caps: Capabilities) -> dict[str, int]:
    """Return what a pod requests of the resources of a node."""
    requests = calculate_pod_requests(pod, PodResourcesOptions.from_capabilities(caps))
    amounts = {"cpu": requests.cpu_milli, "memory": requests.memory, **requests.scalars}
    return {name: amount for name, amount in amounts.items() if amount}


def rejection_of(lodging: Lodging) -> Rejection | None:
    """Return why the kubelet would reject the pod; None if it would admit it."""
    sees, rules = lodging.kubelet.sees, AdmissionRules.of(lodging.kubelet.caps)
    admitted = [Guest.of(sees(one), rules.requests) for one in lodging.others]
    return admit(sees(lodging.pod), sees(lodging.node), admitted, rules).refusal


def _tolerations(pod: ReadOnlyObject) -> Sequence[ReadOnlyObject]:
    return pod["spec"].get("tolerations") or ()


def _affinity(pod: ReadOnlyObject, node: ReadOnlyObject) -> str:
    """Return node selector and required node affinity in one line, compared with the node's labels."""
    asked: Object = ((pod["spec"].get("affinity") or {}).get("nodeAffinity") or {}).get(REQUIRED) or {}
    labels, selector = node["metadata"].get("labels") or {}, pod["spec"].get("nodeSelector") or {}
    return text_of({"labels": labels, "node_selector": selector, "required": asked})
