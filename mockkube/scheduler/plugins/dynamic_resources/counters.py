"""What partitions of a device take of the counters of their pool, while a solution is being looked for.

upstream 1.36: dynamic-resource-allocation/structured/internal/experimental/allocator_experimental.go
(checkAvailableCounters)
"""

from decimal import Decimal

from mockkube.scheduler.plugins.dynamic_resources.devices import Device, PoolId
from mockkube.scheduler.plugins.dynamic_resources.ledger import Allocated
from mockkube.scheduler.plugins.dynamic_resources.pools import Pool

Amounts = dict[str, dict[str, Decimal]]
"""By set of counters, and counter."""


class AvailableCounters:
    """What allocated devices have left of each pool's counters; the same for all nodes of a cycle."""

    def __init__(self, allocated: Allocated) -> None:
        self._allocated = allocated
        self._of_pool: dict[PoolId, Amounts] = {}

    def of(self, pool: Pool) -> Amounts:
        """Return what is left, which may be less than nothing."""
        available = self._of_pool.get(pool.id)
        if available is None:
            available = self._of_pool[pool.id] = self._count(pool)
        return available

    def _count(self, pool: Pool) -> Amounts:
        available = {name: dict(amounts) for name, amounts in pool.counters.items()}
        for one in (*pool.slices, *pool.others):
            for device in one.devices:
                if device.consumes and self._allocated.includes(device.id):
                    _add(available, device, -1)
        return available


class CounterUse:
    """What the devices chosen so far take."""

    def __init__(self, available: AvailableCounters) -> None:
        self._available = available
        self._used: dict[PoolId, Amounts] = {}

    def take(self, pool: Pool, device: Device) -> bool:
        """Take what the device needs, if nothing of the pool is then exhausted."""
        used = self._used.setdefault(pool.id, {})
        _add(used, device, 1)
        for name, amounts in self._available.of(pool).items():
            taken = used.get(name, {})
            if any(amount < taken.get(counter, 0) for counter, amount in amounts.items()):
                _add(used, device, -1)
                return False
        return True

    def give_back(self, pool: Pool, device: Device) -> None:
        """Return what the device took."""
        _add(self._used[pool.id], device, -1)


def _add(amounts: Amounts, device: Device, sign: int) -> None:
    for consumption in device.consumes:
        counters = amounts.setdefault(consumption.counters, {})
        for name, amount in consumption.amounts.items():
            counters[name] = counters.get(name, Decimal(0)) + sign * amount
