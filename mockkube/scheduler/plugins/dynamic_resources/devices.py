"""Devices and the slices that publish them, compiled once per revision.

upstream 1.36: dynamic-resource-allocation/api/types.go
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Final, NamedTuple

from mockkube.api.quantity import parse
from mockkube.api.types import ReadOnlyObject
from mockkube.matching.node_selectors import LabelOperator, NodeSelector, compile_terms
from mockkube.scheduler.framework.node_info import NodeInfo

Verdict = bool | str
"""Whether a selector takes a device, or the error that its evaluation ended with."""

_VERDICTS_MAX: Final = 64
"""How many selectors' verdicts a device remembers; past that it starts anew."""


class PoolId(NamedTuple):
    """Which pool."""

    driver: str
    pool: str

    def __str__(self) -> str:
        return f"{self.driver}/{self.pool}"


class DeviceId(NamedTuple):
    """Which device."""

    driver: str
    pool: str
    name: str

    def __str__(self) -> str:
        return f"{self.driver}/{self.pool}/{self.name}"


@dataclass(frozen=True, slots=True)
class Reach:
    """Which nodes something can be used from."""

    node_name: str = ""
    everywhere: bool = False
    source: ReadOnlyObject | None = None
    """The node selector, as published."""
    selector: NodeSelector | None = None

    @classmethod
    def read(cls, spec: ReadOnlyObject, operators: Mapping[str, LabelOperator]) -> "Reach":
        """Read what a slice, or a device of it, says."""
        source = spec.get("nodeSelector")
        selector = None
        if source is not None:
            selector = compile_terms(source.get("nodeSelectorTerms") or (), operators)
        return cls(spec.get("nodeName", ""), bool(spec.get("allNodes")), source, selector)

    @property
    def stated(self) -> bool:
        """Whether anything is said at all."""
        return bool(self.node_name) or self.everywhere or self.selector is not None

    def includes(self, node: NodeInfo) -> bool:
        """Whether the node is among them."""
        if self.node_name:
            return self.node_name == node.name
        if self.everywhere or self.selector is None:
            return self.everywhere
        return self.selector.matches(node.labels, node.name)


@dataclass(frozen=True, slots=True)
class Consumption:
    """What a device takes from one set of its pool's counters."""

    counters: str
    amounts: Mapping[str, Decimal]


@dataclass(slots=True, eq=False)
class Device:
    """A device. It remembers which selectors take it, as nothing else decides that."""

    id: DeviceId
    obj: ReadOnlyObject
    taints: Sequence[ReadOnlyObject]
    """Its own, and those that rules put on it."""
    reach: Reach
    """Where it can be used, if its slice leaves that to its devices."""
    consumes: tuple[Consumption, ...]
    shared: bool
    """Whether several claims may have a part of it."""
    verdicts: dict[str, Verdict] = field(default_factory=dict)

    @classmethod
    def read(
        cls,
        device_id: DeviceId,
        obj: ReadOnlyObject,
        rules: Sequence[ReadOnlyObject],
        operators: Mapping[str, LabelOperator],
    ) -> "Device":
        """Compile a device of a slice, with the taints of these rules on it."""
        consumes = tuple(
            Consumption(one["counterSet"], read_counters(one.get("counters")))
            for one in obj.get("consumesCounters") or ()
        )
        taints = [*(obj.get("taints") or ()), *rules]
        reach = Reach.read(obj, operators)
        return cls(device_id, obj, taints, reach, consumes, shared=bool(obj.get("allowMultipleAllocations")))

    @property
    def binding_conditions(self) -> Sequence[str]:
        """The conditions that must be true before a pod with it is bound."""
        conditions: Sequence[str] = self.obj.get("bindingConditions") or ()
        return conditions

    @property
    def capacity(self) -> Mapping[str, ReadOnlyObject]:
        """What it has of what, by name."""
        capacity: Mapping[str, ReadOnlyObject] = self.obj.get("capacity") or {}
        return capacity

    def remember(self, selector: str, verdict: Verdict) -> Verdict:
        """Keep what a selector makes of the device."""
        if len(self.verdicts) >= _VERDICTS_MAX:
            self.verdicts.clear()
        self.verdicts[selector] = verdict
        return verdict


@dataclass(frozen=True, slots=True, eq=False)
class Slice:
    """A part of a pool: devices, or counters that devices of the pool take from."""

    name: str
    pool: PoolId
    generation: int
    count: int
    """How many slices the pool has."""
    reach: Reach
    per_device: bool | None
    """Whether each device says itself where it can be used."""
    counters: Mapping[str, Mapping[str, Decimal]]
    repeated_counters: str
    """The name of a set of counters that is there twice; empty if none is."""
    devices: tuple[Device, ...]

    @classmethod
    def read(cls, obj: ReadOnlyObject, rules: "TaintRulesOfPool", operators: Mapping[str, LabelOperator]) -> "Slice":
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
            reach=Reach.read(spec, operators),
            per_device=spec.get("perDeviceNodeSelection"),
            counters={one["name"]: read_counters(one.get("counters")) for one in sets},
            repeated_counters=next((name for name in names if names.count(name) > 1), ""),
            devices=tuple(
                Device.read(DeviceId(*pool_id, one["name"]), one, rules.on(one["name"]), operators)
                for one in spec.get("devices") or ()
            ),
        )

    def reach_of(self, device: Device) -> Reach:
        """Return where a device of the slice can be used."""
        return device.reach if self.per_device else self.reach


@dataclass(frozen=True, slots=True)
class TaintRulesOfPool:
    """The taints that DeviceTaintRules put on devices of one pool; those of the empty name are on all of them."""

    by_device: Mapping[str, tuple[ReadOnlyObject, ...]] = field(default_factory=dict)

    def on(self, device: str) -> tuple[ReadOnlyObject, ...]:
        """Return the taints on a device."""
        return self.by_device.get("", ()) + self.by_device.get(device, ())


def read_counters(counters: ReadOnlyObject | None) -> Mapping[str, Decimal]:
    """Return amounts by name."""
    return {name: parse(str(counter["value"])).amount for name, counter in (counters or {}).items()}
