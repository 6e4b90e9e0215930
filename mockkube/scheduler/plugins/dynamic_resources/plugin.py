"""DynamicResources plugin: find devices per node, reserve those of the chosen node, write them into the claims.

upstream 1.36: pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go
"""

from collections.abc import Sequence
from typing import Final

from mockkube_cel.golang.gotime import parse_duration

from mockkube.api.errors import ApiError
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.client.protocol import key_of
from mockkube.scheduler.framework.events import ClusterEventWithHint
from mockkube.scheduler.framework.interface import (
    CycleState,
    FilterPlugin,
    NodeToStatus,
    PluginDependencies,
    PostFilterPlugin,
    PostFilterResult,
    PreBindPlugin,
    PreEnqueuePlugin,
    PreFilterPlugin,
    PreFilterResult,
    PreScorePlugin,
    ReservePlugin,
    ScorePlugin,
)
from mockkube.scheduler.framework.node_info import NodeInfo, NodeInfoLister
from mockkube.scheduler.framework.pod_info import PodInfo
from mockkube.scheduler.framework.pod_requests import PodRequestCalculator
from mockkube.scheduler.framework.scores import default_normalize_score
from mockkube.scheduler.framework.status import SKIP, SUCCESS, Status
from mockkube.scheduler.plugins.dynamic_resources import hints
from mockkube.scheduler.plugins.dynamic_resources.allocation.selectors import DeviceSelectors
from mockkube.scheduler.plugins.dynamic_resources.claim_collector import ClaimCollector
from mockkube.scheduler.plugins.dynamic_resources.claim_writer import ClaimWriteError, ClaimWriter
from mockkube.scheduler.plugins.dynamic_resources.claims.claim_requests import ClaimCompiler
from mockkube.scheduler.plugins.dynamic_resources.claims.claim_tracker import ClaimTracker
from mockkube.scheduler.plugins.dynamic_resources.claims.device_class_selection import DeviceClassSelection
from mockkube.scheduler.plugins.dynamic_resources.claims.pod_claims import (
    ClaimNotUsable,
    allocation_of,
    is_reserved_for,
    pod_resource_claims,
)
from mockkube.scheduler.plugins.dynamic_resources.device_preparation import DevicePreparation
from mockkube.scheduler.plugins.dynamic_resources.devices.binding_conditions import needs_preparation
from mockkube.scheduler.plugins.dynamic_resources.devices.pools import PoolCache
from mockkube.scheduler.plugins.dynamic_resources.devices.resource_slice_tracker import ResourceSliceTracker
from mockkube.scheduler.plugins.dynamic_resources.features import DynamicResourcesFeatures
from mockkube.scheduler.plugins.dynamic_resources.node_filter import NodeFilter
from mockkube.scheduler.plugins.dynamic_resources.state import STATE, DynamicResourcesState
from mockkube.scheduler.plugins.extended_resource_classes import ExtendedResourceClasses

# Shared state of pods without claims; nothing is ever stored in it.
NO_STATE: Final = DynamicResourcesState()
NO_CLAIMS: Final = PreFilterResult(SKIP)

_BINDING_SECONDS: Final = 600.0
# Alternatives of one request.
_ALTERNATIVES_MAX: Final = 8


