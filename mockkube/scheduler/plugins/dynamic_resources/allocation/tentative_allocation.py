"""Devices chosen so far for a pod's claims on one node; taken one at a time, returned in reverse order.

upstream 1.36: dynamic-resource-allocation/structured/internal/experimental/allocator_experimental.go (allocateDevice)
"""

from collections.abc import Hashable, Sequence
from decimal import Decimal

from mockkube.lazy_dataclasses import dataclass
from mockkube.scheduler.plugins.dynamic_resources.allocation.counters import AvailableCounters, ConsumedCounters
from mockkube.scheduler.plugins.dynamic_resources.claims.claim_requests import DeviceRequest
from mockkube.scheduler.plugins.dynamic_resources.claims.claim_tracker import AllocatedDevices
from mockkube.scheduler.plugins.dynamic_resources.devices.constraints import DeviceConstraint
from mockkube.scheduler.plugins.dynamic_resources.devices.consumable_capacity import (
    ConsumableCapacity,
    ConsumedCapacity,
)
from mockkube.scheduler.plugins.dynamic_resources.devices.devices import Device, DeviceId, ResourceSlice
from mockkube.scheduler.plugins.dynamic_resources.devices.pools import ResourcePool
from mockkube.scheduler.plugins.dynamic_resources.features import DynamicResourcesFeatures


@dataclass(frozen=True, slots=True, eq=False)
class DeviceCandidate:
    """Device with the slice and pool that publish it."""

    pool: ResourcePool
    slice: ResourceSlice
    device: Device


@dataclass(frozen=True, slots=True, eq=False)
class ChosenDevice:
    """Device chosen for a request, with the consumed capacity if it is shared."""

    request: DeviceRequest
    candidate: DeviceCandidate
    consumed: ConsumedCapacity
    is_shared: bool = False


