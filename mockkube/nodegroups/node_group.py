"""Node groups: sizes, types of instances, zones, and the nodes that they create."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from decimal import Decimal
from typing import Final, Self

from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.quantities.quantity import parse
from mockkube.lazy_dataclasses import dataclass
from mockkube.nodegroups.disruption_policy import DisruptionPolicy

GROUP_LABEL: Final = "mockkube.dev/node-group"
PRICE_ANNOTATION: Final = "mockkube.dev/price-per-hour"
ZONE_LABEL: Final = "topology.kubernetes.io/zone"
TYPE_LABEL: Final = "node.kubernetes.io/instance-type"
HOSTNAME_LABEL: Final = "kubernetes.io/hostname"
_CAPACITY_ANNOTATION: Final = "mockkube.dev/capacity"
_KUBELET_LABELS: Final = {
    "beta.kubernetes.io/arch": "amd64",
    "beta.kubernetes.io/os": "linux",
    "kubernetes.io/arch": "amd64",
    "kubernetes.io/os": "linux",
}
_DEFAULT_CAPACITY: Final = {"pods": "110", "ephemeral-storage": "100Gi"}

PROVISION_SECONDS: Final = 60.0
UTILIZATION_THRESHOLD: Final = 0.5
UNNEEDED_SECONDS: Final = 600.0
DELAY_AFTER_ADD_SECONDS: Final = 600.0


@dataclass(frozen=True, slots=True)
class InstanceType:
    """Type of the machines of a group."""

    name: str
    capacity: Mapping[str, str]
    price_per_hour: float | None = None

    @property
    def resources(self) -> Mapping[str, str]:
        """Capacity with defaults for what is not given."""
        return {**_DEFAULT_CAPACITY, **self.capacity}


@dataclass(frozen=True, slots=True)
class ScaleDownRules:
    """When nodes of a group are removed."""

    disabled: bool = False
    utilization_threshold: float = UTILIZATION_THRESHOLD
    unneeded_seconds: float = UNNEEDED_SECONDS
    delay_after_add_seconds: float = DELAY_AFTER_ADD_SECONDS


@dataclass(frozen=True, slots=True)
class NodeTemplate:
    """One kind of node that a group can add: a type of instance in a zone."""

    group: "NodeGroup"
    instance_type: InstanceType
    zone: str = ""

    @property
    def price(self) -> float | None:
        """Price of the node per hour; None if it is not known."""
        return self.instance_type.price_per_hour

    @property
    def order(self) -> tuple[str, str, str]:
        """Key of a fixed order of templates."""
        return self.group.name, self.instance_type.name, self.zone

    def make_node(self, name: str) -> Object:
        """Return the node as it registers; its kubelet reads the capacity from an annotation."""
        capacity, price = self.instance_type.resources, self.instance_type.price_per_hour
        zone = {ZONE_LABEL: self.zone} if self.zone else {}
        labels = {
            **_KUBELET_LABELS,
            **self.group.labels,
            **zone,
            TYPE_LABEL: self.instance_type.name,
            HOSTNAME_LABEL: name,
            GROUP_LABEL: self.group.name,
        }
        annotations = {_CAPACITY_ANNOTATION: ",".join(f"{key}={amount}" for key, amount in capacity.items())}
        if price is not None:
            annotations[PRICE_ANNOTATION] = f"{price:g}"
        spec: Object = {"providerID": f"mockkube://{name}"}
        if self.group.taints:
            spec["taints"] = [dict(taint) for taint in self.group.taints]
        metadata = {"name": name, "labels": labels, "annotations": annotations}
        return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": spec}

    def make_ready_node(self, name: str) -> Object:
        """Return the node as it is once its kubelet has reported it ready."""
        capacity = dict(self.instance_type.resources)
        conditions = [{"type": "Ready", "status": "True"}]
        node = self.make_node(name)
        node["metadata"]["uid"] = name
        return {**node, "status": {"capacity": capacity, "allocatable": capacity, "conditions": conditions}}


@dataclass(frozen=True, slots=True)
class NodeGroup:
    """Group of nodes, as its object describes it."""

    name: str
    min_size: int
    max_size: int
    instance_types: Sequence[InstanceType]
    zones: Sequence[str] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: Sequence[ReadOnlyObject] = ()
    limits: Mapping[str, str] = field(default_factory=dict)
    provision_seconds: float = PROVISION_SECONDS
    node_selector: Mapping[str, str] = field(default_factory=dict)
    scale_down: ScaleDownRules = ScaleDownRules()
    # Consolidation as by Karpenter, in place of the cluster-autoscaler's scale-down.
    disruption: DisruptionPolicy | None = None

    @classmethod
    def from_object(cls, obj: ReadOnlyObject) -> Self:
        """Return the group that a NodeGroup describes."""
        spec = obj["spec"]
        down, disruption = spec.get("scaleDown") or {}, spec.get("disruption")
        return cls(
            name=obj["metadata"]["name"],
            min_size=spec.get("minSize", 0),
            max_size=spec["maxSize"],
            instance_types=tuple(
                InstanceType(one["name"], one.get("capacity") or {}, one.get("pricePerHour"))
                for one in spec["instanceTypes"]
            ),
            zones=tuple(spec.get("zones") or ()),
            labels=spec.get("labels") or {},
            taints=tuple(spec.get("taints") or ()),
            limits=spec.get("limits") or {},
            provision_seconds=float(spec.get("provisionSeconds", PROVISION_SECONDS)),
            node_selector=spec.get("nodeSelector") or {},
            scale_down=ScaleDownRules(
                bool(down.get("disabled")) or disruption is not None,
                float(down.get("utilizationThreshold", UTILIZATION_THRESHOLD)),
                float(down.get("unneededSeconds", UNNEEDED_SECONDS)),
                float(down.get("delayAfterAddSeconds", DELAY_AFTER_ADD_SECONDS)),
            ),
            disruption=None if disruption is None else DisruptionPolicy.from_spec(disruption),
        )

    def contains(self, node: ReadOnlyObject) -> bool:
        """Return whether a node belongs to the group: by its label, or by the labels that the group selects."""
        labels = node["metadata"].get("labels") or {}
        if GROUP_LABEL in labels:
            return bool(labels[GROUP_LABEL] == self.name)
        return bool(self.node_selector) and all(labels.get(key) == text for key, text in self.node_selector.items())

    def templates(self) -> Iterator[NodeTemplate]:
        """Yield every kind of node that the group can add."""
        for instance_type in self.instance_types:
            for zone in self.zones or ("",):
                yield NodeTemplate(self, instance_type, zone)

    def find_exceeded_limit(self, nodes: Sequence[ReadOnlyObject], added: InstanceType) -> str:
        """Return a resource whose limit another instance would exceed; empty if there is none."""
        for resource, text in self.limits.items():
            present = [amount_of(node, resource) for node in nodes]
            if sum(present, amount_in(added.resources, resource)) > parse(text).amount:
                return resource
        return ""


def zone_of(node: ReadOnlyObject) -> str:
    """Return the zone of a node; empty if it has none."""
    zone: str = (node["metadata"].get("labels") or {}).get(ZONE_LABEL, "")
    return zone


def amount_of(node: ReadOnlyObject, resource: str) -> Decimal:
    """Return the capacity of a node."""
    return amount_in((node.get("status") or {}).get("capacity") or {}, resource)


def amount_in(amounts: Mapping[str, str], resource: str) -> Decimal:
    """Return an amount of a resource list; nothing if it has none."""
    text = amounts.get(resource)
    return Decimal(0) if text is None else parse(str(text)).amount


def price_of(node: ReadOnlyObject, groups: Sequence[NodeGroup]) -> float:
    """Return the price of a node per hour: of its annotation, or of its type in its group."""
    metadata = node["metadata"]
    text = (metadata.get("annotations") or {}).get(PRICE_ANNOTATION)
    if text is not None:
        try:
            return max(float(text), 0.0)
        except ValueError:
            return 0.0
    group = next((one for one in groups if one.contains(node)), None)
    if group is None:
        return 0.0
    kind = (metadata.get("labels") or {}).get(TYPE_LABEL)
    types = {one.name: one for one in group.instance_types}
    chosen = types.get(kind or "", group.instance_types[0])
    return chosen.price_per_hour or 0.0