class DynamicResources(
    PreEnqueuePlugin,
    PreFilterPlugin,
    FilterPlugin,
    PostFilterPlugin,
    PreScorePlugin,
    ScorePlugin,
    ReservePlugin,
    PreBindPlugin,
):
    """Filters nodes without devices for the pod's claims, and allocates those of the chosen node."""

    name = "DynamicResources"

    def __init__(self, dependencies: PluginDependencies, arguments: ReadOnlyObject) -> None:
        informers, caps = dependencies.informers, dependencies.caps
        self._features = features = DynamicResourcesFeatures.from_capabilities(caps)
        self._handle = dependencies.handle
        seconds = _parse_seconds(arguments.get("bindingTimeout"), _BINDING_SECONDS)
        self._device_classes = informers.informer_for("DeviceClass")
        self._claim_tracker = _shared_claim_tracker(dependencies, features)
        slices = ResourceSliceTracker(
            informers, dependencies.selector_operators, taint_rules=features.device_taint_rules
        )
        pools = PoolCache(
            slices,
            partitions=features.partitionable_devices,
            compatibility_groups=features.compatibility_groups,
        )
        classes = DeviceClassSelection(ExtendedResourceClasses.from_dependencies(dependencies))
        self._claim_collector = ClaimCollector(
            claim_tracker=self._claim_tracker,
            device_classes=self._device_classes,
            extended_classes=classes,
            pod_requests=PodRequestCalculator(caps),
            compiler=ClaimCompiler(self._device_classes, dependencies.device_taints, features),
            selectors=DeviceSelectors(features),
            operators=dependencies.selector_operators,
            features=features,
        )
        self._node_filter = NodeFilter(pools, classes, dependencies.clock, features, seconds)
        self._preparation = DevicePreparation(self._claim_tracker, dependencies.clock, seconds, features.version)
        self._writer = ClaimWriter(dependencies.client, self._claim_tracker, dependencies.clock, features)

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        """Register for nodes, claims, classes and devices."""
        return hints.events_to_register(self._claim_tracker.claims, self._features)

    def pre_enqueue(self, pod: PodInfo) -> Status:
        """Reject the pod while one of its claims does not exist."""
        try:
            pod_resource_claims(pod, self._claim_tracker.claims)
        except ClaimNotUsable as why:
            return Status.unresolvable(str(why))
        return SUCCESS

    # PreFilter to Score

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: NodeInfoLister) -> PreFilterResult:
        """Collect the claims and their requests; skip pods without claims."""
        if not pod.spec.get("resourceClaims") and not self._device_classes.objects:  # hot: most pods
            state.put(STATE, NO_STATE)
            return NO_CLAIMS
        claim_state = DynamicResourcesState()
        state.put(STATE, claim_state)
        rejection = self._claim_collector.collect(claim_state, pod)
        if rejection is not None:
            return PreFilterResult(rejection)
        return PreFilterResult() if claim_state.claims else NO_CLAIMS

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
        """Find devices that the node can use, and store them."""
        claim_state = state.get(STATE)
        return (
            SUCCESS
            if claim_state is None or not claim_state.claims
            else self._node_filter.filter(claim_state, pod, node)
        )

    def pre_score(self, state: CycleState, pod: PodInfo, nodes: Sequence[NodeInfo]) -> Status:
        """Skip pods without claims, and requests without prioritized alternatives."""
        # differs: upstream scores each node 0 instead; the sums are the same
        claim_state = state.get(STATE)
        return (
            SUCCESS
            if claim_state is not None and claim_state.node_allocations and self._features.prioritized_lists
            else SKIP
        )

    def score(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> int:
        """Return a higher score for alternatives that are listed earlier."""
        claim_state = state.get(STATE)
        if claim_state is None or not self._features.prioritized_lists or node.name not in claim_state.node_allocations:
            return 0
        return _score_alternatives(claim_state, node.name)

    def normalize(self, state: CycleState, pod: PodInfo, nodes: Sequence[NodeInfo], scores: list[int]) -> None:
        """Scale the best node to the highest score."""
        default_normalize_score(scores)

    # PostFilter

    def post_filter(self, state: CycleState, pod: PodInfo, node_to_status: NodeToStatus) -> PostFilterResult:
        """Choose a claim that can be deallocated, which `apply_result` then does."""
        claim_state = state.get(STATE)
        if claim_state is None:
            return PostFilterResult(Status.error("not found"))
        if not claim_state.claims:
            return PostFilterResult(self._unchanged_status("no new claims to deallocate"))
        for index in sorted(claim_state.unavailable):
            users = (claim_state.claims[index].get("status") or {}).get("reservedFor") or ()
            # Only a claim that no other pod uses may lose its devices. Two entries are enough to see that.
            if not claim_state.is_extended_claim(index) and all(user.get("uid") == pod.uid for user in users[:2]):
                claim_state.claim_to_release = index
                return PostFilterResult(Status.unschedulable("deallocation of ResourceClaim completed"))
        if claim_state.is_extended_claim_written:
            claim_state.claim_to_release = len(claim_state.claims) - 1
            return PostFilterResult(Status.unschedulable("deletion of ResourceClaim completed"))
        return PostFilterResult(self._unchanged_status("still not schedulable"))

    async def apply_result(self, state: CycleState, pod: PodInfo) -> None:
        """Deallocate the claim that `post_filter` chose, or delete the special claim."""
        claim_state = state.get(STATE)
        if claim_state is None or claim_state.claim_to_release is None:
            return
        claim = claim_state.claims[claim_state.claim_to_release]
        if claim_state.is_extended_claim(claim_state.claim_to_release):
            await self._writer.delete(claim)
        else:
            await self._writer.deallocate(claim)

    # Reserve and PreBind

    def reserve(self, state: CycleState, pod: PodInfo, node_name: str) -> Status:
        """Reserve the node's devices for the claims."""
        claim_state = state.get(STATE)
        unallocated = list(claim_state.unallocated) if claim_state is not None else []
        if claim_state is None or not unallocated or claim_state.allocator is None:
            return SUCCESS
        node_allocation = claim_state.node_allocations.get(node_name)
        if node_allocation is None or not node_allocation.allocations:
            if all(claim_state.is_extended_claim(index) for index in unallocated):
                return SUCCESS
            return Status.error("claim allocation not found for node")
        for index, allocation in zip(unallocated, node_allocation.allocations, strict=True):
            claim_state.chosen_allocations[index] = allocation
            self._claim_tracker.add_pending_allocation(claim_state.claims[index]["metadata"]["uid"], allocation)
        return SUCCESS

    def unreserve(self, state: CycleState, pod: PodInfo, node_name: str) -> None:
        """Release reserved devices that are not written."""
        claim_state = state.get(STATE)
        if claim_state is None:
            return
        for index in claim_state.chosen_allocations:
            claim = claim_state.claims[index]
            uid = claim_state.extended_claim_uid if claim_state.is_extended_claim(index) else claim["metadata"]["uid"]
            self._claim_tracker.remove_pending_allocation(uid, key_of(claim))

    async def clean_up(self, state: CycleState, pod: PodInfo, node_name: str) -> None:
        """Remove the pod from the claims that were reserved for it, and delete the special claim."""
        claim_state = state.get(STATE)
        if claim_state is not None:
            await self._writer.clean_up(claim_state, pod)

    def pre_bind_pre_flight(self, state: CycleState, pod: PodInfo, node_name: str) -> Status:
        """Skip pods without claims."""
        claim_state = state.get(STATE)
        return SKIP if claim_state is None or not claim_state.claims else SUCCESS

    async def pre_bind(self, state: CycleState, pod: PodInfo, node_name: str) -> Status:
        """Write the claims on the first call, then wait until their devices are prepared."""
        claim_state = state.get(STATE)
        if claim_state is None or not claim_state.claims:
            return SUCCESS
        try:
            if claim_state.preparation_deadline is None:
                await self._write_claims(claim_state, pod, node_name)
                if not self._features.binding_conditions or not any(map(needs_preparation, claim_state.claims)):
                    return SUCCESS
                self._record_pending_event(pod, node_name)
                self._preparation.start_timeout(claim_state)
            return self._preparation.check(claim_state)
        except ClaimWriteError as error:
            return Status.error(str(error))
        except ApiError as error:
            return Status.error(error.message)

    def _record_pending_event(self, pod: PodInfo, node_name: str) -> None:
        if self._handle is not None:
            text = f"waiting for binding conditions for device on node {node_name}"
            self._handle.record_event(pod, "BindingConditionsPending", text)

    async def _write_claims(self, claim_state: DynamicResourcesState, pod: PodInfo, node_name: str) -> None:
        for index, claim in enumerate(claim_state.claims):
            if not is_reserved_for(claim, pod):
                await self._writer.bind_claim(claim_state, index, pod, node_name)

    def _unchanged_status(self, reason: str) -> Status:
        return Status.unschedulable() if self._features.post_filter_omits_reason else Status.unschedulable(reason)


def _shared_claim_tracker(dependencies: PluginDependencies, features: DynamicResourcesFeatures) -> ClaimTracker:
    """Return the claim tracker of all profiles."""
    if ClaimTracker not in dependencies.shared:
        dependencies.shared[ClaimTracker] = ClaimTracker(
            dependencies.informers.informer_for("ResourceClaim"), sharing=features.consumable_capacity
        )
    claim_tracker: ClaimTracker = dependencies.shared[ClaimTracker]
    return claim_tracker


def _parse_seconds(text: str | None, default: float) -> float:
    span = parse_duration(text) if text else None
    return default if span is None else span.nanos / 1e9


def _score_alternatives(claim_state: DynamicResourcesState, node_name: str) -> int:
    """Return more points the earlier the chosen alternatives are listed."""
    # upstream 1.36: computeScore
    allocations = iter(claim_state.node_allocations[node_name].allocations)
    score = 0
    for claim in claim_state.claims:
        allocation = allocation_of(claim)
        if allocation is None:
            allocation = next(allocations, None) or {}
        allocated_requests = {result["request"] for result in (allocation.get("devices") or {}).get("results") or ()}
        for request in (claim["spec"].get("devices") or {}).get("requests") or ():
            for index, alternative in enumerate(request.get("firstAvailable") or ()):
                if f"{request['name']}/{alternative['name']}" in allocated_requests:
                    score += _ALTERNATIVES_MAX - index
    return score
