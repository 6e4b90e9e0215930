"""Termination of disrupted nodes: evict their pods for as long as it takes, then delete them.

karpenter 1.15: pkg/controllers/node/termination
"""

from collections.abc import Sequence
from datetime import timedelta
from http import HTTPStatus
from typing import Final

from mockkube.api.errors import ApiError, NotFound
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.times import parse_time
from mockkube.client.event_recorder import EventRecorder
from mockkube.client.events import NORMAL, WARNING
from mockkube.client.protocol import Client, DeleteOptions, Key
from mockkube.lazy_dataclasses import dataclass
from mockkube.matching.pods import is_finished
from mockkube.nodegroups.consolidation import find_protected_until, tolerates_disruption
from mockkube.nodegroups.drainability import is_daemon_pod, is_of_node
from mockkube.nodegroups.draining import PodsOfNode, evict
from mockkube.runtime.clock import Clock

_RETRY_SECONDS: Final = 10.0
# A pod that terminates for so much longer than its grace period is not waited for.
_STUCK_AFTER: Final = timedelta(minutes=1)
_CRITICAL: Final = ("system-cluster-critical", "system-node-critical")


@dataclass(slots=True)
class _Termination:
    """Node that is terminated, and why."""

    node: ReadOnlyObject
    reason: str
    next_at: float
    has_failed: bool = False


class NodeTerminations:
    """Nodes that are drained and deleted; a pod that may not be evicted is waited for without end."""

    def __init__(self, client: Client, clock: Clock, events: EventRecorder) -> None:
        self._client, self._clock, self._events = client, clock, events
        self._terminations: dict[str, _Termination] = {}

    @property
    def names(self) -> frozenset[str]:
        """Names of the nodes."""
        return frozenset(self._terminations)

    def due_at(self) -> float | None:
        """Return when something is to be done next."""
        return min((one.next_at for one in self._terminations.values()), default=None)

    def begin(self, node: ReadOnlyObject, reason: str) -> None:
        """Terminate a node, which has the taint of disrupted ones."""
        self._events.record(node, NORMAL, "DisruptionTerminating", f"Disrupting Node: {reason}")
        self._terminations[node["metadata"]["name"]] = _Termination(node, reason, self._clock.monotonic())

    async def advance(self, pods_of: PodsOfNode) -> None:
        """Continue with every termination that is due."""
        now = self._clock.monotonic()
        for name, termination in list(self._terminations.items()):
            if termination.next_at <= now:
                termination.next_at = now + _RETRY_SECONDS
                await self._continue(name, termination, pods_of(name))

    async def _continue(self, name: str, termination: _Termination, pods: Sequence[ReadOnlyObject]) -> None:
        waiting = [pod for pod in pods if self._is_waited_for(pod)]
        if not waiting:
            await self._delete(name)
            return
        # As in a graceful shutdown, pods of DaemonSets and critical ones come last.
        first = min(map(_rank, waiting))
        for pod in waiting:
            if _rank(pod) == first and not pod["metadata"].get("deletionTimestamp"):
                await self._evict(pod, termination)

    def _is_waited_for(self, pod: ReadOnlyObject) -> bool:
        if is_finished(pod) or tolerates_disruption(pod) or (is_of_node(pod) and not is_daemon_pod(pod)):
            return False
        deletion = pod["metadata"].get("deletionTimestamp")
        return deletion is None or self._clock.now() <= parse_time(deletion) + _STUCK_AFTER

    async def _evict(self, pod: ReadOnlyObject, termination: _Termination) -> None:
        if find_protected_until(pod, self._clock.now()) is not None:
            self._fail(termination, "a pod may not be disrupted")
            return
        try:
            await evict(self._client, pod)
        except NotFound:
            return
        except ApiError as error:
            if error.code == HTTPStatus.TOO_MANY_REQUESTS:
                self._fail(termination, error.message)
            return
        self._events.record(pod, NORMAL, "Evicted", f"Evicted pod: {termination.reason}")

    def _fail(self, termination: _Termination, why: str) -> None:
        if not termination.has_failed:
            self._events.record(termination.node, WARNING, "FailedDraining", f"Failed to drain node, {why}")
        termination.has_failed = True

    async def _delete(self, name: str) -> None:
        try:
            await self._client.delete("Node", Key("", name), DeleteOptions())
        except NotFound:
            pass
        except ApiError:
            # Tried again when it is due.
            return
        del self._terminations[name]


def _rank(pod: ReadOnlyObject) -> tuple[bool, bool]:
    return pod["spec"].get("priorityClassName") in _CRITICAL, is_daemon_pod(pod)
