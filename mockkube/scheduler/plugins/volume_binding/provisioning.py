"""Check whether a volume can be provisioned for a node: storage class, topology and storage capacity.

upstream 1.36: pkg/scheduler/framework/plugins/volumebinding/binder.go (checkVolumeProvisions, hasEnoughCapacity)
"""

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Final

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.quantities import quantity
from mockkube.api.selectors.errors import BadSelector
from mockkube.api.selectors.labels import NOTHING, LabelSelector, from_label_selector
from mockkube.client.informer import InformerFactory, ObjectChange
from mockkube.client.protocol import Key, WatchEventType, key_of
from mockkube.lazy_dataclasses import dataclass
from mockkube.matching.volumes import NOT_PROVISIONED, ClaimRequirements
from mockkube.scheduler.framework.node_info import NodeInfo


@dataclass(frozen=True, slots=True)
class Provision:
    """Volume to provision for a claim, with the CSIStorageCapacity it is taken from, if known."""

    claim: ReadOnlyObject
    requirements: ClaimRequirements
    capacity: ReadOnlyObject | None = None


@dataclass(frozen=True, slots=True)
class ProvisioningFailure:
    """Reason why a claim's volume cannot be provisioned for a node."""

    requirements: ClaimRequirements
    lacks_capacity: bool
    reason: str


class ProvisioningChecker:
    """Storage classes, CSI drivers and their published capacities."""

    def __init__(self, informers: InformerFactory) -> None:
        self._classes = informers.informer_for("StorageClass")
        self._drivers = informers.informer_for("CSIDriver")
        self._capacities = informers.informer_for("CSIStorageCapacity")
        # Compiled selectors by capacity, dropped when the capacity changes: they are matched for each node.
        self._topologies: dict[Key, LabelSelector] = {}
        self._capacities.add_event_handler(self._on_capacity_change)
        self._by_class = self._capacities.index("storage class", lambda capacity: (capacity["storageClassName"],))

    def plan(
        self, all_requirements: Iterable[ClaimRequirements], node: NodeInfo
    ) -> list[Provision] | ProvisioningFailure:
        """Return the volumes to provision on the node; raise ValueError for a claim without a class."""
        provisions = []
        for requirements in all_requirements:
            storage_class = self._get_class(requirements)
            provisioner = storage_class.get("provisioner", "")
            if provisioner in ("", NOT_PROVISIONED):
                return ProvisioningFailure(requirements, lacks_capacity=False, reason="its class has no provisioner")
            if not matches_topologies(storage_class.get("allowedTopologies") or (), node.labels):
                return ProvisioningFailure(
                    requirements, lacks_capacity=False, reason="its class does not allow this topology"
                )
            provision = self._check_capacity(provisioner, requirements, node)
            if provision is None:
                return ProvisioningFailure(
                    requirements, lacks_capacity=True, reason="no capacity reachable from here is large enough"
                )
            provisions.append(provision)
        return provisions

    def _get_class(self, requirements: ClaimRequirements) -> ReadOnlyObject:
        if not requirements.storage_class:
            raise ValueError(f'no class for claim "{requirements.name}"')
        storage_class = self._classes.get(Key("", requirements.storage_class))
        if storage_class is None:
            raise ValueError(f'failed to find storage class "{requirements.storage_class}"')
        return storage_class

    def _check_capacity(self, provisioner: str, requirements: ClaimRequirements, node: NodeInfo) -> Provision | None:
        driver = self._drivers.get(Key("", provisioner))
        # Without published capacities upstream assumes that there is enough.
        if driver is None or not driver["spec"].get("storageCapacity") or not requirements.requests_size:
            return Provision(requirements.obj, requirements)
        for capacity in self._by_class.get(requirements.storage_class):
            limit = max_volume_size(capacity)
            if (
                limit is not None
                and limit >= requirements.size
                and self._compile_topology(capacity).matches(node.labels)
            ):
                return Provision(requirements.obj, requirements, capacity)
        return None

    def _compile_topology(self, capacity: ReadOnlyObject) -> LabelSelector:
        key = key_of(capacity)
        selector = self._topologies.get(key)
        if selector is None:
            try:
                selector = from_label_selector(capacity.get("nodeTopology"))
            except BadSelector:
                selector = NOTHING
            self._topologies[key] = selector
        return selector

    def _on_capacity_change(self, change: ObjectChange) -> None:
        if change.type is not WatchEventType.ADDED:
            self._topologies.pop(key_of(change.object), None)


def max_volume_size(capacity: ReadOnlyObject) -> Decimal | None:
    """Return the largest volume that a CSIStorageCapacity allows; None if it does not say."""
    text = capacity.get("maximumVolumeSize", capacity.get("capacity"))
    return None if text is None else quantity.parse(str(text)).amount


_NO_LABELS: Final[Mapping[str, str]] = {}


def matches_topologies(terms: Iterable[ReadOnlyObject], labels: Mapping[str, str] = _NO_LABELS) -> bool:
    """Return whether the labels match one of a class's topologies; no topologies admit all nodes."""
    terms = list(terms)
    return not terms or any(_matches_expressions(term.get("matchLabelExpressions") or (), labels) for term in terms)


def _matches_expressions(expressions: Iterable[ReadOnlyObject], labels: Mapping[str, str]) -> bool:
    expressions = list(expressions)
    return bool(expressions) and all(labels.get(one["key"]) in (one.get("values") or ()) for one in expressions)
