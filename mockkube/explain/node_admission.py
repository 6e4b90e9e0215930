"""A pod on a node: would the kubelet let it in, would the controller manager let it stay."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from mockkube.api.kinds.core.pod.affinity import REQUIRED
from mockkube.api.requests import RequestRules, pod_requests
from mockkube.api.types import Object, ReadOnlyObject
from mockkube.controllers.nodelifecycle.node_health_map import NOT_READY, UNREACHABLE
from mockkube.controllers.pods.taint_eviction import NO_EXECUTE, no_execute_taints, seconds_left
from mockkube.explain import object_changes
from mockkube.explain.components import Member
from mockkube.explain.explanation import Obstacle, Remedy, Stage
from mockkube.explain.facts import text_of
from mockkube.explain.object_changes import Edit
from mockkube.explain.tolerations import Untolerated, compiled, first_untolerated
from mockkube.features.capabilities import Capabilities
from mockkube.kubelet.admission import AdmissionRules, Rejection, admit
from mockkube.kubelet.admitted_pod import Guest

_OF_SILENCE = (NOT_READY["key"], UNREACHABLE["key"])
"""The taints of a node whose kubelet does not report."""
_SHORTAGES_MAX = 5
"""How many resources there may be too little of, at most."""


@dataclass(frozen=True, slots=True)
class Lodging:
    """A pod on a node, who else is there, and who has a say."""

    pod: ReadOnlyObject
    node: ReadOnlyObject
    others: Sequence[ReadOnlyObject]
    kubelet: Member
    manager: Member
    entering: bool = True
    """Whether the kubelet is asked: a pod that runs is not looked at again until its kubelet restarts."""

    def obstacle(self) -> Obstacle | None:
        """Return what the pod does not get past."""
        if self.entering and (refused := self._refused()) is not None:
            return refused
        return self._evicted()

    # The kubelet

    def _refused(self) -> Obstacle | None:
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
        """Return the taint that a refusal is about, and what was compared, where its message does not say it."""
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
        """Return that the taint-eviction-controller would not let it stay, if it runs."""
        if self.manager.idle:
            return None
        pod, node = self.manager.sees(self.pod), self.manager.sees(self.node)
        own = compiled(_tolerations(pod), self.manager.caps)
        taints = no_execute_taints(node)
        seconds = seconds_left(taints, own)
        if seconds is None:
            return None
        found = first_untolerated(_tolerations(pod), node, self.manager.caps, (NO_EXECUTE,))
        if found is None:
            taint = next(one for one in taints if seconds_left([one], own) == seconds)
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
        """Return an attempt as a remedy if the pod gets past what stops it."""
        then = tried.lodging.obstacle()
        if then is not None and then.stage <= obstacle.stage:
            return None
        but = "" if then is None else then.told()
        return Remedy(tried.kind, tried.component, tried.change, self.node["metadata"]["name"], but)

    def _attempts(self, obstacle: Obstacle) -> "Iterator[_Attempt]":
        member = self.kubelet if obstacle.stage is Stage.ADMITTED else self.manager
        if member.idle:
            yield _Attempt("running", member.name, "works", replace(self, kubelet=replace(member, idle="")))
            return

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
        """Return all there is too little of: the kubelet names one after the other."""
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
    """The same lodging with one thing changed: at a component, or, if that is empty, an object."""

    kind: str
    component: str
    change: str
    lodging: Lodging


def wanted(pod: ReadOnlyObject, caps: Capabilities) -> dict[str, int]:
    """Return what a pod asks for, as far as nodes have it."""
    asked = pod_requests(pod, RequestRules.of(caps))
    amounts = {"cpu": asked.cpu_milli, "memory": asked.memory, **asked.scalars}
    return {name: amount for name, amount in amounts.items() if amount}


def rejection_of(lodging: Lodging) -> Rejection | None:
    """Return why the kubelet would not let the pod in."""
    sees, rules = lodging.kubelet.sees, AdmissionRules.of(lodging.kubelet.caps)
    guests = [Guest.of(sees(one), rules.requests) for one in lodging.others]
    return admit(sees(lodging.pod), sees(lodging.node), guests, rules).refusal


def _tolerations(pod: ReadOnlyObject) -> Sequence[ReadOnlyObject]:
    return pod["spec"].get("tolerations") or ()


def _affinity(pod: ReadOnlyObject, node: ReadOnlyObject) -> str:
    asked: Object = ((pod["spec"].get("affinity") or {}).get("nodeAffinity") or {}).get(REQUIRED) or {}
    labels, selector = node["metadata"].get("labels") or {}, pod["spec"].get("nodeSelector") or {}
    return text_of({"labels": labels, "node_selector": selector, "required": asked})
