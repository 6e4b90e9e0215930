"""Allocator: search a node for devices that serve all claims of a pod.

It goes claim by claim and request by request, and backtracks; the first solution counts. Within a request devices are
tried in one order only, so that no set is tried twice.

upstream 1.36: dynamic-resource-allocation/structured/internal/experimental/allocator_experimental.go
"""

from collections.abc import Hashable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Final

from mockkube_cel.recursion import room_for

from mockkube.scheduler.framework.node_info import NodeInfo
from mockkube.scheduler.plugins.dynamic_resources.choice import Candidate, Choice, is_tainted
from mockkube.scheduler.plugins.dynamic_resources.counters import AvailableCounters
from mockkube.scheduler.plugins.dynamic_resources.devices import Device
from mockkube.scheduler.plugins.dynamic_resources.ledger import Allocated
from mockkube.scheduler.plugins.dynamic_resources.pools import Pool
from mockkube.scheduler.plugins.dynamic_resources.requests import (
    DEVICES_MAX,
    Request,
    RequestReader,
    Unserviceable,
    Wanted,
)
from mockkube.scheduler.plugins.dynamic_resources.rules import Rules
from mockkube.scheduler.plugins.dynamic_resources.selectors import Selectors

# Limit of the search on one node. differs: upstream stops after ten seconds, which would not give the same result each
# time.
_STEPS_MAX: Final = 250_000
# Up to so many devices the default recursion limit is enough.
_MANY: Final = 100


class OutOfTime(Exception):
    """Raised when the search on a node reaches its limit."""


