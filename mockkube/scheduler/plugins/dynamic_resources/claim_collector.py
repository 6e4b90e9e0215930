"""Collect a pod's claims and compile their requests, before nodes are filtered.

upstream 1.36: pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go (PreFilter)
"""

from collections.abc import Iterator, Mapping, Sequence

from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.kinds.core.pod.containers.resources import is_extended_resource
from mockkube.client.informer import Informer
from mockkube.client.protocol import Key, key_of
from mockkube.lazy_dataclasses import dataclass
from mockkube.matching.node_selectors import LabelOperator, NodeSelector, compile_terms
from mockkube.scheduler.framework.pod_info import PodInfo
from mockkube.scheduler.framework.pod_requests import PodRequestCalculator
from mockkube.scheduler.framework.status import Status
from mockkube.scheduler.plugins.dynamic_resources.allocation.allocator import AllocatorDependencies
from mockkube.scheduler.plugins.dynamic_resources.allocation.counters import AvailableCounters
from mockkube.scheduler.plugins.dynamic_resources.allocation.selectors import DeviceSelectors
from mockkube.scheduler.plugins.dynamic_resources.claims.claim_requests import AllocationError, ClaimCompiler
from mockkube.scheduler.plugins.dynamic_resources.claims.claim_tracker import ClaimTracker
from mockkube.scheduler.plugins.dynamic_resources.claims.device_class_selection import DeviceClassSelection
from mockkube.scheduler.plugins.dynamic_resources.claims.extended_resources import (
    IMPLICIT_RESOURCE_PREFIX,
    build_extended_resource_claim,
    is_extended_resource_claim_of,
)
from mockkube.scheduler.plugins.dynamic_resources.claims.pod_claims import (
    ClaimNotUsable,
    allocation_of,
    pod_resource_claims,
)
from mockkube.scheduler.plugins.dynamic_resources.features import DynamicResourcesFeatures
from mockkube.scheduler.plugins.dynamic_resources.state import DynamicResourcesState


@dataclass(frozen=True, slots=True)
class ClaimCollector:
    """Collects the claims of pods."""

    claim_tracker: ClaimTracker
    device_classes: Informer
    extended_classes: DeviceClassSelection
    pod_requests: PodRequestCalculator
    compiler: ClaimCompiler
    selectors: DeviceSelectors
    operators: Mapping[str, LabelOperator]
    features: DynamicResourcesFeatures

    def collect(self, claim_state: DynamicResourcesState, pod: PodInfo) -> Status | None:
        """Store the claims and their requests; return a status if the pod cannot be scheduled on any node."""
        try:
            claims: list[ReadOnlyObject] = pod_resource_claims(pod, self.claim_tracker.claims)
        except ClaimNotUsable as why:
            return Status.unresolvable(str(why))
        self._add_extended(claim_state, claims, pod)
        for index, claim in enumerate(claims):
            rejection = self._check_claim(
                claim_state, index, claim, extended=claim_state.has_extended_claim and index == len(claims) - 1
            )
            if rejection is not None:
                return rejection
        if any(allocation_of(claim) is None for claim in claims):
            self._prepare_allocator(claim_state, claims)
        claim_state.claims = claims
        return None

    def _add_extended(self, claim_state: DynamicResourcesState, claims: list[ReadOnlyObject], pod: PodInfo) -> None:
        """Add the special claim for extended resources if a device class backs any of them."""
        if not self.features.extended_resources:
            return
        amounts = self.pod_requests.read(pod).total.scalars
        requested = {name: amount for name, amount in amounts.items() if amount and _can_be_backed_by_devices(name)}
        if not any(self.extended_classes.resources.has_class(name) for name in requested):
            return
        # An earlier attempt may have written the claim and failed afterwards.
        known = self.claim_tracker.claims.informer.list(pod.namespace)
        claim: ReadOnlyObject | None = next((one for one in known if is_extended_resource_claim_of(one, pod)), None)
        claim = claim or build_extended_resource_claim(pod)
        claims.append(claim)
        claim_state.has_extended_claim, claim_state.extended_resources, claim_state.extended_claim_uid = (
            True,
            requested,
            claim["metadata"]["uid"],
        )

    def _check_claim(
        self, claim_state: DynamicResourcesState, index: int, claim: ReadOnlyObject, *, extended: bool
    ) -> Status | None:
        """Return a status if the claim keeps the pod from being scheduled on any node."""
        allocation = allocation_of(claim)
        if allocation is not None:
            if (selector := self._compile_node_selector(allocation)) is not None:
                claim_state.node_selectors[index] = selector
            return None
        if self.claim_tracker.pending_allocation(claim["metadata"]["uid"]) is not None:
            return Status.unresolvable(f"resource claim {key_of(claim)} is in the process of being allocated")
        return None if extended else self._check_classes(claim)

    def _compile_node_selector(self, allocation: ReadOnlyObject) -> NodeSelector | None:
        selector = allocation.get("nodeSelector")
        return None if selector is None else compile_terms(selector.get("nodeSelectorTerms") or (), self.operators)

    def _check_classes(self, claim: ReadOnlyObject) -> Status | None:
        """Return a status for the first request of a claim that cannot be served."""
        for request in (claim["spec"].get("devices") or {}).get("requests") or ():
            where = f"resource claim {key_of(claim)}, request {request['name']}"
            alternatives = request.get("firstAvailable")
            if "exactly" not in request and not alternatives:
                return Status.unresolvable(f"{where}: unknown request type")
            if alternatives and not self.features.prioritized_lists:
                return Status.unresolvable(f"{where}: has subrequests, but the DRAPrioritizedList feature is disabled")
            for name, form in _request_variants(request):
                if (rejection := self._check_class(name, form)) is not None:
                    return rejection
        return None

    def _check_class(self, request: str, form: Object) -> Status | None:
        name = form.get("deviceClassName", "")
        if not name:
            return Status.error(f"request {request}: unsupported request type")
        if self.device_classes.get(Key("", name)) is None:
            return Status.unresolvable(f"request {request}: device class {name} does not exist", device_class=name)
        return None

    def _prepare_allocator(self, claim_state: DynamicResourcesState, claims: Sequence[ReadOnlyObject]) -> None:
        """Prepare the allocator for claims without an allocation."""
        allocated = self.claim_tracker.allocated
        available = AvailableCounters(allocated)
        claim_state.allocator = AllocatorDependencies(
            self.compiler, self.selectors, allocated, available, self.features
        )
        try:
            for index, claim in enumerate(claims):
                if allocation_of(claim) is None:
                    claim_state.claims_to_allocate[index] = self.compiler.compile(claim)
        except AllocationError as error:
            # upstream reports such errors in Filter, once per node, not in PreFilter.
            claim_state.allocation_error = str(error)


def _request_variants(request: ReadOnlyObject) -> Iterator[tuple[str, Object]]:
    if "exactly" in request:
        yield request["name"], request["exactly"]
        return
    for one in request["firstAvailable"]:
        yield f"{request['name']}/{one['name']}", one


def _can_be_backed_by_devices(resource: str) -> bool:
    """Return whether device classes may back a resource of this kind."""
    return resource.startswith(IMPLICIT_RESOURCE_PREFIX) or is_extended_resource(resource)
