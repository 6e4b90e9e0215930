"""Impact on the components that place and evict pods, when they lose a gate or go back to an older version.

Tolerations and node affinity are decoded and compiled twice: as the component does now, and as it would do then. If
the node of a pod is known, the pod is matched with its taints; if not, the reason names the taints it depends on.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.features.components import CONTROLLER_MANAGER, KUBELET, SCHEDULER
from mockkube.lazy_dataclasses import dataclass
from mockkube.matching import taints
from mockkube.matching.cel.tolerations import ExpressionCache
from mockkube.matching.pods import is_finished
from mockkube.matching.taints import TaintRules
from mockkube.proposals import kep_5500, scheduling_fields
from mockkube.proposals.component_extensions import make_device_taint_rules, make_selector_operators, make_taint_rules
from mockkube.proposals.component_view import ComponentView, find_lost_paths
from mockkube.proposals.scheduling_fields import LocatedValue
from mockkube.proposals.server_impact import ScanFinding, make_finding

_EVICTING_EFFECTS: Final = ("NoExecute",)
_REPELLING_EFFECTS: Final = ("NoSchedule", "NoExecute")

# Taints of the known nodes, by name.
Taints = Mapping[str, Sequence[ReadOnlyObject]]


@dataclass(frozen=True, slots=True)
class PlacementImpact:
    """One component before and after the change, and the taints of the known nodes."""

    component: str
    before: ComponentView
    after: ComponentView
    nodes: Taints

    def find_impact(self, obj: ReadOnlyObject) -> Iterator[ScanFinding]:
        """Yield what breaks for an object at this component."""
        if not (self.before.is_served(obj) and self.after.is_served(obj)):
            return
        old = self.before.decode(obj)
        new = self.after.decode(old)
        # A finished pod is neither scheduled nor evicted any more.
        if old["kind"] == "Pod" and is_finished(old):
            return
        yield from self._find_weaker_tolerations(old, new)
        yield from self._find_dead_affinity(old)
        yield from self._find_dead_device_tolerations(old)
        yield from self._find_unknown_fields(old, new)

    def _find_weaker_tolerations(self, old: ReadOnlyObject, new: ReadOnlyObject) -> Iterator[ScanFinding]:
        spec, new_spec = scheduling_fields.pod_spec(old), scheduling_fields.pod_spec(new)
        if spec is None or new_spec is None:
            return
        old_rules, new_rules = _make_rules(self.before), _make_rules(self.after)
        pairs = zip(scheduling_fields.tolerations(spec), scheduling_fields.tolerations(new_spec), strict=True)
        for part, rest in pairs:
            why = _describe_weakening(part.value, rest.value, old_rules, new_rules, self.after)
            if why and (outcome := self._describe_outcome(old, spec, new_spec, part)):
                yield make_finding(self.component, old, part.at, f"{why}: {outcome}")

    def _describe_outcome(
        self, old: ReadOnlyObject, spec: LocatedValue, new_spec: LocatedValue, part: LocatedValue
    ) -> str:
        """Return the consequence for the pods; empty if the component ignores such a toleration."""
        effect = part.value.get("effect", "")
        is_pod, node = old["kind"] == "Pod", spec.value.get("nodeName", "")
        match self.component:
            # A pod that is bound is no longer the scheduler's business.
            case "kube-scheduler" if is_pod and node:
                return ""
            case "kube-scheduler" if effect == "PreferNoSchedule":
                return "such taints count against a node"
            case "kube-scheduler":
                nodes = self._newly_closed_nodes(spec, new_spec) if is_pod else []
                closed = f" ({', '.join(nodes)})" if nodes else ""
                return f"{'it stays' if is_pod else 'its pods stay'} Pending where only such nodes are left{closed}"
            # The daemon set controller decides by itself on which nodes its pods belong, taints included.
            case "kube-controller-manager" if old["kind"] == "DaemonSet" and effect != "PreferNoSchedule":
                return "nodes with such a taint get no daemon pod, and with NoExecute lose theirs"
        if effect not in ("", *_EVICTING_EFFECTS) or (is_pod and not node):
            return ""
        return (
            self._describe_eviction(spec, new_spec)
            if node in self.nodes
            else self._describe_possible_eviction(is_pod=is_pod)
        )

    def _newly_closed_nodes(self, spec: LocatedValue, new_spec: LocatedValue) -> list[str]:
        """Return the known nodes that would no longer take the pod."""
        return [
            name
            for name, given in self.nodes.items()
            if self._find_newly_untolerated(given, spec, new_spec, _REPELLING_EFFECTS)
        ]

    def _describe_eviction(self, spec: LocatedValue, new_spec: LocatedValue) -> str:
        node = spec.value["nodeName"]
        taint = self._find_newly_untolerated(self.nodes[node], spec, new_spec, _EVICTING_EFFECTS)
        if taint is None:
            return ""
        shown = f"{taint['key']}={taint.get('value', '')}:{taint['effect']}"
        if self.component == KUBELET:
            return f"refused by {node} when the kubelet restarts, for its taint {shown}"
        return f"evicted immediately from {node}, for its taint {shown}"

    def _describe_possible_eviction(self, *, is_pod: bool) -> str:
        if self.component == KUBELET:
            return f"{'refused' if is_pod else 'its pods are refused'} by a node with such a NoExecute taint"
        return f"{'evicted' if is_pod else 'its pods are evicted'} immediately from a node with such a NoExecute taint"

    def _find_newly_untolerated(
        self, given: Sequence[ReadOnlyObject], spec: LocatedValue, new_spec: LocatedValue, effects: Sequence[str]
    ) -> ReadOnlyObject | None:
        old_tolerations = taints.compile_tolerations(spec.value.get("tolerations", ()), _make_rules(self.before))
        new_tolerations = taints.compile_tolerations(new_spec.value.get("tolerations", ()), _make_rules(self.after))
        if taints.find_untolerated(given, old_tolerations, effects) is not None:
            return None
        return taints.find_untolerated(given, new_tolerations, effects)

    def _find_dead_affinity(self, old: ReadOnlyObject) -> Iterator[ScanFinding]:
        """Yield the terms that would no longer select any node, as the component uses them."""
        removed_operators = (
            make_selector_operators(self.before.caps).keys() - make_selector_operators(self.after.caps).keys()
        )
        if old["kind"] == "PersistentVolume":
            if self.component == SCHEDULER:
                terms = scheduling_fields.selector_terms(scheduling_fields.volume_selector(old))
                yield from self._dead_terms(old, terms, removed_operators, "pods that use the volume stay Pending")
            return
        spec = scheduling_fields.pod_spec(old)
        if spec is None:
            return
        affinity = scheduling_fields.node_affinity(spec)
        if outcome := self._describe_unselected(old, spec):
            yield from self._dead_terms(old, scheduling_fields.required_terms(affinity), removed_operators, outcome)
        if self.component == SCHEDULER and not spec.value.get("nodeName"):
            yield from self._dead_terms(
                old, scheduling_fields.preferred_terms(affinity), removed_operators, "the preference is ignored"
            )

    def _describe_unselected(self, old: ReadOnlyObject, spec: LocatedValue) -> str:
        is_pod, bound = old["kind"] == "Pod", bool(spec.value.get("nodeName"))
        match self.component:
            case "kube-scheduler" if not bound:
                return f"{'it stays' if is_pod else 'its pods stay'} Pending unless another term fits"
            case "kubelet" if bound or not is_pod:
                return f"{'refused' if is_pod else 'its pods are refused'} by the kubelet, also when it restarts"
            case "kube-controller-manager" if old["kind"] == "DaemonSet":
                return "nodes that fit by it get no daemon pod, and lose theirs"
        return ""

    def _dead_terms(
        self, old: ReadOnlyObject, terms: Iterable[LocatedValue], removed_operators: Iterable[str], outcome: str
    ) -> Iterator[ScanFinding]:
        removed = frozenset(removed_operators)
        for term in terms:
            for part in scheduling_fields.requirements(term):
                if (operator := part.value.get("operator", "")) in removed:
                    yield make_finding(self.component, old, part.at, f"operator {operator} selects no node: {outcome}")

    def _find_dead_device_tolerations(self, old: ReadOnlyObject) -> Iterator[ScanFinding]:
        if self.component not in (SCHEDULER, CONTROLLER_MANAGER):
            return
        removed_operators = (
            make_device_taint_rules(self.before.caps).operators.keys()
            - make_device_taint_rules(self.after.caps).operators.keys()
        )
        outcome = (
            "such devices are not allocated" if self.component == SCHEDULER else "pods on such devices are evicted"
        )
        for part in scheduling_fields.device_tolerations(old):
            if (operator := part.value.get("operator", "")) in removed_operators:
                yield make_finding(self.component, old, part.at, f"operator {operator} matches nothing: {outcome}")

    def _find_unknown_fields(self, old: ReadOnlyObject, new: ReadOnlyObject) -> Iterator[ScanFinding]:
        """Yield the other fields of pods that the version does not know."""
        spec, new_spec = scheduling_fields.pod_spec(old), scheduling_fields.pod_spec(new)
        if spec is None or new_spec is None:
            return
        makes = self.component == CONTROLLER_MANAGER and old["kind"] != "Pod"
        outcome = "the pods it makes lack it" if makes else "it has no effect"
        for field in find_lost_paths(spec.value, new_spec.value, spec.at):
            # Tolerations have their own findings, which also say what follows.
            if not field.startswith(f"{spec.at}.tolerations["):
                yield make_finding(self.component, old, field, f"{self.after.caps.version} does not know it: {outcome}")


def _make_rules(view: ComponentView) -> TaintRules:
    return make_taint_rules(view.caps, ExpressionCache().compile_expression)


def _describe_weakening(
    old: ReadOnlyObject, new: ReadOnlyObject, old_rules: TaintRules, new_rules: TaintRules, after: ComponentView
) -> str:
    """Return why a toleration would match fewer or other taints; empty if it would not."""
    if "expression" in old:
        if old_rules.expressions is None:
            return ""
        if "expression" not in new:
            # An older version drops the field it does not know; an empty toleration with no key tolerates nearly
            # everything.
            rest = "" if new else ", and what is left, {}, tolerates every taint without a value"
            return f"{after.caps.version} does not know expression{rest}"
        return "" if new_rules.expressions else f"expression matches nothing without {kep_5500.GATE}"
    operator = old.get("operator", "")
    if operator in old_rules.operators and operator not in new_rules.operators:
        return f"operator {operator} matches nothing"
    return ""
