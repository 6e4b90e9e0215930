"""State of a pod's resource claims during the scheduling and the binding cycle."""

from collections.abc import Iterator
from dataclasses import field
from typing import Final

from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.lazy_dataclasses import dataclass
from mockkube.matching.node_selectors import NodeSelector
from mockkube.scheduler.framework.interface import StateKey
from mockkube.scheduler.plugins.dynamic_resources.allocation.allocator import AllocatorDependencies
from mockkube.scheduler.plugins.dynamic_resources.claims.claim_requests import ClaimRequests
from mockkube.scheduler.plugins.dynamic_resources.claims.extended_resources import UNWRITTEN_CLAIM_NAME
from mockkube.scheduler.plugins.dynamic_resources.claims.pod_claims import allocation_of


@dataclass(frozen=True, slots=True)
class NodeAllocation:
    """Allocations on a node for the unallocated claims, in their order.

    For extended resources it also holds the special claim and its mappings to containers.
    """

    allocations: tuple[Object, ...]
    extended_claim: Object | None = None
    mappings: tuple[Object, ...] = ()


@dataclass(slots=True)
class DynamicResourcesState:
    """Claims of the pod; the special claim for extended resources, if there is one, is the last."""

    claims: list[ReadOnlyObject] = field(default_factory=list)
    has_extended_claim: bool = False
    """Whether the last claim is the special claim."""
    extended_claim_uid: str = ""
    """Uid of the special claim before it is written."""
    extended_resources: dict[str, int] = field(default_factory=dict)
    """Extended resources that the pod requests."""
    node_selectors: dict[int, NodeSelector] = field(default_factory=dict)
    """Node selectors of allocated claims, by index; claims without one can be used on all nodes."""
    allocator: AllocatorDependencies | None = None
    claims_to_allocate: dict[int, ClaimRequests] = field(default_factory=dict)
    """Compiled requests of unallocated claims, by index."""
    allocation_error: str = ""
    """Reason why they cannot be allocated on any node."""
    unavailable: set[int] = field(default_factory=set)
    """Indexes of allocated claims that cannot be used on some node."""
    node_allocations: dict[str, NodeAllocation] = field(default_factory=dict)
    chosen_allocations: dict[int, Object] = field(default_factory=dict)
    """Allocations on the chosen node, by index."""
    claim_to_release: int | None = None
    """Index of the claim that PostFilter releases so that the pod can be scheduled later."""
    preparation_deadline: float | None = None
    """Deadline for the preparation of devices; None before all claims are written."""

    @property
    def unallocated(self) -> Iterator[int]:
        """Indexes of the claims without an allocation."""
        return (index for index, claim in enumerate(self.claims) if allocation_of(claim) is None)

    def is_extended_claim(self, index: int) -> bool:
        """Return whether a claim is the special claim."""
        return self.has_extended_claim and index == len(self.claims) - 1

    @property
    def extended_claim(self) -> ReadOnlyObject | None:
        """The special claim, if there is one."""
        return self.claims[-1] if self.has_extended_claim else None

    @property
    def is_extended_claim_written(self) -> bool:
        """True if the special claim exists in the API."""
        claim = self.extended_claim
        return claim is not None and claim["metadata"].get("name") != UNWRITTEN_CLAIM_NAME

    @property
    def has_only_extended_claim(self) -> bool:
        """True if the special claim is the only one."""
        return self.has_extended_claim and len(self.claims) == 1


STATE: Final = StateKey[DynamicResourcesState]("DynamicResources")
