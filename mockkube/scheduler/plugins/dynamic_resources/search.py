"""Allocator: search a node for devices that serve all claims of a pod.

It goes claim by claim and request by request, and backtracks; the first solution counts. Within a request devices are
tried in one order only, so that no set is tried twice.

upstream 1.36: dynamic-resource-allocation/structured/internal/experimental/allocator_experimental.go
"""

from collections.abc import Hashable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Final

from mockkube_cel.recursion import raised_recursion_limit

from mockkube.scheduler.framework.node_info import NodeInfo
from mockkube.scheduler.plugins.dynamic_resources.choice import Candidate, Choice, is_tainted
from mockkube.scheduler.plugins.dynamic_resources.counters import AvailableCounters
from mockkube.scheduler.plugins.dynamic_resources.devices import Device
from mockkube.scheduler.plugins.dynamic_resources.ledger import Allocated
from mockkube.scheduler.plugins.dynamic_resources.pools import Pool
from mockkube.scheduler.plugins.dynamic_resources.requests import (
    DEVICES_MAX,
    AllocationError,
    ClaimRequests,
    Request,
    RequestReader,
)
from mockkube.scheduler.plugins.dynamic_resources.rules import Rules
from mockkube.scheduler.plugins.dynamic_resources.selectors import Selectors

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
class Stuck:
    """Request at which the search ended, for explanations."""

    claim: str
    request: str
    wanted: int
    devices: int
    """Number of devices that the node can use."""


