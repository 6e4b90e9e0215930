"""Shared counters of partitionable devices: what is available in each pool, and what chosen devices consume.

upstream 1.36: dynamic-resource-allocation/structured/internal/experimental/allocator_experimental.go
(checkAvailableCounters)
"""

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

    def for_pool(self, pool: ResourcePool) -> Amounts:
        """Return the available counters, which may be negative."""
        available = self._by_pool.get(pool.id)
        if available is None:
            available = self._by_pool[pool.id] = self._count(pool)
        return available

    def _count(self, pool: ResourcePool) -> Amounts:
        available = {name: dict(amounts) for name, amounts in pool.counters.items()}
        # Devices of other nodes count as well, because a pool's counters are shared by all of them.
        for one in (*pool.slices, *pool.slices_of_other_nodes):
            for device in one.devices:
                if device.consumed_counters and self._allocated.includes(device.id):
                    _add(available, device, -1)
        return available


class ConsumedCounters:
    """Counters that the devices chosen so far consume."""

    def __init__(self, available: AvailableCounters) -> None:
        self._available = available
        self._used: dict[PoolId, Amounts] = {}

    def consume(self, pool: ResourcePool, device: Device) -> bool:
        """Consume the counters of a device, unless the pool does not have enough."""
        used = self._used.setdefault(pool.id, {})
        _add(used, device, 1)
        for name, amounts in self._available.for_pool(pool).items():
            taken = used.get(name, {})
            if any(amount < taken.get(counter, 0) for counter, amount in amounts.items()):
                _add(used, device, -1)
                return False
        return True

    def release(self, pool: ResourcePool, device: Device) -> None:
        """Release the counters of a device."""
        _add(self._used[pool.id], device, -1)


def _add(amounts: Amounts, device: Device, sign: int) -> None:
    for consumption in device.consumed_counters:
        counters = amounts.setdefault(consumption.counters, {})
        for name, amount in consumption.amounts.items():
            counters[name] = counters.get(name, Decimal(0)) + sign * amount
