"""Topology spread constraints, compiled: a pod's own, or default ones.

upstream 1.36: pkg/scheduler/framework/plugins/podtopologyspread/common.go, plugins/helper/spread.go
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Final

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.selectors.errors import BadSelector
from mockkube.api.selectors.labels import (
    EVERYTHING,
    LabelRequirement,
    LabelSelector,
    SelectorOperator,
    from_label_selector,
)
from mockkube.client.informer import InformerFactory
from mockkube.client.protocol import Key
from mockkube.features.capabilities import Capabilities
from mockkube.lazy_dataclasses import dataclass
from mockkube.proposals.kep_3094 import NodeInclusionPolicies, are_policies_supported
from mockkube.scheduler.framework.node_info import NodeInfo
from mockkube.scheduler.framework.pod_info import PodInfo

HOSTNAME: Final = "kubernetes.io/hostname"
DO_NOT_SCHEDULE: Final = "DoNotSchedule"
SCHEDULE_ANYWAY: Final = "ScheduleAnyway"
_LABEL_KEYS_GATE: Final = "MatchLabelKeysInPodTopologySpread"
SYSTEM_DEFAULTS: Final[Sequence[ReadOnlyObject]] = (
    {"topologyKey": HOSTNAME, "whenUnsatisfiable": SCHEDULE_ANYWAY, "maxSkew": 3},
    {"topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": SCHEDULE_ANYWAY, "maxSkew": 5},
)
# Controllers whose selectors default constraints use, by kind and apiVersion, with the kinds of their informers.
_CONTROLLER_KINDS: Final[Mapping[tuple[str, str], str]] = {
    ("ReplicationController", "v1"): "ReplicationController",
    ("ReplicaSet", "apps/v1"): "ReplicaSet",
    ("StatefulSet", "apps/v1"): "StatefulSet",
}


_SELECTED: Final = "selected by"


@dataclass(frozen=True, slots=True)
class SpreadConstraint:
    """Spread constraint of a pod; equal constraints give equal results for the same nodes and pods."""

    max_skew: int
    topology_key: str
    selector_key: str
    """Namespace and selector of the counted pods, as text."""
    min_domains: int
    policies: NodeInclusionPolicies
    namespace: str = field(compare=False)
    selector: LabelSelector = field(compare=False)

    def selects(self, labels: Mapping[str, str]) -> bool:
        """Return whether a pod with these labels is counted."""
        return self.selector.matches(labels)

    def count_pods_on(self, node: NodeInfo) -> int:
        """Return the number of counted pods on a node, without terminating ones; an empty selector counts none."""
        return 0 if self.selector.is_empty else node.derive(self.selector_key, self._count)

    def selects_pods_on(self, node: NodeInfo) -> bool:
        """Return whether the selector matches a pod on a node, terminating or not."""
        return node.derive((_SELECTED, self.selector_key), self._selects_any)

    def _selects_any(self, node: NodeInfo) -> bool:
        return any(pod.namespace == self.namespace and self.selects(pod.labels) for pod in node.pods.values())

    def _count(self, node: NodeInfo) -> int:
        namespace, matches, count = self.namespace, self.selector.matches, 0
        for pod in node.pods.values():
            if pod.namespace == namespace and matches(pod.labels) and not pod.terminating:
                count += 1
        return count


@dataclass(frozen=True, slots=True)
class SupportedFields:
    """Fields of constraints that the scheduler supports."""

    label_keys: bool
    policies: bool

    @classmethod
    def from_capabilities(cls, caps: Capabilities) -> "SupportedFields":
        """Return the supported fields."""
        return cls(caps.enabled(_LABEL_KEYS_GATE), are_policies_supported(caps))


def compile_constraints(
    constraints: Iterable[ReadOnlyObject], action: str, pod: PodInfo, supported: SupportedFields
) -> list[SpreadConstraint]:
    """Compile the constraints with this action; raise BadSelector."""
    return [
        _compile_constraint(
            constraint,
            _compile_selector(constraint, pod.labels if supported.label_keys else {}),
            pod.namespace,
            supported,
        )
        for constraint in constraints
        if constraint.get("whenUnsatisfiable") == action
    ]


def _compile_constraint(
    constraint: ReadOnlyObject, selector: LabelSelector, namespace: str, supported_fields: SupportedFields
) -> SpreadConstraint:
    return SpreadConstraint(
        max_skew=constraint["maxSkew"],
        topology_key=constraint["topologyKey"],
        selector_key=f"spread/{namespace}/{selector.is_empty:d}/{selector}",
        min_domains=constraint.get("minDomains") or 1,
        policies=NodeInclusionPolicies.from_constraint(constraint)
        if supported_fields.policies
        else NodeInclusionPolicies(),
        namespace=namespace,
        selector=selector,
    )


def _compile_selector(constraint: ReadOnlyObject, labels: Mapping[str, str]) -> LabelSelector:
    """Return the selector with the pod's values of matchLabelKeys added; a selector of nothing is not changed."""
    given = constraint.get("labelSelector")
    selector = from_label_selector(given)
    own = {key: labels[key] for key in constraint.get("matchLabelKeys") or () if key in labels}
    return selector if given is None or not own else _with_labels(selector, own)


