"""Filter nodes for a pod's claims: allocated claims must be usable there, for the others devices must be found.

upstream 1.36: pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go (Filter)
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.lazy_dataclasses import dataclass
from mockkube.runtime.clock import Clock
from mockkube.scheduler.framework.node_info import NodeInfo
from mockkube.scheduler.framework.pod_info import PodInfo
from mockkube.scheduler.framework.status import SUCCESS, Status
from mockkube.scheduler.plugins.dynamic_resources.allocation.allocation_result import build_allocation
from mockkube.scheduler.plugins.dynamic_resources.allocation.allocator import Allocator, SearchTimeout
from mockkube.scheduler.plugins.dynamic_resources.claims.claim_requests import AllocationError, ClaimRequests
from mockkube.scheduler.plugins.dynamic_resources.claims.device_class_selection import DeviceClassSelection
from mockkube.scheduler.plugins.dynamic_resources.claims.extended_resources import build_requests
from mockkube.scheduler.plugins.dynamic_resources.claims.pod_claims import allocation_of
from mockkube.scheduler.plugins.dynamic_resources.devices.binding_conditions import (
    DevicePreparationError,
    is_overdue,
    is_ready,
)
from mockkube.scheduler.plugins.dynamic_resources.devices.pools import PoolCache
from mockkube.scheduler.plugins.dynamic_resources.features import DynamicResourcesFeatures
from mockkube.scheduler.plugins.dynamic_resources.state import DynamicResourcesState, NodeAllocation

_NOT_AVAILABLE: Final = "resourceclaim not available on the node"
_CANNOT_ALLOCATE: Final = "cannot allocate all claims"


@dataclass(frozen=True, slots=True)
class NodeFilter:
    """Filters nodes, and stores the allocations that each would get."""

    pools: PoolCache
    classes: DeviceClassSelection
    clock: Clock
    features: DynamicResourcesFeatures
    binding_seconds: float

    def filter(self, claim_state: DynamicResourcesState, pod: PodInfo, node: NodeInfo) -> Status:
        """Return SUCCESS with the allocations stored, or the rejection of the node."""
        extended = self._extended_claim_for_node(claim_state, pod, node)
        if isinstance(extended, Status):
            return extended
        if extended is None and claim_state.has_only_extended_claim:
            return SUCCESS
        unavailable = [
            index
            for index, claim in enumerate(claim_state.claims)
            if not self._is_available(claim_state, index, claim, node)
        ]
        node_allocation: NodeAllocation | None = None
        if claim_state.allocator is not None:
            answer = self._allocate(claim_state, extended, node)
            if isinstance(answer, Status):
                return answer
            node_allocation = answer
        if unavailable:
            # PostFilter may deallocate claims that were unavailable on some node.
            claim_state.unavailable.update(unavailable)
            names = [claim_state.claims[index]["metadata"]["name"] for index in unavailable]
            return Status.unresolvable(_NOT_AVAILABLE, claims=names)
        if node_allocation is not None:
            claim_state.node_allocations[node.name] = node_allocation
        return SUCCESS

    def _is_available(
        self, claim_state: DynamicResourcesState, index: int, claim: ReadOnlyObject, node: NodeInfo
    ) -> bool:
        """Return whether an allocated claim can be used on the node; an unallocated one always can."""
        node_scope = claim_state.node_selectors.get(index)
        if node_scope is not None and not node_scope.matches(node.labels, node.name):
            return False
        if not self.features.binding_conditions or allocation_of(claim) is None:
            return True
        try:
            return is_ready(claim) or not is_overdue(claim, self.clock.now(), self.binding_seconds)
        except DevicePreparationError:
            return False

    def _extended_claim_for_node(
        self, claim_state: DynamicResourcesState, pod: PodInfo, node: NodeInfo
    ) -> NodeAllocation | Status | None:
        """Return the claim for extended resources that devices must serve on the node; None if there is none."""
        claim = claim_state.extended_claim
        if claim is None:
            return None
        if (claim["spec"].get("devices") or {}).get("requests"):
            # The claim was written by an earlier attempt; PostFilter deletes it, and the next attempt builds a new one.
            return Status.unresolvable("cannot schedule extended resource claim", claim=claim["metadata"]["name"])
        by_class: dict[str, str] = {}
        for resource in claim_state.extended_resources:
            device_class = self.classes.select_class(resource)
            # A device plugin on the node takes precedence over devices.
            if device_class and not node.allocatable.scalars.get(resource):
                by_class[resource] = device_class
            elif resource not in node.allocatable.scalars:
                return Status.unresolvable("cannot fit resource", resource=resource)
        if (claim_state.has_only_extended_claim and not by_class) or allocation_of(claim) is not None:
            return None
        needed = build_requests(pod, by_class)
        spec: Object = {"devices": {"requests": list(needed.requests)}} if needed.requests else {}
        return NodeAllocation((), {**claim, "spec": spec}, needed.mappings)

    def _allocate(
        self, claim_state: DynamicResourcesState, extended: NodeAllocation | None, node: NodeInfo
    ) -> NodeAllocation | Status:
        assert claim_state.allocator is not None, "an unallocated claim has an allocator"
        if claim_state.allocation_error:
            return Status.error(claim_state.allocation_error)
        pools = self.pools.for_node(node)
        try:
            wanted = self._claims_to_allocate(claim_state, extended)
            search = Allocator(wanted, pools, node, claim_state.allocator)
            if not search.run():
                return self._rejection(search, node)
        except AllocationError as error:
            return Status.error(str(error))
        except SearchTimeout:
            return self._timeout_status(node)
        chosen = zip(wanted, search.allocation.chosen, search.selected, strict=True)
        allocations = tuple(
            build_allocation(one, devices, picks, node.name, self.features) for one, devices, picks in chosen
        )
        return NodeAllocation(allocations) if extended is None else replace(extended, allocations=allocations)

    def _claims_to_allocate(
        self, claim_state: DynamicResourcesState, extended: NodeAllocation | None
    ) -> list[ClaimRequests]:
        """Return the claims to allocate; the special claim differs from node to node."""
        assert claim_state.allocator is not None, "an unallocated claim has an allocator"
        wanted = []
        for index, one in claim_state.claims_to_allocate.items():
            if extended is not None and extended.extended_claim is not None and claim_state.is_extended_claim(index):
                one = claim_state.allocator.compiler.compile(extended.extended_claim)
            wanted.append(one)
        return wanted

    def _rejection(self, search: Allocator, node: NodeInfo) -> Status:
        invalid = next((pool for pool in self.pools.for_node(node) if pool.invalid), None)
        if invalid is not None and self.features.invalid_pools_are_errors:
            return Status.error(f"pool {invalid.id.pool} is invalid: {invalid.invalid}")
        progress = search.progress
        facts: Mapping[str, Any] = {
            "claim": progress.claim,
            "request": progress.request,
            "wanted": progress.wanted,
            "devices": progress.devices,
        }
        if invalid is not None:
            return Status.unresolvable("invalid resource pools were encountered", pool=str(invalid.id), **facts)
        return Status.unresolvable(_CANNOT_ALLOCATE, **facts)

    def _timeout_status(self, node: NodeInfo) -> Status:
        text = "timed out trying to allocate devices"
        return (
            Status.error(f"node {node.name}: {text}")
            if self.features.timeouts_are_errors
            else Status.unresolvable(text)
        )
