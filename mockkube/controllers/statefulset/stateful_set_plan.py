"""Plan of a StatefulSet: pods to create, keep and delete, their order, and the resulting status.

upstream 1.36: pkg/controller/statefulset/stateful_set_control.go
"""

import math
from collections.abc import Iterable, Sequence
from datetime import datetime
from enum import StrEnum
from itertools import islice
from typing import Final

from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.controllers.deployment.scaling import desired_replicas, resolve_int_or_percent, status_number
from mockkube.controllers.framework.controller_ref_manager import has_deletion_timestamp
from mockkube.controllers.pods.readiness import is_available
from mockkube.controllers.statefulset.identity import new_stateful_pod, ordinal_of, ordinals, pod_revision
from mockkube.features.capabilities import Capabilities
from mockkube.features.versions import Version
from mockkube.lazy_dataclasses import dataclass
from mockkube.matching.pods import is_finished, is_ready

# Most pods that one reconciliation creates. Upstream plans all of them, however many.
BURST_MAX: Final = 500
# From this version on a pod that is ready but not yet available holds up updates and deletions.
_REQUIRES_AVAILABILITY: Final = Version(1, 34)
_COUNTS: Final = ("readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas", "replicas")


@dataclass(frozen=True, slots=True)
class StatefulSetFeatures:
    """Features of the stateful set controller at one version and set of gates."""

    requires_availability: bool
    # An update may delete up to `maxUnavailable` pods at a time.
    allows_max_unavailable: bool

    @classmethod
    def from_capabilities(cls, capabilities: Capabilities) -> "StatefulSetFeatures":
        """Return the features that a component's capabilities enable."""
        counts = capabilities.version >= _REQUIRES_AVAILABILITY
        return cls(counts, capabilities.enabled("MaxUnavailableStatefulSet"))


class PodNeed(StrEnum):
    """Next action on a pod that the set wants."""

    NOTHING = "nothing"
    DELETION = "deletion"
    CREATION = "creation"
    # The pod is not ready yet: ordered sets wait for it.
    WAIT = "time"


@dataclass(frozen=True, slots=True)
class StatefulSetPlan:
    """A set at one moment: wanted pods by ordinal (some still to be created), and condemned ones.

    Only the lowest few of the missing pods are planned, so that the cost of a plan depends on the existing pods.
    """

    owner: ReadOnlyObject
    # Name of the revision before the present update, or of the present one.
    current: str
    update: str
    replicas: Sequence[ReadOnlyObject]
    # Pods beyond the wanted ordinals, the highest ordinal first.
    condemned: Sequence[ReadOnlyObject]
    now: datetime
    features: StatefulSetFeatures
    # Number of wanted pods that are not in the plan.
    missing: int = 0
    # The highest ordinal among these; -1 if there are none.
    highest_missing: int = -1

    @property
    def is_ordered(self) -> bool:
        """True if pods are processed one at a time (podManagementPolicy OrderedReady)."""
        return bool(self.owner["spec"].get("podManagementPolicy") != "Parallel")

    def is_available(self, pod: ReadOnlyObject) -> bool:
        """Return whether a pod has been ready for minReadySeconds."""
        return is_available(pod, self.owner["spec"].get("minReadySeconds", 0), self.now)

    def is_unavailable(self, pod: ReadOnlyObject) -> bool:
        """Return whether a pod is not available, or terminating."""
        serves = self.is_available(pod) if self.features.requires_availability else is_running_and_ready(pod)
        return not serves or has_deletion_timestamp(pod)

    def first_unavailable(self) -> ReadOnlyObject | None:
        """Return the unavailable pod that others wait for: replicas first, then condemned, by ordinal."""
        return next((pod for pod in (*self.replicas, *reversed(self.condemned)) if self.is_unavailable(pod)), None)

    def find_need(self, pod: ReadOnlyObject) -> PodNeed:
        """Return the next action on a wanted pod."""
        # A finished pod is deleted and created again under its name, whatever its restart policy.
        if is_finished(pod):
            return PodNeed.WAIT if has_deletion_timestamp(pod) else PodNeed.DELETION
        if not is_created(pod):
            return PodNeed.CREATION
        settled = is_running_and_ready(pod) and self.is_available(pod) and not has_deletion_timestamp(pod)
        return PodNeed.NOTHING if settled else PodNeed.WAIT

    def may_delete_condemned(self, pod: ReadOnlyObject) -> bool:
        """Return whether a condemned pod may be deleted now."""
        if has_deletion_timestamp(pod):
            return False
        # An ordered set scales down only while all other pods are available; the unavailable one itself may go.
        if not self.is_ordered or pod is self.first_unavailable():
            return True
        return is_running_and_ready(pod) and self.is_available(pod)

    def pods_to_update(self) -> list[ReadOnlyObject]:
        """Return the pods that a rolling update deletes now."""
        strategy = self.owner["spec"].get("updateStrategy") or {}
        if strategy.get("type") == "OnDelete":
            return []
        rolling = strategy.get("rollingUpdate") or {}
        # the partition counts positions, whatever the first ordinal
        first = ordinals(self.owner).start + rolling.get("partition", 0)
        due = [pod for pod in self.replicas if ordinal_of(pod) >= first]
        if not self.features.allows_max_unavailable:
            return self._next_pod_to_update(due)
        allowed = max(
            resolve_int_or_percent(rolling.get("maxUnavailable", 1), desired_replicas(self.owner), math.floor), 1
        )
        # Missing pods are unavailable too.
        allowed -= sum(self.is_unavailable(pod) for pod in self.replicas) + self.missing
        return [pod for pod in reversed(due) if self._is_outdated(pod)][: max(allowed, 0)]

    def _next_pod_to_update(self, due: Sequence[ReadOnlyObject]) -> list[ReadOnlyObject]:
        for pod in reversed(due):
            # A missing pod above this one must come up first: updates go from the highest ordinal down.
            if ordinal_of(pod) < self.highest_missing:
                return []
            if self._is_outdated(pod):
                return [pod]
            if self.is_unavailable(pod):
                return []
        return []

    def _is_outdated(self, pod: ReadOnlyObject) -> bool:
        return pod_revision(pod) != self.update and not has_deletion_timestamp(pod)

    def count_replicas(self, pods: Iterable[ReadOnlyObject]) -> Object:
        """Return the counts of a status for these pods."""
        created = [pod for pod in pods if is_created(pod)]
        ready = [pod for pod in created if is_running_and_ready(pod)]
        revisions = [pod_revision(pod) for pod in created if not has_deletion_timestamp(pod)]
        return {
            "replicas": len(created),
            "readyReplicas": len(ready),
            "availableReplicas": sum(self.is_available(pod) for pod in ready),
            "currentReplicas": revisions.count(self.current),
            "updatedReplicas": revisions.count(self.update),
        }

    def build_status(self, pods: Iterable[ReadOnlyObject]) -> Object:
        """Return the status of the set for these pods."""
        return {
            "observedGeneration": self.owner["metadata"].get("generation", 0),
            "currentRevision": self.current,
            "updateRevision": self.update,
            "collisionCount": status_number(self.owner, "collisionCount"),
            **self.count_replicas(pods),
        }


