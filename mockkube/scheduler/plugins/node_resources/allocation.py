"""How full a node would be with a pod on it, and the strategies that rank nodes by that.

upstream 1.36: pkg/scheduler/framework/plugins/noderesources/{resource_allocation,least_allocated,most_allocated,
requested_to_capacity_ratio}.go
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Self

from mockkube.api.types import ReadOnlyObject
from mockkube.scheduler.framework.interface import SCORE_MAX
from mockkube.scheduler.framework.node_info import NodeInfo
from mockkube.scheduler.framework.pod_requests import PodRequests
from mockkube.scheduler.framework.scores import broken_line

_UTILIZATION_MAX: Final = 100
_COUNTED_FOR_NOTHING: Final = ("cpu", "memory")
"""What a little is counted of for containers that ask for nothing."""


class Share(NamedTuple):
    """One resource of a node: what would be asked of it with the pod, what is without, and what there is."""

    requested: int
    allocated: int
    capacity: int
    weight: int


Scorer = Callable[[Sequence[Share]], int]


@dataclass(frozen=True, slots=True)
class Allocation:
    """Which resources count, how much, and whether with the little that is counted for asking nothing."""

    weights: tuple[tuple[str, int], ...]
    nonzero: bool

    @classmethod
    def read(cls, resources: Sequence[ReadOnlyObject], *, nonzero: bool) -> Self:
        """Read the resources of a strategy."""
        return cls(tuple((one["name"], one["weight"]) for one in resources), nonzero)

    def of_pod(self, requests: PodRequests) -> tuple[int, ...]:
        """Return what a pod asks for of each resource."""
        return tuple(
            (requests.nonzero if self.nonzero and name in _COUNTED_FOR_NOTHING else requests.total).amount(name)
            for name, _ in self.weights
        )

    def with_pod(self, requests: Sequence[int], node: NodeInfo) -> list[Share]:
        """Return the resources that count on a node: those it has, scalars only if the pod asks for them."""
        shares = []
        for (name, weight), amount in zip(self.weights, requests, strict=True):
            capacity = 0 if name == "pods" or (amount == 0 and is_scalar(name)) else node.allocatable.amount(name)
            if capacity:
                counted = self.nonzero and name in _COUNTED_FOR_NOTHING
                allocated = (node.requested_nonzero if counted else node.requested).amount(name)
                shares.append(Share(allocated + amount, allocated, capacity, weight))
        return shares


def is_scalar(name: str) -> bool:
    """Whether a resource is none of the four that every node has."""
    return "/" in name or name.startswith(("hugepages-", "attachable-volumes-"))


def strategy(args: ReadOnlyObject) -> Scorer:
    """Return how a scoring strategy ranks."""
    match args["type"]:
        case "MostAllocated":
            return _most_allocated
        case "RequestedToCapacityRatio":
            return _ratio(args["requestedToCapacityRatio"]["shape"])
    return _least_allocated


def _least_allocated(shares: Sequence[Share]) -> int:
    weights = sum(share.weight for share in shares)
    if weights == 0:
        return 0
    free = (max(one.capacity - one.requested, 0) * SCORE_MAX // one.capacity * one.weight for one in shares)
    return sum(free) // weights


def _most_allocated(shares: Sequence[Share]) -> int:
    weights = sum(share.weight for share in shares)
    if weights == 0:
        return 0
    used = (min(one.requested, one.capacity) * SCORE_MAX // one.capacity * one.weight for one in shares)
    return sum(used) // weights


def _ratio(shape: Sequence[Any]) -> Scorer:
    line = broken_line(shape)

    def score(shares: Sequence[Share]) -> int:
        total = weights = 0
        for share in shares:
            utilization = min(share.requested * _UTILIZATION_MAX // share.capacity, _UTILIZATION_MAX)
            if (one := line(utilization)) > 0:
                total += one * share.weight
                weights += share.weight
        return math.floor(total / weights + 0.5) if weights else 0

    return score
