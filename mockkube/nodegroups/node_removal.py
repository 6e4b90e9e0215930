"""Removal of nodes: taint, evict, wait for the pods to go, delete.

autoscaler 1.35: cluster-autoscaler/core/scaledown/actuation
"""

from collections.abc import Sequence
from dataclasses import field
from http import HTTPStatus
from typing import Final

from mockkube.api.errors import ApiError, NotFound
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.client.event_recorder import EventRecorder
from mockkube.client.events import NORMAL, WARNING
from mockkube.client.protocol import Client, DeleteOptions, Key
from mockkube.lazy_dataclasses import dataclass
from mockkube.matching.pods import is_finished
from mockkube.nodegroups.drainability import is_daemon_pod
from mockkube.nodegroups.draining import PodsOfNode, change_taints, evict
from mockkube.nodegroups.scale_down import TO_BE_DELETED, Candidate
from mockkube.runtime.clock import Clock

_RETRY_SECONDS: Final = 10.0
_EVICTION_SECONDS_MAX: Final = 120.0
_TERMINATION_SECONDS_MAX: Final = 600.0
# A node that could not be removed is left alone for so long.
_PAUSE_SECONDS: Final = 300.0


@dataclass(slots=True)
class _Removal:
    """Node that is being removed."""

    node: ReadOnlyObject
    drains: bool
    evict_until: float
    next_at: float
    # Pods whose eviction was accepted, and those of whom an event was recorded.
    evicted: set[str] = field(default_factory=set)
    announced: set[str] = field(default_factory=set)


class NodeRemovals:
    """Nodes that are being removed."""

    def __init__(self, client: Client, clock: Clock, events: EventRecorder) -> None:
        self._client, self._clock, self._events = client, clock, events
        self._removals: dict[str, _Removal] = {}
        self._paused_until: dict[str, float] = {}
        # Evictions that were accepted, and nodes that were removed, since the start.
        self.evictions = 0
        self.removed = 0

    @property
    def is_draining(self) -> bool:
        """True while pods of some node are being moved."""
        return any(one.drains for one in self._removals.values())

    def is_paused(self, node: str) -> bool:
        """Return whether the removal of a node failed a short time ago."""
        return self._paused_until.get(node, 0.0) > self._clock.monotonic()

    def due_at(self) -> float | None:
        """Return when something is to be done next."""
        return min((one.next_at for one in self._removals.values()), default=None)

    async def begin(self, candidate: Candidate) -> None:
        """Taint a node, so that nothing is scheduled there, and remove it."""
        now, node = self._clock.monotonic(), candidate.node
        taint = {
            "key": TO_BE_DELETED,
            "value": str(int(self._clock.now().timestamp())),
            "effect": "NoSchedule",
        }
        try:
            await change_taints(self._client, candidate.name, lambda taints: [*taints, taint])
        except ApiError as error:
            text = f"failed to mark the node as toBeDeleted/unschedulable: {error.message}"
            self._events.record(node, WARNING, "ScaleDownFailed", text)
            self._paused_until[candidate.name] = now + _PAUSE_SECONDS
            return
        self._events.record(node, NORMAL, "ScaleDown", "marked the node as toBeDeleted/unschedulable")
        self._removals[candidate.name] = _Removal(node, bool(candidate.movable), now + _EVICTION_SECONDS_MAX, now)

    async def advance(self, pods_of: PodsOfNode) -> None:
        """Continue with every removal that is due."""
        now = self._clock.monotonic()
        for name, removal in list(self._removals.items()):
            if removal.next_at <= now:
                removal.next_at = now + _RETRY_SECONDS
                await self._continue(name, removal, pods_of(name))

    async def _continue(self, name: str, removal: _Removal, pods: Sequence[ReadOnlyObject]) -> None:
        left = [pod for pod in pods if not is_finished(pod) and not is_daemon_pod(pod)]
        refusal = ""
        for pod in left:
            if pod["metadata"]["uid"] not in removal.evicted:
                refusal = await self._evict(pod, removal) or refusal
        now = self._clock.monotonic()
        if not left:
            await self._delete(name, removal)
        elif refusal and now >= removal.evict_until:
            await self._give_up(name, removal, refusal)
        elif not refusal and now >= removal.evict_until + _TERMINATION_SECONDS_MAX:
            await self._give_up(name, removal, "pods remaining after timeout")

    async def _evict(self, pod: ReadOnlyObject, removal: _Removal) -> str:
        """Evict a pod; return why that is refused, or nothing."""
        uid = pod["metadata"]["uid"]
        if uid not in removal.announced:
            removal.announced.add(uid)
            self._events.record(pod, NORMAL, "ScaleDown", "deleting pod for node scale down")
        grace = min(pod["spec"].get("terminationGracePeriodSeconds", 30), int(_TERMINATION_SECONDS_MAX))
        try:
            await evict(self._client, pod, grace)
        except NotFound:
            return ""
        except ApiError as error:
            if error.code != HTTPStatus.TOO_MANY_REQUESTS:
                self._events.record(pod, WARNING, "ScaleDownFailed", "failed to delete pod for ScaleDown")
            return error.message
        removal.evicted.add(uid)
        self.evictions += 1
        return ""

    async def _delete(self, name: str, removal: _Removal) -> None:
        try:
            await self._client.delete("Node", Key("", name), DeleteOptions())
        except NotFound:
            pass
        except ApiError as error:
            await self._give_up(name, removal, error.message)
            return
        del self._removals[name]
        self.removed += 1
        self._events.record(removal.node, NORMAL, "ScaleDown", "nodes removed by cluster autoscaler")

    async def _give_up(self, name: str, removal: _Removal, why: str) -> None:
        """Let a node be used again."""
        del self._removals[name]
        self._paused_until[name] = self._clock.monotonic() + _PAUSE_SECONDS
        what = "failed to drain and delete node" if removal.drains else "failed to delete empty node"
        self._events.record(removal.node, WARNING, "ScaleDownFailed", f"{what}: {why}")
        try:
            await change_taints(
                self._client, name, lambda taints: [one for one in taints if one["key"] != TO_BE_DELETED]
            )
        except ApiError:
            # The node is gone, or the next removal finds the taint in place.
            return