def is_created(pod: ReadOnlyObject) -> bool:
    """Return whether a pod exists on the server; planned ones have no phase."""
    return bool((pod.get("status") or {}).get("phase"))


def is_running_and_ready(pod: ReadOnlyObject) -> bool:
    """Return whether a pod is running and ready."""
    return (pod.get("status") or {}).get("phase") == "Running" and is_ready(pod)


@dataclass(frozen=True, slots=True)
class RevisionedSets:
    """The set at its current revision and at its update revision."""

    current_set: ReadOnlyObject
    current_name: str
    update_set: ReadOnlyObject
    update_name: str

    def new_versioned_pod(self, ordinal: int) -> Object:
        """Return a new pod of an ordinal, from the current revision if it is below the partition."""
        rolling = (self.current_set["spec"].get("updateStrategy") or {}).get("rollingUpdate")
        start = ordinals(self.current_set).start
        if rolling is not None:
            kept = start + rolling.get("partition", 0)
        else:
            is_rolling = (self.current_set["spec"].get("updateStrategy") or {}).get("type") == "RollingUpdate"
            # Without rollingUpdate parameters upstream keeps as many pods at the current revision as the status says.
            kept = start + status_number(self.current_set, "currentReplicas") if is_rolling else start
        if ordinal < kept:
            return new_stateful_pod(self.current_set, self.current_name, ordinal)
        return new_stateful_pod(self.update_set, self.update_name, ordinal)


def plan_stateful_set(
    owner: ReadOnlyObject,
    sets: RevisionedSets,
    pods: Iterable[ReadOnlyObject],
    now: datetime,
    features: StatefulSetFeatures,
) -> StatefulSetPlan:
    """Return the plan of a set with these pods; pods without an ordinal are ignored."""
    present, wanted_ordinals = {ordinal_of(pod): pod for pod in pods}, ordinals(owner)
    condemned = sorted((one for one in present if one >= 0 and one not in wanted_ordinals), reverse=True)
    # An ordered set creates one pod at a time anyway.
    burst = BURST_MAX if owner["spec"].get("podManagementPolicy") == "Parallel" else 1
    missing_ordinals = islice((one for one in wanted_ordinals if one not in present), burst)
    planned = {ordinal: sets.new_versioned_pod(ordinal) for ordinal in missing_ordinals}
    known = {ordinal: pod for ordinal, pod in present.items() if ordinal in wanted_ordinals} | planned
    return StatefulSetPlan(
        owner=owner,
        current=sets.current_name,
        update=sets.update_name,
        replicas=[known[ordinal] for ordinal in sorted(known)],
        condemned=[present[ordinal] for ordinal in condemned],
        now=now,
        features=features,
        missing=len(wanted_ordinals) - len(known),
        highest_missing=next((one for one in reversed(wanted_ordinals) if one not in known), -1),
    )


def complete_rolling_update(owner: ReadOnlyObject, status: ReadOnlyObject) -> Object:
    """Return the status with the update revision as current one if all pods are updated and ready."""
    everywhere = all(
        status[name] == desired_replicas(owner) for name in ("replicas", "readyReplicas", "updatedReplicas")
    )
    rolling = (owner["spec"].get("updateStrategy") or {}).get("type") == "RollingUpdate"
    if not everywhere or not rolling:
        return dict(status)
    return {**status, "currentReplicas": status["updatedReplicas"], "currentRevision": status["updateRevision"]}


def is_inconsistent_status(owner: ReadOnlyObject, status: ReadOnlyObject) -> bool:
    """Return whether a status differs from the stored one."""
    old = owner.get("status") or {}
    if status["observedGeneration"] > old.get("observedGeneration", 0):
        return True
    if any(status[name] != old.get(name, 0) for name in _COUNTS):
        return True
    return any(status[name] != old.get(name, "") for name in ("currentRevision", "updateRevision"))
