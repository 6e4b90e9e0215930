"""Resource allocation of a node with a pod added, and the scoring strategies that use it.

upstream 1.36: pkg/scheduler/framework/plugins/noderesources/{resource_allocation,least_allocated,most_allocated,
requested_to_capacity_ratio}.go
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, Self

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.lazy_dataclasses import dataclass
from mockkube.scheduler.framework.interface import SCORE_MAX
from mockkube.scheduler.framework.node_info import NodeInfo
from mockkube.scheduler.framework.pod_requests import PodRequests
from mockkube.scheduler.framework.scores import build_broken_linear_function

_UTILIZATION_MAX: Final = 100
# Resources with default requests for containers that have none.
_WITH_DEFAULT_REQUESTS: Final = ("cpu", "memory")


class ResourceShare(NamedTuple):
    """One resource of a node: requested with the pod, allocated without it, and capacity."""

    requested: int
    allocated: int
    capacity: int
    weight: int


Scorer = Callable[[Sequence[ResourceShare]], int]


@dataclass(frozen=True, slots=True)
class ResourceAllocation:
    """Resources of a scoring strategy, and whether default requests count."""

    weights: tuple[tuple[str, int], ...]
    nonzero: bool

    @classmethod
    def from_resources(cls, resources: Sequence[ReadOnlyObject], *, nonzero: bool) -> Self:
        """Parse the resources of a strategy."""
        return cls(tuple((one["name"], one["weight"]) for one in resources), nonzero)

    def pod_requests(self, requests: PodRequests) -> tuple[int, ...]:
        """Return the pod's request of each resource."""
        return tuple(
            (requests.nonzero if self.nonzero and name in _WITH_DEFAULT_REQUESTS else requests.total).get_amount(name)
            for name, _ in self.weights
        )

    def shares_with_pod(self, requests: Sequence[int], node: NodeInfo) -> list[ResourceShare]:
        """Return the node's resources with the pod added; extended resources only if the pod requests them."""
        shares = []
        for (name, weight), amount in zip(self.weights, requests, strict=True):
            # upstream: an extended resource that the pod does not request does not influence the score.
            capacity = (
                0 if name == "pods" or (amount == 0 and is_scalar_resource(name)) else node.allocatable.get_amount(name)
            )
            if capacity:
                counted = self.nonzero and name in _WITH_DEFAULT_REQUESTS
                allocated = (node.requested_nonzero if counted else node.requested).get_amount(name)
                shares.append(ResourceShare(allocated + amount, allocated, capacity, weight))
        return shares


def is_scalar_resource(name: str) -> bool:
    """Return whether a resource is none of the four that every node has."""
    return "/" in name or name.startswith(("hugepages-", "attachable-volumes-"))


def scorer_for(args: ReadOnlyObject) -> Scorer:
    """Return the scorer of a scoring strategy."""
    match args["type"]:
        case "MostAllocated":
            return _most_allocated
        case "RequestedToCapacityRatio":
            return _requested_to_capacity_ratio(args["requestedToCapacityRatio"]["shape"])
    return _least_allocated


def _least_allocated(shares: Sequence[ResourceShare]) -> int:
    weights = sum(share.weight for share in shares)
    if weights == 0:
        return 0
    free = (max(one.capacity - one.requested, 0) * SCORE_MAX // one.capacity * one.weight for one in shares)
    return sum(free) // weights


def _most_allocated(shares: Sequence[ResourceShare]) -> int:
    weights = sum(share.weight for share in shares)
    if weights == 0:
        return 0
    used = (min(one.requested, one.capacity) * SCORE_MAX // one.capacity * one.weight for one in shares)
    return sum(used) // weights


def _requested_to_capacity_ratio(shape: Sequence[Any]) -> Scorer:
    line = build_broken_linear_function(shape)

    def score(shares: Sequence[ResourceShare]) -> int:
        total = weights = 0
        for share in shares:
            utilization = min(share.requested * _UTILIZATION_MAX // share.capacity, _UTILIZATION_MAX)
            # upstream: resources with score 0 are left out of the mean.
            if (one := line(utilization)) > 0:
                total += one * share.weight
                weights += share.weight
        # Go rounds half away from zero, Python to even.
        return math.floor(total / weights + 0.5) if weights else 0

    return score