class Search:
    """Search on one node."""

    def __init__(
        self, wanted: Sequence[ClaimRequests], pools: Sequence[Pool], node: NodeInfo, allocator: "Allocator"
    ) -> None:
        self._claims, self._pools, self._node, self._allocator = wanted, pools, node, allocator
        self._features, self._selectors = allocator.rules, allocator.selectors
        self._candidates = list(_candidates(pool for pool in pools if pool.usable))
        self._all_devices: dict[Request, list[Candidate]] = {}
        # Index of the chosen alternative, by claim and request.
        self.selected: list[dict[int, int]] = [{} for _ in wanted]
        constraints = [allocator.reader.constraints(one) for one in wanted]
        self.choice = Choice(constraints, allocator.allocated, allocator.available, allocator.rules)
        # Whether each candidate suits a request, whatever else is chosen; None where it was not evaluated yet.
        self._suitability: dict[Request, list[bool | None]] = {}
        # States from which no solution exists: different orders of choices lead to the same state.
        self._failed_states: set[Hashable] = set()
        # With admin access the assignment of devices to claims matters, so states cannot be compared.
        self._has_admin_requests = any(
            request.admin for one in wanted for alternatives in one.requests for request in alternatives
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
    def stuck(self) -> Stuck:
        """Furthest request that the search reached."""
        claim, request = self._furthest
        wanted = self._claims[claim]
        first = wanted.requests[request][0]
        return Stuck(wanted.name, first.base_name, self._num_devices(first), len(self._candidates))

    def _count_minimum_devices(self, claim: int) -> int:
        """Return the minimum number of devices of a claim."""
        wanted = self._claims[claim]
        for request in (one for alternatives in wanted.requests for one in alternatives if one.everything):
            self._all_devices[request] = self._find_all_devices(claim, request)
        least = sum(min(map(self._num_devices, alternatives)) for alternatives in wanted.requests)
        if least > DEVICES_MAX:
            text = f"number of requested devices {least} exceeds the claim limit of {DEVICES_MAX}"
            raise AllocationError(f"claim {wanted.name}: {text}")
        return least

    def _find_all_devices(self, claim: int, request: Request) -> list[Candidate]:
        name = self._claims[claim].name
        for pool in self._pools:
            if not pool.usable:
                state = "being updated" if pool.incomplete else "invalid"
                text = f"asks for all devices, but resource pool {pool.id} is currently {state}"
                raise AllocationError(f"claim {name}, request {request.name}: {text}")
        return [
            candidate
            for candidate in self._candidates
            if self._is_selectable(claim, request, candidate)
            and self.choice.could_have_capacity(request, candidate.device)
        ]

    def _num_devices(self, request: Request) -> int:
        return len(self._all_devices[request]) if request.everything else request.count

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
        outlook = None if self._has_admin_requests else self.choice.outlook(claim)
        if outlook is not None and (claim, index, outlook) in self._failed_states:
            return False
        if requests[index][0].parent:
            allocated = self._allocate_first_available(claim, index, requests[index])
        else:
            allocated = self._allocate_devices(claim, index, requests[index][0], 0, 0)
        if not allocated and outlook is not None:
            self._failed_states.add((claim, index, outlook))
        return allocated

    def _allocate_first_available(self, claim: int, index: int, alternatives: Sequence[Request]) -> bool:
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

    def _allocate_devices(self, claim: int, index: int, request: Request, number: int, start: int) -> bool:
        """Find the remaining devices of a request, from the given number on.

        `start` is the first candidate to try: earlier ones were tried for earlier devices.
        """
        self._count_step()
        count = self._num_devices(request)
        if request.everything and not count:
            return False
        if number >= count:
            return self._allocate_request(claim, index + 1)
        if len(self.choice.chosen[claim]) + count - number > DEVICES_MAX:
            raise _TooManyDevices
        if request.everything:
            return self._allocate_next_of_all(claim, index, request, number)
        return self._allocate_next_of_count(claim, index, request, number, start)

    def _allocate_next_of_count(self, claim: int, index: int, request: Request, number: int, start: int) -> bool:
        choice, suitability = self.choice, self._suitability.get(request)
        if suitability is None:
            suitability = self._suitability[request] = [None] * len(self._candidates)
        for place in range(start, len(self._candidates)):  # hot: per device
            candidate = self._candidates[place]
            if choice.in_use(claim, request, candidate.device.id):
                continue
            verdict = suitability[place]
            if verdict is None:
                verdict = suitability[place] = self._is_suitable(claim, request, candidate)
            if not verdict or not choice.take(claim, request, candidate):
                continue
            if self._continue_or_return(claim, index, request, number + 1, place + 1):
                return True
        return False

    def _allocate_next_of_all(self, claim: int, index: int, request: Request, number: int) -> bool:
        candidate = self._all_devices[request][number]
        device = candidate.device
        if self.choice.in_use(claim, request, device.id) or self._is_tainted(request, device):
            return False
        if self.choice.has_room(request, device) and self.choice.take(claim, request, candidate):
            return self._continue_or_return(claim, index, request, number + 1, 0)
        # upstream: "all devices" that violate a constraint can never be allocated, so the claim fails on every node.
        if self.choice.violated:
            text = f"cannot add device {candidate.device.id} because a claim constraint would not be satisfied"
            raise AllocationError(f"claim {self._claims[claim].name}, request {request.name}: {text}")
        return False

    def _continue_or_return(self, claim: int, index: int, request: Request, number: int, start: int) -> bool:
        """Continue after a device was chosen; return it if there is no solution."""
        allocated = False
        try:
            allocated = self._allocate_devices(claim, index, request, number, start)
        finally:
            if not allocated:
                self.choice.give_back(claim)
        return allocated

    def _is_suitable(self, claim: int, request: Request, candidate: Candidate) -> bool:
        """Return whether a device suits a request, regardless of other choices."""
        device = candidate.device
        if not self._is_selectable(claim, request, candidate) or self._is_tainted(request, device):
            return False
        # The capacity left of a shared device depends on other choices, so it is checked when the device is taken.
        return device.shared or self.choice.has_room(request, device)

    def _is_tainted(self, request: Request, device: Device) -> bool:
        return self._features.taints and is_tainted(device, request)

    def _is_selectable(self, claim: int, request: Request, candidate: Candidate) -> bool:
        device = candidate.device
        if not self._features.binding_conditions and device.binding_conditions:
            return False
        if not self._selectors.take(self._claims[claim].name, request, device):
            return False
        return not candidate.slice.per_device or device.reach.includes(self._node)

    def _count_step(self) -> None:
        self._steps += 1
        if self._steps > _STEPS_MAX and self._features.limited:
            raise SearchTimeout


@dataclass(frozen=True, slots=True)
class Allocator:
    """Everything that the searches of one cycle share."""

    reader: RequestReader
    selectors: Selectors
    allocated: Allocated
    available: AvailableCounters
    rules: Rules


def _candidates(pools: Iterator[Pool]) -> Iterator[Candidate]:
    for pool in pools:
        for one in pool.slices:
            for device in one.devices:
                yield Candidate(pool, one, device)
