"""Allocator: search a node for devices that serve all claims of a pod.

It goes claim by claim and request by request, and backtracks; the first solution counts. Within a request devices are
tried in one order only, so that no set is tried twice.

upstream 1.36: dynamic-resource-allocation/structured/internal/experimental/allocator_experimental.go
"""

from collections.abc import Hashable, Iterator, Sequence
from contextlib import nullcontext
from typing import Final

from mockkube_cel.recursion import raised_recursion_limit

from mockkube.lazy_dataclasses import dataclass
from mockkube.scheduler.framework.node_info import NodeInfo
from mockkube.scheduler.plugins.dynamic_resources.allocation.counters import AvailableCounters
from mockkube.scheduler.plugins.dynamic_resources.allocation.selectors import DeviceSelectors
from mockkube.scheduler.plugins.dynamic_resources.allocation.tentative_allocation import (
    DeviceCandidate,
    TentativeAllocation,
    is_tainted,
)
from mockkube.scheduler.plugins.dynamic_resources.claims.claim_requests import (
    DEVICES_MAX,
    AllocationError,
    ClaimCompiler,
    ClaimRequests,
    DeviceRequest,
)
from mockkube.scheduler.plugins.dynamic_resources.claims.claim_tracker import AllocatedDevices
from mockkube.scheduler.plugins.dynamic_resources.devices.devices import Device
from mockkube.scheduler.plugins.dynamic_resources.devices.pools import ResourcePool
from mockkube.scheduler.plugins.dynamic_resources.features import DynamicResourcesFeatures

# Limit of the search on one node. differs: upstream stops after ten seconds, which would not give the same result each
# time.
_STEPS_MAX: Final = 250_000
# Up to so many devices the default recursion limit is enough.
_DEFAULT_DEPTH_DEVICES_MAX: Final = 100


class SearchTimeout(Exception):
    """Raised when the search on a node reaches its limit."""


class _TooManyDevices(Exception):
    """Raised when an alternative would exceed the devices per claim; others may not."""


@dataclass(frozen=True, slots=True)
class SearchProgress:
    """Request at which the search ended, for explanations."""

    claim: str
    request: str
    wanted: int
    devices: int
    """Number of devices that the node can use."""