class TentativeAllocation:
    """Chosen devices by claim, in order of choice."""

    def __init__(
        self,
        constraints: Sequence[Sequence[DeviceConstraint]],
        allocated: AllocatedDevices,
        available: AvailableCounters,
        features: DynamicResourcesFeatures,
    ) -> None:
        self.chosen: list[list[ChosenDevice]] = [[] for _ in constraints]
        # Whether the last rejection came from a constraint of the claim.
        self.constraint_violated = False
        self._constraints, self._allocated, self._features = constraints, allocated, features
        self._capacity = ConsumableCapacity(features.fractional_capacity)
        # Claims for which a device is chosen exclusively.
        self._holders: dict[DeviceId, set[int]] = {}
        # Capacity of shared devices that was chosen.
        self._chosen_capacity: dict[DeviceId, list[ConsumedCapacity]] = {}
        self._counters = ConsumedCounters(available)

    def is_in_use(self, claim: int, request: DeviceRequest, device: DeviceId) -> bool:
        """Return whether the device is not available to the request."""
        # Admin access ignores other allocations; only one claim cannot have a device twice.
        if request.admin_access:
            return claim in self._holders.get(device, ())
        return device in self._allocated.devices or device in self._holders

    def search_state(self, claim: int) -> Hashable | None:
        """Return a key for the state that decides about the remaining requests; None if states cannot be compared."""
        # Amounts of shared capacity make too many different states to be worth comparing.
        if self._chosen_capacity:
            return None
        constraints = tuple(constraint.state for constraint in self._constraints[claim])
        return len(self.chosen[claim]), frozenset(self._holders), constraints

    def has_capacity(self, request: DeviceRequest, device: Device) -> bool:
        """Return whether the device has the capacity that the request needs."""
        if not self._features.consumable_capacity:
            return True
        used = self._allocated.capacity.get(device.id, {})
        promised: dict[str, Decimal] = {}
        for taken in self._chosen_capacity.get(device.id, ()):
            for name, amount in taken.items():
                promised[name] = promised.get(name, Decimal(0)) + amount.amount
        return self._capacity.fits(request.capacity, device.capacity, used, promised)

    def could_have_capacity(self, request: DeviceRequest, device: Device) -> bool:
        """Return whether the device counts for a request for all devices, by its capacity."""
        if not self._features.consumable_capacity or not self._features.all_devices_by_total_capacity:
            return self.has_capacity(request, device)
        return self._capacity.fits(request.capacity, device.capacity)

    def allocate(self, claim: int, request: DeviceRequest, candidate: DeviceCandidate) -> bool:  # hot: per device tried
        """Choose a device for a request unless counters, constraints or capacity forbid it."""
        self.constraint_violated = False
        device = candidate.device
        shared = device.allows_multiple_allocations and self._features.consumable_capacity
        # As upstream, counters come before constraints, so `constraint_violated` is set only where a constraint is the
        # reason.
        if device.consumed_counters and not self._consume_counters(candidate, shared=shared):
            return False
        if not self._is_permitted(claim, request, device, shared=shared):
            self._release_counters(candidate, shared=shared)
            return False
        self._record(claim, request, candidate, shared=shared)
        return True

    def deallocate(self, claim: int) -> None:
        """Return the device that was chosen last for a claim."""
        chosen = self.chosen[claim].pop()
        device = chosen.candidate.device
        if chosen.is_shared:
            self._chosen_capacity[device.id].pop()
            if not self._chosen_capacity[device.id]:
                del self._chosen_capacity[device.id]
        else:
            self._holders[device.id].discard(claim)
            if not self._holders[device.id]:
                del self._holders[device.id]
        _remove_from_constraints(self._constraints[claim], chosen.request)
        self._release_counters(chosen.candidate, shared=chosen.is_shared)

    def _is_permitted(self, claim: int, request: DeviceRequest, device: Device, *, shared: bool) -> bool:
        """Return whether constraints and capacity permit the device; if so, the constraints include it."""
        if not self._meet_constraints(claim, request, device):
            self.constraint_violated = True
            return False
        if shared and not self.has_capacity(request, device):
            _remove_from_constraints(self._constraints[claim], request)
            return False
        return True

    def _consume_counters(self, candidate: DeviceCandidate, *, shared: bool) -> bool:
        device = candidate.device
        if not self._features.partitionable_devices:
            return False
        return self._is_shared_already(device, shared=shared) or self._counters.consume(candidate.pool, device)

    def _release_counters(self, candidate: DeviceCandidate, *, shared: bool) -> None:
        device = candidate.device
        if device.consumed_counters and not self._is_shared_already(device, shared=shared):
            self._counters.release(candidate.pool, device)

    def _is_shared_already(self, device: Device, *, shared: bool) -> bool:
        """Return whether a share of the device is allocated or chosen, whose counters are consumed already."""
        return shared and (device.id in self._allocated.capacity or device.id in self._chosen_capacity)

    def _meet_constraints(self, claim: int, request: DeviceRequest, device: Device) -> bool:
        constraints = self._constraints[claim]
        for index, constraint in enumerate(constraints):
            if not constraint.add(request.base_name, request.sub_name, device):
                _remove_from_constraints(constraints[:index], request)
                return False
        return True

    def _record(self, claim: int, request: DeviceRequest, candidate: DeviceCandidate, *, shared: bool) -> None:
        device = candidate.device
        taken: ConsumedCapacity = {}
        if shared:
            taken = self._capacity.consumed_by(request.capacity, device.capacity)
            self._chosen_capacity.setdefault(device.id, []).append(taken)
        else:
            self._holders.setdefault(device.id, set()).add(claim)
        self.chosen[claim].append(ChosenDevice(request, candidate, taken, shared))


def _remove_from_constraints(constraints: Sequence[DeviceConstraint], request: DeviceRequest) -> None:
    for constraint in constraints:
        constraint.remove(request.base_name, request.sub_name)


def is_tainted(device: Device, request: DeviceRequest) -> bool:
    """Return whether a device has a taint that the request does not tolerate."""
    return any(
        taint.get("effect") in ("NoSchedule", "NoExecute")
        and not any(toleration.tolerates(taint) for toleration in request.tolerations)
        for taint in device.taints
    )
