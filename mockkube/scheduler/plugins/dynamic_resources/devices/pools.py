"""Resource pools that a node can use, checked for completeness and consistency.

upstream 1.36: dynamic-resource-allocation/structured/internal/experimental/pools_experimental.go
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from decimal import Decimal

from mockkube.lazy_dataclasses import dataclass
from mockkube.scheduler.framework.node_info import NodeInfo
from mockkube.scheduler.plugins.dynamic_resources.devices.devices import PoolId, ResourceSlice
from mockkube.scheduler.plugins.dynamic_resources.devices.resource_slice_tracker import ResourceSliceTracker

Counters = Mapping[str, Mapping[str, Decimal]]


@dataclass(frozen=True, slots=True, eq=False)
class ResourcePool:
    """Pool as one node sees it; devices of an incomplete or invalid pool are not used."""

    id: PoolId
    slices: tuple[ResourceSlice, ...] = ()
    """Slices with devices for the node, in the order in which devices are tried."""
    slices_of_other_nodes: tuple[ResourceSlice, ...] = ()
    """Slices with devices for other nodes only, which may consume the same counters."""
    counters: Counters = field(default_factory=dict)
    incomplete: bool = False
    invalid: str = ""

    @property
    def is_usable(self) -> bool:
        """True if devices may be allocated from the pool."""
        return not self.incomplete and not self.invalid

    @property
    def has_binding_conditions(self) -> bool:
        """True if a device has binding conditions; such pools are tried last."""
        return any("bindingConditions" in device.obj for one in self.slices for device in one.devices)


class PoolCache:
    """Pools of each node, cached until slices or the node change."""

    def __init__(self, slices: ResourceSliceTracker, *, partitions: bool, compatibility_groups: bool) -> None:
        self._slices, self._partitions, self._compatibility_groups = slices, partitions, compatibility_groups
        self._generation = -1
        self._by_node: dict[str, tuple[int, tuple[ResourcePool, ...]]] = {}

    def for_node(self, node: NodeInfo) -> tuple[ResourcePool, ...]:
        """Return a node's pools in the order in which they are tried."""
        if self._generation != self._slices.generation:
            self._generation = self._slices.generation
            self._by_node.clear()
        known = self._by_node.get(node.name)
        # The revision and not the generation: pods on the node do not change which pools it can use.
        if known is None or known[0] != node.revision:
            known = self._by_node[node.name] = (node.revision, self._build_pools(node))
        return known[1]

    def _build_pools(self, node: NodeInfo) -> tuple[ResourcePool, ...]:
        newest: dict[PoolId, list[ResourceSlice]] = {}
        for one in self._slices.for_node(node.name):
            if self._is_relevant(one, node):
                _keep_newest(newest, one)
        pools = [pool for slices in newest.values() if (pool := self._complete_pool(slices)) is not None]
        return tuple(sorted(pools, key=lambda pool: (pool.has_binding_conditions, pool.id)))

    def _is_understood(self, one: ResourceSlice) -> bool:
        """Return whether the slice counts: without the gate, compatibility groups leave their pool incomplete."""
        return self._compatibility_groups or not one.has_compatibility_groups

    def _is_relevant(self, one: ResourceSlice, node: NodeInfo) -> bool:
        if not self._is_understood(one):
            return False
        if one.counters:
            return self._partitions
        if one.per_device is not None and not self._partitions:
            return False
        if one.node_scope.is_specified:
            return one.node_scope.includes(node)
        return bool(one.per_device) and any(device.node_scope.includes(node) for device in one.devices)

    def _complete_pool(self, slices: list[ResourceSlice]) -> ResourcePool | None:
        """Return the pool of these slices; None if a newer generation is replacing it."""
        first = slices[0]
        everything: Sequence[ResourceSlice] = slices
        # The node's own slices are fewer than the pool's when other nodes have some of them.
        if len(slices) != first.count:
            everything = self._slices.of_pool(first.pool)
            if any(one.generation > first.generation for one in everything):
                return None
            everything = [one for one in everything if one.generation == first.generation and self._is_understood(one)]
            if len(everything) != first.count:
                return ResourcePool(first.pool, incomplete=True)
        return self._build_pool(first.pool, sorted(slices, key=lambda one: one.name), everything)

    def _build_pool(
        self, pool: PoolId, slices: list[ResourceSlice], everything: Sequence[ResourceSlice]
    ) -> ResourcePool:
        with_devices = [one for one in slices if not (self._partitions and one.counters)]
        if problem := _duplicate_device_error(with_devices):
            return ResourcePool(pool, invalid=problem)
        if not self._partitions:
            return ResourcePool(pool, tuple(with_devices))
        counters: dict[str, Mapping[str, Decimal]] = {}
        for one in slices:
            if repeated := one.duplicate_counter_set or next((name for name in one.counters if name in counters), ""):
                return ResourcePool(pool, invalid=f"duplicate counter set name {repeated}")
            counters.update(one.counters)
        others = [one for one in everything if all(one is not mine for mine in slices)]
        if problem := _unknown_counter_error(counters, slices) or _unknown_counter_error(counters, others):
            return ResourcePool(pool, invalid=problem)
        return ResourcePool(pool, tuple(with_devices), tuple(others), counters)


def _keep_newest(newest: dict[PoolId, list[ResourceSlice]], one: ResourceSlice) -> None:
    """Keep the slices of the newest generation of each pool."""
    known = newest.get(one.pool)
    if known is None or one.generation > known[0].generation:
        newest[one.pool] = [one]
    elif one.generation == known[0].generation:
        known.append(one)


def _duplicate_device_error(slices: Iterable[ResourceSlice]) -> str:
    names: set[str] = set()
    for one in slices:
        for device in one.devices:
            if device.id.name in names:
                return f"duplicate device name {device.id.name}"
            names.add(device.id.name)
    return ""


def _unknown_counter_error(counters: Counters, slices: Iterable[ResourceSlice]) -> str:
    """Return the error of the first device that consumes an unknown counter."""
    for one in slices:
        for device in one.devices:
            for consumption in device.consumed_counters:
                known = counters.get(consumption.counters)
                if known is None:
                    return f"counter set {consumption.counters} not found"
                for name in consumption.amounts:
                    if name not in known:
                        return f"counter {name} not found in counter set {consumption.counters}"
    return ""
