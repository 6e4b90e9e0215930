"""Which pods of a stateful set are made, kept and deleted, in which order; and what its status says of them.

upstream 1.36: pkg/controller/statefulset/stateful_set_control.go
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from itertools import islice
from typing import Final

from mockkube.api.types import Object, ReadOnlyObject
from mockkube.controllers.deployment.scaling import counted, scaled, wanted
from mockkube.controllers.framework.controller_ref_manager import terminating
from mockkube.controllers.pods.readiness import is_available, is_finished, is_ready
from mockkube.controllers.statefulset.identity import new_pod, ordinal_of, ordinals, revision_of
from mockkube.features.capabilities import Capabilities
from mockkube.features.versions import Version

BURST_MAX: Final = 500
"""How many pods one reconciliation creates; upstream plans all of them, however many."""
_AVAILABILITY_COUNTS: Final = Version(1, 34)
"""Since then a pod that is ready but not for long enough holds up updates and deletions."""
_COUNTS: Final = ("readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas", "replicas")


@dataclass(frozen=True, slots=True)
class Rules:
    """How pods are judged at one version with one set of gates."""

    availability_counts: bool
    several_at_once: bool
    """An update may take several pods away at a time, as many as `maxUnavailable` says."""

    @classmethod
    def of(cls, capabilities: Capabilities) -> "Rules":
        """Return the rules of a component."""
        counts = capabilities.version >= _AVAILABILITY_COUNTS
        return cls(counts, capabilities.enabled("MaxUnavailableStatefulSet"))


class Need(StrEnum):
    """What a pod that the set asks for needs."""

    NOTHING = "nothing"
    DELETION = "deletion"
    CREATION = "creation"
    TIME = "time"
    """It is not where it should be yet: ordered sets wait for it."""


@dataclass(frozen=True, slots=True)
class Roster:
    """A set at one moment: the pods it asks for by their ordinals, some only to be made, and those beyond.

    Of the pods to be made there are the lowest few, so that a set of any size costs what its pods cost.
    """

    owner: ReadOnlyObject
    current: str
    """The name of the revision before the present update, or of the present one."""
    update: str
    replicas: Sequence[ReadOnlyObject]
    condemned: Sequence[ReadOnlyObject]
    """The highest ordinal first."""
    now: datetime
    rules: Rules
    missing: int = 0
    """How many more pods are asked for."""
    highest_missing: int = -1
    """The highest ordinal among these; -1 if there are none."""

    @property
    def ordered(self) -> bool:
        """Whether one pod is seen to at a time."""
        return bool(self.owner["spec"].get("podManagementPolicy") != "Parallel")

    def is_available(self, pod: ReadOnlyObject) -> bool:
        """Whether a pod has been ready for as long as the set wants."""
        return is_available(pod, self.owner["spec"].get("minReadySeconds", 0), self.now)

    def is_missed(self, pod: ReadOnlyObject) -> bool:
        """Whether a pod does not serve, or will not for long."""
        serves = self.is_available(pod) if self.rules.availability_counts else is_running_and_ready(pod)
        return not serves or terminating(pod)

    def first_missed(self) -> ReadOnlyObject | None:
        """Return the pod that others wait for: the lowest one missed, of those asked for before those beyond."""
        return next((pod for pod in (*self.replicas, *reversed(self.condemned)) if self.is_missed(pod)), None)

    def need_of(self, pod: ReadOnlyObject) -> Need:
        """Return what a pod that the set asks for needs first."""
        if is_finished(pod):
            return Need.TIME if terminating(pod) else Need.DELETION
        if not is_created(pod):
            return Need.CREATION
        settled = is_running_and_ready(pod) and self.is_available(pod) and not terminating(pod)
        return Need.NOTHING if settled else Need.TIME

    def may_go(self, pod: ReadOnlyObject) -> bool:
        """Whether it is the turn of a pod beyond what the set asks for."""
        if terminating(pod):
            return False
        if not self.ordered or pod is self.first_missed():
            return True
        return is_running_and_ready(pod) and self.is_available(pod)

    def outdated(self) -> list[ReadOnlyObject]:
        """Return the pods that an update takes away now."""
        strategy = self.owner["spec"].get("updateStrategy") or {}
        if strategy.get("type") == "OnDelete":
            return []
        rolling = strategy.get("rollingUpdate") or {}
        # the partition counts positions, whatever the first ordinal
        first = ordinals(self.owner).start + rolling.get("partition", 0)
        due = [pod for pod in self.replicas if ordinal_of(pod) >= first]
        if not self.rules.several_at_once:
            return self._last_outdated(due)
        allowed = max(scaled(rolling.get("maxUnavailable", 1), wanted(self.owner), math.floor), 1)
        allowed -= sum(self.is_missed(pod) for pod in self.replicas) + self.missing
        return [pod for pod in reversed(due) if self._is_outdated(pod)][: max(allowed, 0)]

    def _last_outdated(self, due: Sequence[ReadOnlyObject]) -> list[ReadOnlyObject]:
        for pod in reversed(due):
            if ordinal_of(pod) < self.highest_missing:
                return []
            if self._is_outdated(pod):
                return [pod]
            if self.is_missed(pod):
                return []
        return []

    def _is_outdated(self, pod: ReadOnlyObject) -> bool:
        return revision_of(pod) != self.update and not terminating(pod)

    def counts(self, pods: Iterable[ReadOnlyObject]) -> Object:
        """Return the numbers of a status that tells of these pods."""
        created = [pod for pod in pods if is_created(pod)]
        ready = [pod for pod in created if is_running_and_ready(pod)]
        revisions = [revision_of(pod) for pod in created if not terminating(pod)]
        return {
            "replicas": len(created),
            "readyReplicas": len(ready),
            "availableReplicas": sum(self.is_available(pod) for pod in ready),
            "currentReplicas": revisions.count(self.current),
            "updatedReplicas": revisions.count(self.update),
        }

    def status(self, pods: Iterable[ReadOnlyObject]) -> Object:
        """Return the status of the set when these are its pods."""
        return {
            "observedGeneration": self.owner["metadata"].get("generation", 0),
            "currentRevision": self.current,
            "updateRevision": self.update,
            "collisionCount": counted(self.owner, "collisionCount"),
            **self.counts(pods),
        }


def is_created(pod: ReadOnlyObject) -> bool:
    """Whether the API server knows a pod."""
    return bool((pod.get("status") or {}).get("phase"))


def is_running_and_ready(pod: ReadOnlyObject) -> bool:
    """Whether a pod runs and is ready."""
    return (pod.get("status") or {}).get("phase") == "Running" and is_ready(pod)


@dataclass(frozen=True, slots=True)
class Editions:
    """A set as it was at its current revision and as it is at its newest."""

    current: ReadOnlyObject
    current_name: str
    update: ReadOnlyObject
    update_name: str

    def pod(self, ordinal: int) -> Object:
        """Return the pod of an ordinal: below the partition as it was."""
        rolling = (self.current["spec"].get("updateStrategy") or {}).get("rollingUpdate")
        start = ordinals(self.current).start
        if rolling is not None:
            kept = start + rolling.get("partition", 0)
        else:
            is_rolling = (self.current["spec"].get("updateStrategy") or {}).get("type") == "RollingUpdate"
            kept = start + counted(self.current, "currentReplicas") if is_rolling else start
        if ordinal < kept:
            return new_pod(self.current, self.current_name, ordinal)
        return new_pod(self.update, self.update_name, ordinal)


def roster_of(
    owner: ReadOnlyObject, editions: Editions, pods: Iterable[ReadOnlyObject], now: datetime, rules: Rules
) -> Roster:
    """Return a set with the pods it has and those it lacks; pods without an ordinal are passed over."""
    present, asked = {ordinal_of(pod): pod for pod in pods}, ordinals(owner)
    condemned = sorted((one for one in present if one >= 0 and one not in asked), reverse=True)
    burst = BURST_MAX if owner["spec"].get("podManagementPolicy") == "Parallel" else 1
    made = islice((one for one in asked if one not in present), burst)
    planned = {ordinal: editions.pod(ordinal) for ordinal in made}
    known = {ordinal: pod for ordinal, pod in present.items() if ordinal in asked} | planned
    return Roster(
        owner=owner,
        current=editions.current_name,
        update=editions.update_name,
        replicas=[known[ordinal] for ordinal in sorted(known)],
        condemned=[present[ordinal] for ordinal in condemned],
        now=now,
        rules=rules,
        missing=len(asked) - len(known),
        highest_missing=next((one for one in reversed(asked) if one not in known), -1),
    )


def completed(owner: ReadOnlyObject, status: ReadOnlyObject) -> Object:
    """Return a status in which an update that has reached every pod is over."""
    everywhere = all(status[name] == wanted(owner) for name in ("replicas", "readyReplicas", "updatedReplicas"))
    rolling = (owner["spec"].get("updateStrategy") or {}).get("type") == "RollingUpdate"
    if not everywhere or not rolling:
        return dict(status)
    return {**status, "currentReplicas": status["updatedReplicas"], "currentRevision": status["updateRevision"]}


def is_news(owner: ReadOnlyObject, status: ReadOnlyObject) -> bool:
    """Whether a status says something that the set's own does not."""
    old = owner.get("status") or {}
    if status["observedGeneration"] > old.get("observedGeneration", 0):
        return True
    if any(status[name] != old.get(name, 0) for name in _COUNTS):
        return True
    return any(status[name] != old.get(name, "") for name in ("currentRevision", "updateRevision"))
