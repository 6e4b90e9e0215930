"""Queueing hints of DynamicResources.

upstream 1.36: pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go (EventsToRegister)
"""

from collections.abc import Sequence

from mockkube.features.versions import Version
from mockkube.scheduler.framework.events import ActionType, ClusterEvent, ClusterEventWithHint, EventResource
from mockkube.scheduler.framework.pod_info import PodInfo
from mockkube.scheduler.plugins.assume_cache import AssumeCache
from mockkube.scheduler.plugins.dynamic_resources.claims.pod_claims import (
    ClaimNotUsable,
    allocation_of,
    pod_resource_claims,
)
from mockkube.scheduler.plugins.dynamic_resources.features import DynamicResourcesFeatures

_ADD_OR_UPDATE = ActionType.ADD | ActionType.UPDATE


def events_to_register(claims: AssumeCache, features: DynamicResourcesFeatures) -> Sequence[ClusterEventWithHint]:
    """Return the events that may help a rejected pod."""

    def is_schedulable_after_claim_change(pod: PodInfo, event: ClusterEvent) -> bool:
        if event.new is None:
            return event.old is not None and allocation_of(event.old) is not None
        try:
            mine = pod_resource_claims(pod, claims)
        except ClaimNotUsable:
            return False
        # Devices of any claim that were released may serve this pod.
        if event.old is not None and allocation_of(event.old) is not None and allocation_of(event.new) is None:
            return True
        if all(claim["metadata"]["uid"] != event.new["metadata"]["uid"] for claim in mine):
            return False
        return event.old is None or event.old.get("status") != event.new.get("status")

    def is_schedulable_after_pod_change(pod: PodInfo, event: ClusterEvent) -> bool:
        if event.new is None or event.new["metadata"].get("uid") != pod.uid:
            return False
        try:
            pod_resource_claims(PodInfo(event.new), claims)
        except ClaimNotUsable:
            return False
        return True

    # Upstream's tracker turns changes of DeviceTaintRules into updates of slices; here they are events of their own.
    taints = (
        (ClusterEventWithHint(EventResource.DEVICE_TAINT_RULE, _ADD_OR_UPDATE | ActionType.DELETE),)
        if features.device_taint_rules
        else ()
    )
    # 1.36 ignores deleted claims, because their devices were deallocated before.
    claim_actions = _ADD_OR_UPDATE | ActionType.DELETE if features.version >= Version(1, 37) else _ADD_OR_UPDATE
    return (
        ClusterEventWithHint(EventResource.NODE, ActionType.ADD | ActionType.NODE_LABEL | ActionType.NODE_ALLOCATABLE),
        ClusterEventWithHint(EventResource.RESOURCE_CLAIM, claim_actions, is_schedulable_after_claim_change),
        ClusterEventWithHint(
            EventResource.UNSCHEDULED_POD, ActionType.POD_GENERATED_CLAIM, is_schedulable_after_pod_change
        ),
        ClusterEventWithHint(EventResource.DEVICE_CLASS, _ADD_OR_UPDATE),
        ClusterEventWithHint(EventResource.RESOURCE_SLICE, _ADD_OR_UPDATE),
        *taints,
    )
