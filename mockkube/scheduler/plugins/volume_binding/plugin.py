"""VolumeBinding plugin: find volumes per node, assume them in Reserve, bind them in PreBind.

upstream 1.36: pkg/scheduler/framework/plugins/volumebinding/volume_binding.go
"""

from collections.abc import Sequence
from dataclasses import field
from typing import Final

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.lazy_dataclasses import dataclass
from mockkube.scheduler.framework.events import ClusterEventWithHint
from mockkube.scheduler.framework.interface import (
    CycleState,
    FilterPlugin,
    PluginDependencies,
    PreBindPlugin,
    PreFilterPlugin,
    PreFilterResult,
    PreScorePlugin,
    ReservePlugin,
    ScorePlugin,
    StateKey,
)
from mockkube.scheduler.framework.node_info import NodeInfo, NodeInfoLister
from mockkube.scheduler.framework.pod_info import PodInfo
from mockkube.scheduler.framework.scores import build_broken_linear_function
from mockkube.scheduler.framework.status import SKIP, SUCCESS, Code, Status
from mockkube.scheduler.plugins.assume_cache import AssumeCache
from mockkube.scheduler.plugins.volume_binding.binder import VolumeBinder, VolumeBindingError, VolumeBindingPlan
from mockkube.scheduler.plugins.volume_binding.claims import ClaimClassifier, ClassifiedClaims
from mockkube.scheduler.plugins.volume_binding.hints import EVENTS
from mockkube.scheduler.plugins.volume_binding.provisioning import ProvisioningChecker
from mockkube.scheduler.plugins.volume_binding.scoring import score_storage
from mockkube.scheduler.plugins.volume_binding.volume_finder import PodVolumes, VolumeFinder
from mockkube.scheduler.plugins.volume_binding.volumes import VolumeLister
from mockkube.scheduler.plugins.volumes.pod_claims import has_volume_claims, pod_volume_claims

SCORING_GATE: Final = "StorageCapacityScoring"
ATTRIBUTES_GATE: Final = "VolumeAttributesClass"

_BIND_SECONDS: Final = 600
_SHAPE: Final = ({"utilization": 0, "score": 10}, {"utilization": 100, "score": 0})


@dataclass(slots=True)
class VolumeBindingState:
    """State of a pod's claims during the scheduling and the binding cycle."""

    claims: ClassifiedClaims
    pod_volumes: dict[str, PodVolumes] = field(default_factory=dict)
    plan: VolumeBindingPlan | None = None
    """Bindings to write; None if there are none."""


_STATE: Final = StateKey[VolumeBindingState]("VolumeBinding")