def _with_labels(selector: LabelSelector, labels: Mapping[str, str]) -> LabelSelector:
    wanted = tuple(LabelRequirement(key, SelectorOperator.EQUALS, (value,)) for key, value in labels.items())
    return LabelSelector((*wanted, *selector.requirements)) if wanted else selector


class DefaultConstraints:
    """Constraints for pods without their own, with the selectors of their services and controller."""

    def __init__(
        self, constraints: Sequence[ReadOnlyObject], informers: InformerFactory, supported_fields: SupportedFields
    ) -> None:
        self.constraints = constraints
        self._supported_fields = supported_fields
        if constraints:
            self._services = informers.informer_for("Service").index("a label of the selector", _selector_index_key)
            self._owners = {kind: informers.informer_for(kind) for kind in _CONTROLLER_KINDS.values()}

    def for_pod(self, pod: PodInfo, action: str) -> list[SpreadConstraint]:
        """Return the constraints with this action; none for a pod that nothing selects."""
        wanted = [one for one in self.constraints if one["whenUnsatisfiable"] == action]
        if not wanted:
            return []
        selector = self._default_selector(pod)
        if selector.is_empty:
            return []
        return [_compile_constraint(one, selector, pod.namespace, self._supported_fields) for one in wanted]

    def _default_selector(self, pod: PodInfo) -> LabelSelector:
        """Return the combined selector of the pod's services and its controller."""
        labels: dict[str, str] = {}
        # Labels cannot contradict each other, because every service selects this pod.
        for service in self._services_of(pod):
            labels.update(service["spec"]["selector"])
        return _with_labels(self._controller_selector(pod), labels)

    def _services_of(self, pod: PodInfo) -> Iterator[ReadOnlyObject]:
        for key, value in pod.labels.items():
            for service in self._services.get(_label_index_key(pod.namespace, key, value)):
                if service["spec"]["selector"].items() <= pod.labels.items():
                    yield service

    def _controller_selector(self, pod: PodInfo) -> LabelSelector:
        owners = pod.obj["metadata"].get("ownerReferences") or ()
        owner = next((one for one in owners if one.get("controller")), None)
        kind = None if owner is None else _CONTROLLER_KINDS.get((owner["kind"], owner["apiVersion"]))
        controller = self._owners[kind].get(Key(pod.namespace, owner["name"])) if kind and owner else None
        if controller is None:
            return EVERYTHING
        selector = controller["spec"].get("selector")
        # Its selector is a plain map of labels.
        if kind == "ReplicationController":
            return _with_labels(EVERYTHING, selector or {})
        try:
            return EVERYTHING if selector is None else from_label_selector(selector)
        except BadSelector:
            return EVERYTHING


def _selector_index_key(service: ReadOnlyObject) -> tuple[str, ...]:
    """Return one label that the selector requires, as index key; services without selector select no pod."""
    for key, value in (service["spec"].get("selector") or {}).items():
        return (_label_index_key(service["metadata"]["namespace"], key, value),)
    return ()


def _label_index_key(namespace: str, key: str, value: str) -> str:
    return f"{namespace}/{key}={value}"
