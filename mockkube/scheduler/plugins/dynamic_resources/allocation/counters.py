"""Shared counters of partitionable devices: what is available in each pool, and what chosen devices consume.

upstream 1.37: dynamic-resource-allocation/structured/internal/experimental/allocator_experimental.go
(checkAvailableCounters), compatibility_groups.go
"""

from collections.abc import Sequence
from decimal import Decimal

from mockkube.scheduler.plugins.dynamic_resources.claims.claim_tracker import AllocatedDevices
from mockkube.scheduler.plugins.dynamic_resources.devices.devices import Device, PoolId
from mockkube.scheduler.plugins.dynamic_resources.devices.pools import ResourcePool

Amounts = dict[str, dict[str, Decimal]]
"""Amounts by counter set and counter."""


class AvailableCounters:
    """Counters of each pool that allocated devices leave available; computed once per cycle, for all nodes."""

    def __init__(self, allocated: AllocatedDevices) -> None:
        self._allocated = allocated
        self._by_pool: dict[PoolId, Amounts] = {}
        self._groups_by_pool: dict[PoolId, dict[str, list[frozenset[str]]]] = {}

    def for_pool(self, pool: ResourcePool) -> Amounts:
        """Return the available counters, which may be negative."""
        available = self._by_pool.get(pool.id)
        if available is None:
            available = self._by_pool[pool.id] = self._count(pool)
        return available

    def groups_in_use(self, pool: ResourcePool, counters: str) -> Sequence[frozenset[str]]:
        """Return the compatibility groups of each allocated device that consumes a counter set."""
        groups = self._groups_by_pool.get(pool.id)
        if groups is None:
            groups = self._groups_by_pool[pool.id] = self._collect_groups(pool)
        return groups.get(counters, ())

    def _collect_groups(self, pool: ResourcePool) -> dict[str, list[frozenset[str]]]:
        groups: dict[str, list[frozenset[str]]] = {}
        for one in (*pool.slices, *pool.slices_of_other_nodes):
            for device in one.devices:
                if self._allocated.includes(device.id):
                    for consumption in device.consumed_counters:
                        groups.setdefault(consumption.counters, []).append(consumption.compatibility_groups)
        return groups

    def _count(self, pool: ResourcePool) -> Amounts:
        available = {name: dict(amounts) for name, amounts in pool.counters.items()}
        # Devices of other nodes count as well, because a pool's counters are shared by all of them.
        for one in (*pool.slices, *pool.slices_of_other_nodes):
            for device in one.devices:
                if device.consumed_counters and self._allocated.includes(device.id):
                    _add(available, device, -1)
        return available


class ConsumedCounters:
    """Counters that the devices chosen so far consume, each with devices of a common compatibility group."""

    def __init__(self, available: AvailableCounters) -> None:
        self._available = available
        self._used: dict[PoolId, Amounts] = {}
        self._devices: dict[PoolId, list[Device]] = {}

    def consume(self, pool: ResourcePool, device: Device) -> bool:
        """Consume the counters of a device, unless it is incompatible with others or the pool does not have enough."""
        if not self._is_compatible(pool, device):
            return False
        used = self._used.setdefault(pool.id, {})
        _add(used, device, 1)
        for name, amounts in self._available.for_pool(pool).items():
            taken = used.get(name, {})
            if any(amount < taken.get(counter, 0) for counter, amount in amounts.items()):
                _add(used, device, -1)
                return False
        self._devices.setdefault(pool.id, []).append(device)
        return True

    def release(self, pool: ResourcePool, device: Device) -> None:
        """Release the counters of a device."""
        _add(self._used[pool.id], device, -1)
        self._devices[pool.id].remove(device)

    def _is_compatible(self, pool: ResourcePool, device: Device) -> bool:
        for consumption in device.consumed_counters:
            others = [
                other.compatibility_groups
                for chosen in self._devices.get(pool.id, ())
                for other in chosen.consumed_counters
                if other.counters == consumption.counters
            ]
            in_use = self._available.groups_in_use(pool, consumption.counters)
            if not admits_groups([*in_use, *others], consumption.compatibility_groups):
                return False
        return True


def admits_groups(others: Sequence[frozenset[str]], groups: frozenset[str]) -> bool:
    """Return whether a device of these groups goes with others: with a common group, or all without any."""
    if not others:
        return True
    common = others[0]
    for one in others:
        # Slices may have changed since the others were allocated; the first one decides.
        if bool(one) == bool(others[0]):
            common &= one
    return bool(common & groups) if others[0] else not groups


def _add(amounts: Amounts, device: Device, sign: int) -> None:
    for consumption in device.consumed_counters:
        counters = amounts.setdefault(consumption.counters, {})
        for name, amount in consumption.amounts.items():
            counters[name] = counters.get(name, Decimal(0)) + sign * amount