class VolumeBinding(PreFilterPlugin, FilterPlugin, PreScorePlugin, ScorePlugin, ReservePlugin, PreBindPlugin):
    """Filters nodes without volumes for the pod's claims, and binds those of the chosen node."""

    name = "VolumeBinding"

    def __init__(self, dependencies: PluginDependencies, arguments: ReadOnlyObject) -> None:
        informers, caps = dependencies.informers, dependencies.caps
        self._clock = dependencies.clock
        self._bind_timeout_seconds = arguments.get("bindTimeoutSeconds", _BIND_SECONDS)
        objects = AssumeCache(informers.informer_for("PersistentVolumeClaim"))
        volumes = VolumeLister(
            informers.informer_for("PersistentVolume"),
            informers.informer_for("CSINode"),
            dependencies.selector_operators,
        )
        self._claims = ClaimClassifier(objects, informers.informer_for("StorageClass"), volumes)
        self._finder = VolumeFinder(
            volumes, ProvisioningChecker(informers), attributes_classes=caps.enabled(ATTRIBUTES_GATE)
        )
        self._volume_binder = VolumeBinder(
            dependencies.client, objects, volumes, dependencies.nodes, informers.informer_for("Pod")
        )
        self._shape_function = (
            build_broken_linear_function(arguments.get("shape") or _SHAPE) if caps.enabled(SCORING_GATE) else None
        )

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        """Register for volumes, claims, classes, nodes and storage capacity."""
        return EVENTS

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: NodeInfoLister) -> PreFilterResult:
        """Classify the claims; reject the pod if one cannot be used yet, skip pods without claims."""
        if message := self._claims.unusable_reason(pod):
            return PreFilterResult(Status.unresolvable(message))
        if not pod_volume_claims(pod):
            return PreFilterResult(SKIP)
        try:
            claims = self._claims.classify(pod)
        except ValueError as error:
            return PreFilterResult(Status.error(str(error)))
        if claims.immediate:
            names = [f"{claim['metadata']['namespace']}/{claim['metadata']['name']}" for claim in claims.immediate]
            return PreFilterResult(
                Status.unresolvable("pod has unbound immediate PersistentVolumeClaims", claims=names)
            )
        state.put(_STATE, VolumeBindingState(claims))
        return PreFilterResult()

    def skips_pre_filter(self, spec: ReadOnlyObject) -> bool:
        """Return whether the pod has no claims."""
        return not has_volume_claims(spec)

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
        """Find volumes for the claims on the node."""
        binding_state = state.get(_STATE)
        if binding_state is None:
            return SUCCESS
        try:
            pod_volumes = self._finder.find(binding_state.claims, node)
        except ValueError as error:
            return Status.error(str(error))
        if pod_volumes.reasons:
            return Status.unresolvable(*pod_volumes.reasons, **pod_volumes.facts)
        binding_state.pod_volumes[node.name] = pod_volumes
        return SUCCESS

    def pre_score(self, state: CycleState, pod: PodInfo, nodes: Sequence[NodeInfo]) -> Status:
        """Skip unless storage capacity is scored."""
        return SKIP if self._shape_function is None or state.get(_STATE) is None else SUCCESS

    def find_pre_score_code(self, spec: ReadOnlyObject) -> Code | None:
        """Return SKIP for pods without claims, and unless storage capacity is scored."""
        return None if self._shape_function is not None and has_volume_claims(spec) else Code.SKIP

    def score(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> int:
        """Return the score for the use of the node's storage."""
        binding_state = state.get(_STATE)
        pod_volumes = binding_state.pod_volumes.get(node.name) if binding_state is not None else None
        return (
            0
            if pod_volumes is None or self._shape_function is None
            else score_storage(pod_volumes, self._shape_function)
        )

    def reserve(self, state: CycleState, pod: PodInfo, node_name: str) -> Status:
        """Assume the volumes found on the node."""
        binding_state = state.get(_STATE)
        if (
            binding_state is None
            or (pod_volumes := binding_state.pod_volumes.get(node_name)) is None
            or self._claims.are_all_bound(pod)
        ):
            return SUCCESS
        try:
            binding_state.plan = self._volume_binder.assume(pod_volumes, node_name)
        except VolumeBindingError as failure:
            return Status.error(str(failure))
        return SUCCESS

    def unreserve(self, state: CycleState, pod: PodInfo, node_name: str) -> None:
        """Drop assumed volumes that are not written."""
        binding_state = state.get(_STATE)
        if binding_state is not None and binding_state.plan is not None:
            self._volume_binder.revert(binding_state.plan)

    def pre_bind_pre_flight(self, state: CycleState, pod: PodInfo, node_name: str) -> Status:
        """Skip pods whose claims are all bound."""
        binding_state = state.get(_STATE)
        return SKIP if binding_state is None or binding_state.plan is None else SUCCESS

    async def pre_bind(self, state: CycleState, pod: PodInfo, node_name: str) -> Status:
        """Write the bindings on the first call, then wait until they are completed."""
        binding_state = state.get(_STATE)
        if binding_state is None or binding_state.plan is None:
            return SUCCESS
        plan = binding_state.plan
        try:
            if plan.expires_at is None:
                # The deadline starts after the writes, and marks them as done: a retry after an error must not write
                # again.
                await self._volume_binder.write(plan)
                plan.expires_at = self._clock.monotonic() + self._bind_timeout_seconds
            elif self._volume_binder.is_bound(plan, pod):
                return SUCCESS
        except VolumeBindingError as failure:
            return Status.error(f"binding volumes: {failure}" if plan.expires_at is not None else str(failure))
        if self._clock.monotonic() >= plan.expires_at:
            return Status.error("binding volumes: context deadline exceeded")
        return Status.wait("waiting for volumes to be bound")
