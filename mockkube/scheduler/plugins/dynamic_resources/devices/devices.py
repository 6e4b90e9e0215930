"""Devices and the resource slices that publish them, compiled once per revision.

upstream 1.36: dynamic-resource-allocation/api/types.go
"""

from collections.abc import Mapping, Sequence
from dataclasses import field
from decimal import Decimal
from typing import Final, NamedTuple

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.quantities.quantity import parse
from mockkube.lazy_dataclasses import dataclass
from mockkube.matching.node_selectors import LabelOperator, NodeSelector, compile_terms
from mockkube.scheduler.framework.node_info import NodeInfo

SelectorVerdict = bool | str
"""Whether a selector matches a device, or the error of its evaluation."""

# Cached selector verdicts per device; when there are more, the cache is cleared.
_VERDICTS_MAX: Final = 64


class PoolId(NamedTuple):
    """Identity of a pool."""

    driver: str
    pool: str

    def __str__(self) -> str:
        return f"{self.driver}/{self.pool}"


class DeviceId(NamedTuple):
    """Identity of a device."""

    driver: str
    pool: str
    name: str

    def __str__(self) -> str:
        return f"{self.driver}/{self.pool}/{self.name}"


@dataclass(frozen=True, slots=True)
class NodeScope:
    """Nodes from which a slice or device can be used."""

    node_name: str = ""
    everywhere: bool = False
    source: ReadOnlyObject | None = None
    """Node selector as published."""
    selector: NodeSelector | None = None

    @classmethod
    def from_spec(cls, spec: ReadOnlyObject, operators: Mapping[str, LabelOperator]) -> "NodeScope":
        """Parse the node fields of a slice or device."""
        source = spec.get("nodeSelector")
        selector = None
        if source is not None:
            selector = compile_terms(source.get("nodeSelectorTerms") or (), operators)
        return cls(spec.get("nodeName", ""), bool(spec.get("allNodes")), source, selector)

    @property
    def is_specified(self) -> bool:
        """True if any node field is set."""
        return bool(self.node_name) or self.everywhere or self.selector is not None

    def includes(self, node: NodeInfo) -> bool:
        """Return whether the node is included."""
        if self.node_name:
            return self.node_name == node.name
        if self.everywhere or self.selector is None:
            return self.everywhere
        return self.selector.matches(node.labels, node.name)


@dataclass(frozen=True, slots=True)
class CounterConsumption:
    """Counters that a device consumes from one counter set of its pool."""

    counters: str
    amounts: Mapping[str, Decimal]
    # Devices that consume from one counter set together must have one of these in common, or all have none.
    compatibility_groups: frozenset[str] = frozenset()


@dataclass(slots=True, eq=False)
class Device:
    """Compiled device; it caches which selectors match it, because nothing else decides that."""

    id: DeviceId
    obj: ReadOnlyObject
    taints: Sequence[ReadOnlyObject]
    """Taints of the device itself and of DeviceTaintRules."""
    node_scope: NodeScope
    """Nodes that can use it, if its slice leaves that to its devices."""
    consumed_counters: tuple[CounterConsumption, ...]
    allows_multiple_allocations: bool
    """Whether several claims may share it."""
    verdicts: dict[str, SelectorVerdict] = field(default_factory=dict)

    @classmethod
    def from_object(
        cls,
        device_id: DeviceId,
        obj: ReadOnlyObject,
        added_taints: Sequence[ReadOnlyObject],
        operators: Mapping[str, LabelOperator],
    ) -> "Device":
        """Compile a device of a slice, with the taints of DeviceTaintRules added."""
        consumes = tuple(
            CounterConsumption(
                one["counterSet"],
                parse_counters(one.get("counters")),
                frozenset(one.get("compatibilityGroups") or ()),
            )
            for one in obj.get("consumesCounters") or ()
        )
        taints = [*(obj.get("taints") or ()), *added_taints]
        node_scope = NodeScope.from_spec(obj, operators)
        return cls(
            device_id,
            obj,
            taints,
            node_scope,
            consumes,
            allows_multiple_allocations=bool(obj.get("allowMultipleAllocations")),
        )

    @property
    def binding_conditions(self) -> Sequence[str]:
        """Conditions that must be true before a pod with the device is bound."""
        conditions: Sequence[str] = self.obj.get("bindingConditions") or ()
        return conditions

    @property
    def capacity(self) -> Mapping[str, ReadOnlyObject]:
        """Capacities by name."""
        capacity: Mapping[str, ReadOnlyObject] = self.obj.get("capacity") or {}
        return capacity

    def cache_verdict(self, selector: str, verdict: SelectorVerdict) -> SelectorVerdict:
        """Cache and return the verdict of a selector."""
        if len(self.verdicts) >= _VERDICTS_MAX:
            self.verdicts.clear()
        self.verdicts[selector] = verdict
        return verdict


@dataclass(frozen=True, slots=True, eq=False)
class ResourceSlice:
    """Part of a pool: devices, or counters that devices of the pool consume."""

    name: str
    pool: PoolId
    generation: int
    count: int
    """Number of slices in the pool."""
    node_scope: NodeScope
    per_device: bool | None
    """Whether each device has node fields of its own."""
    counters: Mapping[str, Mapping[str, Decimal]]
    duplicate_counter_set: str
    """Name of a counter set that appears twice; empty if there is none."""
    devices: tuple[Device, ...]

    @classmethod
    def from_object(
        cls, obj: ReadOnlyObject, pool_taints: "PoolTaints", operators: Mapping[str, LabelOperator]
    ) -> "ResourceSlice":
        """Compile a ResourceSlice."""
        spec = obj["spec"]
        pool = spec["pool"]
        pool_id = PoolId(spec["driver"], pool["name"])
        sets = spec.get("sharedCounters") or ()
        names = [one["name"] for one in sets]
        return cls(
            name=obj["metadata"]["name"],
            pool=pool_id,
            generation=pool.get("generation", 0),
            count=pool["resourceSliceCount"],
            node_scope=NodeScope.from_spec(spec, operators),
            per_device=spec.get("perDeviceNodeSelection"),
            counters={one["name"]: parse_counters(one.get("counters")) for one in sets},
            duplicate_counter_set=next((name for name in names if names.count(name) > 1), ""),
            devices=tuple(
                Device.from_object(DeviceId(*pool_id, one["name"]), one, pool_taints.taints_of(one["name"]), operators)
                for one in spec.get("devices") or ()
            ),
        )

    @property
    def has_compatibility_groups(self) -> bool:
        """True if a device has compatibility groups."""
        return any(one.compatibility_groups for device in self.devices for one in device.consumed_counters)

    def node_scope_of(self, device: Device) -> NodeScope:
        """Return the nodes that can use a device of the slice."""
        return device.node_scope if self.per_device else self.node_scope


@dataclass(frozen=True, slots=True)
class PoolTaints:
    """Taints that DeviceTaintRules add to devices of one pool; those of the empty name apply to all."""

    by_device: Mapping[str, tuple[ReadOnlyObject, ...]] = field(default_factory=dict)

    def taints_of(self, device: str) -> tuple[ReadOnlyObject, ...]:
        """Return the added taints of a device."""
        return self.by_device.get("", ()) + self.by_device.get(device, ())


def parse_counters(counters: ReadOnlyObject | None) -> Mapping[str, Decimal]:
    """Parse the amounts of counters."""
    return {name: parse(str(counter["value"])).amount for name, counter in (counters or {}).items()}
