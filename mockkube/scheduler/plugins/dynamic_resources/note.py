"""What is known of a pod's claims in one cycle, and on the way to its node."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from mockkube.api.types import Object, ReadOnlyObject
from mockkube.matching.node_selectors import NodeSelector
from mockkube.scheduler.framework.interface import Slot
from mockkube.scheduler.plugins.dynamic_resources.extended import UNWRITTEN
from mockkube.scheduler.plugins.dynamic_resources.pod_claims import allocation_of
from mockkube.scheduler.plugins.dynamic_resources.requests import Wanted
from mockkube.scheduler.plugins.dynamic_resources.search import Allocator


@dataclass(frozen=True, slots=True)
class OnNode:
    """What the claims without devices would get on a node, in their order; and the claim for extended resources."""

    allocations: tuple[Object, ...]
    extended: Object | None = None
    mappings: tuple[Object, ...] = ()


@dataclass(slots=True)
class Note:
    """All claims of the pod; the one that stands for extended resources, if there is one, comes last."""

    claims: list[ReadOnlyObject] = field(default_factory=list)
    extended: bool = False
    """Whether the last claim stands for extended resources."""
    promised_uid: str = ""
    """The uid by which that claim goes until it has been written."""
    resources: dict[str, int] = field(default_factory=dict)
    """The extended resources that the pod asks for."""
    reach: dict[int, NodeSelector] = field(default_factory=dict)
    """Where claims that have devices can be used, by their index; those not listed, anywhere."""
    allocator: Allocator | None = None
    wanted: dict[int, Wanted] = field(default_factory=dict)
    """What claims without devices ask for, by their index."""
    broken: str = ""
    """Why they cannot be served anywhere."""
    unavailable: set[int] = field(default_factory=set)
    """Which claims that have devices could not be used on some node."""
    on_node: dict[str, OnNode] = field(default_factory=dict)
    decided: dict[int, Object] = field(default_factory=dict)
    """What claims get on the node that was chosen, by their index."""
    remedy: int | None = None
    """Which claim is to give its devices back, or is to go, so that the pod can be scheduled some time."""
    prepared_by: float | None = None
    """Until when devices must have been prepared; None before all claims are written."""

    @property
    def unallocated(self) -> Iterator[int]:
        """The indexes of the claims that have no devices yet."""
        return (index for index, claim in enumerate(self.claims) if allocation_of(claim) is None)

    def is_extended(self, index: int) -> bool:
        """Whether a claim stands for extended resources."""
        return self.extended and index == len(self.claims) - 1

    @property
    def extended_claim(self) -> ReadOnlyObject | None:
        """The claim that stands for extended resources."""
        return self.claims[-1] if self.extended else None

    @property
    def extended_written(self) -> bool:
        """Whether that claim is one that others can see."""
        claim = self.extended_claim
        return claim is not None and claim["metadata"].get("name") != UNWRITTEN

    @property
    def only_extended(self) -> bool:
        """Whether the pod names no claims itself."""
        return self.extended and len(self.claims) == 1


NOTE: Final = Slot[Note]("DynamicResources")
