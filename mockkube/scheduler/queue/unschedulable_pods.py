"""The pods that wait for something to happen, by what they wait for: an event looks only at those it concerns.

upstream 1.36: pkg/scheduler/backend/queue/scheduling_queue.go (unschedulablePods)
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count

from mockkube.scheduler.queue.queued_pod_info import Queued


@dataclass(frozen=True, slots=True)
class Reason:
    """Why pods wait."""

    profile: str
    gate: str
    """The plugin that keeps them out of the queue; empty if none does."""
    rejectors: frozenset[str]
    """The plugins that refused them."""
    surely: bool
    """Whether the gate would keep them out now, whatever happens around them."""


class Aside:
    """Pods by uid, and by why they wait. Whoever changes that of a pod puts it here again."""

    def __init__(self) -> None:
        self._places: dict[str, tuple[int, Reason]] = {}
        """Of each pod: since when it waits, in order of arrival, and why."""
        self._groups: dict[Reason, dict[str, Queued]] = {}
        self._arrivals = count()

    def __len__(self) -> int:
        return len(self._places)

    def __contains__(self, uid: str) -> bool:
        return uid in self._places

    def __iter__(self) -> Iterator[Queued]:
        return (queued for group in self._groups.values() for queued in group.values())

    def get(self, uid: str) -> Queued | None:
        """Return a pod."""
        place = self._places.get(uid)
        return None if place is None else self._groups[place[1]][uid]

    def put(self, queued: Queued, *, surely: bool = False) -> None:
        """Take a pod in, or note why it waits now; it keeps its place. `surely`: its gate needs not be asked."""
        uid = queued.pod.uid
        place = self._places.get(uid)
        reason = Reason(queued.pod.scheduler_name, queued.gate, frozenset(queued.rejectors), surely)
        if place is not None and place[1] != reason:
            self._leave(uid, place[1])
        self._places[uid] = next(self._arrivals) if place is None else place[0], reason
        self._groups.setdefault(reason, {})[uid] = queued

    def pop(self, uid: str) -> None:
        """Let a pod go, if it is here."""
        place = self._places.pop(uid, None)
        if place is not None:
            self._leave(uid, place[1])

    def groups(self) -> list[tuple[Reason, dict[str, Queued]]]:
        """Return the pods by why they wait; the groups change with them."""
        return list(self._groups.items())

    def in_order(self, waiting: Sequence[Queued]) -> Sequence[Queued]:
        """Return pods in the order in which they came."""
        return sorted(waiting, key=lambda queued: self._places[queued.pod.uid][0])

    def _leave(self, uid: str, reason: Reason) -> None:
        group = self._groups[reason]
        del group[uid]
        if not group:
            del self._groups[reason]