class _TooMany(Exception):
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

    def __init__(self, wanted: Sequence[Wanted], pools: Sequence[Pool], node: NodeInfo, allocator: "Allocator") -> None:
        self._wanted, self._pools, self._node, self._allocator = wanted, pools, node, allocator
        self._rules, self._selectors = allocator.rules, allocator.selectors
        self._candidates = list(_candidates(pool for pool in pools if pool.usable))
        self._everything: dict[Request, list[Candidate]] = {}
        # Index of the chosen alternative, by claim and request.
        self.selected: list[dict[int, int]] = [{} for _ in wanted]
        constraints = [allocator.reader.constraints(one) for one in wanted]
        self.choice = Choice(constraints, allocator.allocated, allocator.available, allocator.rules)
        # Whether each candidate suits a request, whatever else is chosen; None where it was not evaluated yet.
        self._verdicts: dict[Request, list[bool | None]] = {}
        # States from which no solution exists: different orders of choices lead to the same state.
        self._hopeless: set[Hashable] = set()
        # With admin access the assignment of devices to claims matters, so states cannot be compared.
        self._for_administrators = any(
            request.admin for one in wanted for alternatives in one.requests for request in alternatives
        )
        self._steps = 0
        self._furthest = (0, 0)

    def run(self) -> bool:
        """Return whether all claims can be served; raise AllocationError or SearchTimeout."""
        least = sum(self._least(index) for index in range(len(self._wanted)))
        # The search recurses once per device, deeper than Python's default limit for large claims.
        with room_for(least) if least > _MANY else nullcontext():
            try:
                return self._claim(0)
            except _TooMany:
                return False

    @property
    def stuck(self) -> Stuck:
        """Furthest request that the search reached."""
        claim, request = self._furthest
        wanted = self._wanted[claim]
        first = wanted.requests[request][0]
        return Stuck(wanted.name, first.base_name, self._count(first), len(self._candidates))

    def _least(self, claim: int) -> int:
        """Return the minimum number of devices of a claim."""
        wanted = self._wanted[claim]
        for request in (one for alternatives in wanted.requests for one in alternatives if one.everything):
            self._everything[request] = self._all_for(claim, request)
        least = sum(min(map(self._count, alternatives)) for alternatives in wanted.requests)
        if least > DEVICES_MAX:
            text = f"number of requested devices {least} exceeds the claim limit of {DEVICES_MAX}"
            raise Unserviceable(f"claim {wanted.name}: {text}")
        return least

    def _all_for(self, claim: int, request: Request) -> list[Candidate]:
        name = self._wanted[claim].name
        for pool in self._pools:
            if not pool.usable:
                state = "being updated" if pool.incomplete else "invalid"
                text = f"asks for all devices, but resource pool {pool.id} is currently {state}"
                raise Unserviceable(f"claim {name}, request {request.name}: {text}")
        return [
            candidate
            for candidate in self._candidates
            if self._selectable(claim, request, candidate) and self.choice.could_have_room(request, candidate.device)
        ]

    def _count(self, request: Request) -> int:
        return len(self._everything[request]) if request.everything else request.count

    def _claim(self, claim: int) -> bool:
        if claim >= len(self._wanted):
            return True
        try:
            return self._request(claim, 0)
        except _TooMany:
            # Caught here for later claims, or it would count against an alternative of the claim before.
            if claim == 0:
                raise
            return False

    def _request(self, claim: int, index: int) -> bool:
        requests = self._wanted[claim].requests
        if index >= len(requests):
            return self._claim(claim + 1)
        self._furthest = max(self._furthest, (claim, index))
        outlook = None if self._for_administrators else self.choice.outlook(claim)
        if outlook is not None and (claim, index, outlook) in self._hopeless:
            return False
        if requests[index][0].parent:
            allocated = self._any_alternative(claim, index, requests[index])
        else:
            allocated = self._device(claim, index, requests[index][0], 0, 0)
        if not allocated and outlook is not None:
            self._hopeless.add((claim, index, outlook))
        return allocated

    def _any_alternative(self, claim: int, index: int, alternatives: Sequence[Request]) -> bool:
        all_exceed_limit = True
        for number, alternative in enumerate(alternatives):
            try:
                allocated = self._device(claim, index, alternative, 0, 0)
            except _TooMany:
                continue
            all_exceed_limit = False
            if allocated:
                self.selected[claim][index] = number
                return True
        if all_exceed_limit:
            raise _TooMany
        return False

    def _device(self, claim: int, index: int, request: Request, number: int, start: int) -> bool:
        """Find the remaining devices of a request, from the given number on.

        `start` is the first candidate to try: earlier ones were tried for earlier devices.
        """
        self._step()
        count = self._count(request)
        if request.everything and not count:
            return False
        if number >= count:
            return self._request(claim, index + 1)
        if len(self.choice.chosen[claim]) + count - number > DEVICES_MAX:
            raise _TooMany
        if request.everything:
            return self._next_of_all(claim, index, request, number)
        return self._next_of_some(claim, index, request, number, start)

    def _next_of_some(self, claim: int, index: int, request: Request, number: int, start: int) -> bool:
        choice, suitability = self.choice, self._verdicts.get(request)
        if suitability is None:
            suitability = self._verdicts[request] = [None] * len(self._candidates)
        for place in range(start, len(self._candidates)):  # hot: per device
            candidate = self._candidates[place]
            if choice.in_use(claim, request, candidate.device.id):
                continue
            verdict = suitability[place]
            if verdict is None:
                verdict = suitability[place] = self._may_be_given(claim, request, candidate)
            if not verdict or not choice.take(claim, request, candidate):
                continue
            if self._go_on(claim, index, request, number + 1, place + 1):
                return True
        return False

    def _next_of_all(self, claim: int, index: int, request: Request, number: int) -> bool:
        candidate = self._everything[request][number]
        device = candidate.device
        if self.choice.in_use(claim, request, device.id) or self._is_tainted(request, device):
            return False
        if self.choice.has_room(request, device) and self.choice.take(claim, request, candidate):
            return self._go_on(claim, index, request, number + 1, 0)
        # upstream: "all devices" that violate a constraint can never be allocated, so the claim fails on every node.
        if self.choice.violated:
            text = f"cannot add device {candidate.device.id} because a claim constraint would not be satisfied"
            raise Unserviceable(f"claim {self._wanted[claim].name}, request {request.name}: {text}")
        return False

    def _go_on(self, claim: int, index: int, request: Request, number: int, start: int) -> bool:
        """Continue after a device was chosen; return it if there is no solution."""
        allocated = False
        try:
            allocated = self._device(claim, index, request, number, start)
        finally:
            if not allocated:
                self.choice.give_back(claim)
        return allocated

    def _may_be_given(self, claim: int, request: Request, candidate: Candidate) -> bool:
        """Return whether a device suits a request, regardless of other choices."""
        device = candidate.device
        if not self._selectable(claim, request, candidate) or self._is_tainted(request, device):
            return False
        # The capacity left of a shared device depends on other choices, so it is checked when the device is taken.
        return device.shared or self.choice.has_room(request, device)

    def _is_tainted(self, request: Request, device: Device) -> bool:
        return self._rules.taints and is_tainted(device, request)

    def _selectable(self, claim: int, request: Request, candidate: Candidate) -> bool:
        device = candidate.device
        if not self._rules.binding_conditions and device.binding_conditions:
            return False
        if not self._selectors.take(self._wanted[claim].name, request, device):
            return False
        return not candidate.slice.per_device or device.reach.includes(self._node)

    def _step(self) -> None:
        self._steps += 1
        if self._steps > _STEPS_MAX and self._rules.limited:
            raise OutOfTime


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