class Allocator:
    """Search on one node."""

    def __init__(
        self,
        claims: Sequence[ClaimRequests],
        pools: Sequence[ResourcePool],
        node: NodeInfo,
        allocator: "AllocatorDependencies",
    ) -> None:
        self._claims, self._pools, self._node, self._allocator = claims, pools, node, allocator
        self._features, self._selectors = allocator.features, allocator.selectors
        self._candidates = list(_list_candidates(pool for pool in pools if pool.is_usable))
        self._all_devices: dict[DeviceRequest, list[DeviceCandidate]] = {}
        # Index of the chosen alternative, by claim and request.
        self.selected: list[dict[int, int]] = [{} for _ in claims]
        constraints = [allocator.compiler.compile_constraints(one) for one in claims]
        self.allocation = TentativeAllocation(constraints, allocator.allocated, allocator.available, allocator.features)
        # Whether each candidate suits a request, whatever else is chosen; None where it was not evaluated yet.
        self._suitability: dict[DeviceRequest, list[bool | None]] = {}
        # States from which no solution exists: different orders of choices lead to the same state.
        self._failed_states: set[Hashable] = set()
        # With admin access the assignment of devices to claims matters, so states cannot be compared.
        self._has_admin_requests = any(
            request.admin_access for one in claims for alternatives in one.requests for request in alternatives
        )
        self._steps = 0
        self._furthest = (0, 0)

    def run(self) -> bool:
        """Return whether all claims can be served; raise AllocationError or SearchTimeout."""
        least = sum(self._count_minimum_devices(index) for index in range(len(self._claims)))
        # The search recurses once per device, deeper than Python's default limit for large claims.
        with raised_recursion_limit(least) if least > _DEFAULT_DEPTH_DEVICES_MAX else nullcontext():
            try:
                return self._allocate_claim(0)
            except _TooManyDevices:
                return False

    @property
    def progress(self) -> SearchProgress:
        """Furthest request that the search reached."""
        claim, request = self._furthest
        wanted = self._claims[claim]
        first = wanted.requests[request][0]
        return SearchProgress(wanted.name, first.base_name, self._num_devices(first), len(self._candidates))

    def _count_minimum_devices(self, claim: int) -> int:
        """Return the minimum number of devices of a claim."""
        wanted = self._claims[claim]
        for request in (one for alternatives in wanted.requests for one in alternatives if one.all_devices):
            self._all_devices[request] = self._find_all_devices(claim, request)
        least = sum(min(map(self._num_devices, alternatives)) for alternatives in wanted.requests)
        if least > DEVICES_MAX:
            text = f"number of requested devices {least} exceeds the claim limit of {DEVICES_MAX}"
            raise AllocationError(f"claim {wanted.name}: {text}")
        return least

    def _find_all_devices(self, claim: int, request: DeviceRequest) -> list[DeviceCandidate]:
        name = self._claims[claim].name
        for pool in self._pools:
            if not pool.is_usable:
                state = "being updated" if pool.incomplete else "invalid"
                text = f"asks for all devices, but resource pool {pool.id} is currently {state}"
                raise AllocationError(f"claim {name}, request {request.name}: {text}")
        return [
            candidate
            for candidate in self._candidates
            if self._is_selectable(claim, request, candidate)
            and self.allocation.could_have_capacity(request, candidate.device)
        ]

    def _num_devices(self, request: DeviceRequest) -> int:
        return len(self._all_devices[request]) if request.all_devices else request.count

    def _allocate_claim(self, claim: int) -> bool:
        if claim >= len(self._claims):
            return True
        try:
            return self._allocate_request(claim, 0)
        except _TooManyDevices:
            # Caught here for later claims, or it would count against an alternative of the claim before.
            if claim == 0:
                raise
            return False

    def _allocate_request(self, claim: int, index: int) -> bool:
        requests = self._claims[claim].requests
        if index >= len(requests):
            return self._allocate_claim(claim + 1)
        self._furthest = max(self._furthest, (claim, index))
        outlook = None if self._has_admin_requests else self.allocation.search_state(claim)
        if outlook is not None and (claim, index, outlook) in self._failed_states:
            return False
        if requests[index][0].parent:
            allocated = self._allocate_first_available(claim, index, requests[index])
        else:
            allocated = self._allocate_devices(claim, index, requests[index][0], 0, 0)
        if not allocated and outlook is not None:
            self._failed_states.add((claim, index, outlook))
        return allocated

    def _allocate_first_available(self, claim: int, index: int, alternatives: Sequence[DeviceRequest]) -> bool:
        all_exceed_limit = True
        for number, alternative in enumerate(alternatives):
            try:
                allocated = self._allocate_devices(claim, index, alternative, 0, 0)
            except _TooManyDevices:
                continue
            all_exceed_limit = False
            if allocated:
                self.selected[claim][index] = number
                return True
        if all_exceed_limit:
            raise _TooManyDevices
        return False

    def _allocate_devices(self, claim: int, index: int, request: DeviceRequest, number: int, start: int) -> bool:
        """Find the remaining devices of a request, from the given number on.

        `start` is the first candidate to try: earlier ones were tried for earlier devices.
        """
        self._count_step()
        count = self._num_devices(request)
        if request.all_devices and not count:
            return False
        if number >= count:
            return self._allocate_request(claim, index + 1)
        if len(self.allocation.chosen[claim]) + count - number > DEVICES_MAX:
            raise _TooManyDevices
        if request.all_devices:
            return self._allocate_next_of_all(claim, index, request, number)
        return self._allocate_next_of_count(claim, index, request, number, start)

    def _allocate_next_of_count(self, claim: int, index: int, request: DeviceRequest, number: int, start: int) -> bool:
        choice, suitability = self.allocation, self._suitability.get(request)
        if suitability is None:
            suitability = self._suitability[request] = [None] * len(self._candidates)
        for place in range(start, len(self._candidates)):  # hot: per device
            candidate = self._candidates[place]
            if choice.is_in_use(claim, request, candidate.device.id):
                continue
            verdict = suitability[place]
            if verdict is None:
                verdict = suitability[place] = self._is_suitable(claim, request, candidate)
            if not verdict or not choice.allocate(claim, request, candidate):
                continue
            if self._continue_or_return(claim, index, request, number + 1, place + 1):
                return True
        return False

    def _allocate_next_of_all(self, claim: int, index: int, request: DeviceRequest, number: int) -> bool:
        candidate = self._all_devices[request][number]
        device = candidate.device
        if self.allocation.is_in_use(claim, request, device.id) or self._is_tainted(request, device):
            return False
        if self.allocation.has_capacity(request, device) and self.allocation.allocate(claim, request, candidate):
            return self._continue_or_return(claim, index, request, number + 1, 0)
        # upstream: "all devices" that violate a constraint can never be allocated, so the claim fails on every node.
        if self.allocation.constraint_violated:
            text = f"cannot add device {candidate.device.id} because a claim constraint would not be satisfied"
            raise AllocationError(f"claim {self._claims[claim].name}, request {request.name}: {text}")
        return False

    def _continue_or_return(self, claim: int, index: int, request: DeviceRequest, number: int, start: int) -> bool:
        """Continue after a device was chosen; return it if there is no solution."""
        allocated = False
        try:
            allocated = self._allocate_devices(claim, index, request, number, start)
        finally:
            if not allocated:
                self.allocation.deallocate(claim)
        return allocated

    def _is_suitable(self, claim: int, request: DeviceRequest, candidate: DeviceCandidate) -> bool:
        """Return whether a device suits a request, regardless of other choices."""
        device = candidate.device
        if not self._is_selectable(claim, request, candidate) or self._is_tainted(request, device):
            return False
        # The capacity left of a shared device depends on other choices, so it is checked when the device is taken.
        return device.allows_multiple_allocations or self.allocation.has_capacity(request, device)

    def _is_tainted(self, request: DeviceRequest, device: Device) -> bool:
        return self._features.device_taints and is_tainted(device, request)

    def _is_selectable(self, claim: int, request: DeviceRequest, candidate: DeviceCandidate) -> bool:
        device = candidate.device
        if not self._features.binding_conditions and device.binding_conditions:
            return False
        if not self._selectors.match(self._claims[claim].name, request, device):
            return False
        return not candidate.slice.per_device or device.node_scope.includes(self._node)

    def _count_step(self) -> None:
        self._steps += 1
        if self._steps > _STEPS_MAX and self._features.has_filter_timeout:
            raise SearchTimeout


@dataclass(frozen=True, slots=True)
class AllocatorDependencies:
    """Everything that the searches of one cycle share."""

    compiler: ClaimCompiler
    selectors: DeviceSelectors
    allocated: AllocatedDevices
    available: AvailableCounters
    features: DynamicResourcesFeatures


def _list_candidates(pools: Iterator[ResourcePool]) -> Iterator[DeviceCandidate]:
    for pool in pools:
        for one in pool.slices:
            for device in one.devices:
                yield DeviceCandidate(pool, one, device)
