"""Pods that had to make room for others: would they again, and what would have spared them."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Self

from mockkube.api.types import Object, ReadOnlyObject
from mockkube.client.protocol import Key, key_of
from mockkube.explain import object_changes
from mockkube.explain.components import Member
from mockkube.explain.explanation import Obstacle, Remedy, Stage
from mockkube.explain.node_admission import wanted
from mockkube.explain.object_changes import Edit
from mockkube.explain.scheduling import Case
from mockkube.kubelet.admission import AdmissionRules, admit
from mockkube.kubelet.admitted_pod import CRITICAL_PRIORITY, Guest, is_critical
from mockkube.scheduler.fit_error import FitError

_TRANSIENT = ("deletionTimestamp", "deletionGracePeriodSeconds")


@dataclass(frozen=True, slots=True)
class Eviction(ABC):
    """A victim and the node it was on."""

    victim: ReadOnlyObject
    node: ReadOnlyObject

    @abstractmethod
    async def winner(self) -> Key | None:
        """Return for whom it would have to go if all decided again now; None if it could stay."""

    @abstractmethod
    def edits(self) -> Iterator[Edit]:
        """Yield what may spare the victim."""

    @abstractmethod
    def obstacle_for(self, winner: Key) -> Obstacle:
        """Return what stops the victim."""

    async def obstacle(self) -> Obstacle | None:
        """Return who would make it go."""
        winner = await self.winner()
        return None if winner is None else self.obstacle_for(winner)

    def with_(self, edit: Edit) -> Self:
        """Return the same with another victim or node."""
        return replace(self, victim=edit.obj) if edit.obj["kind"] == "Pod" else replace(self, node=edit.obj)

    async def remedies(self) -> list[Remedy]:
        """Return the single changes after which it could stay."""
        name = key_of(self.node).name
        return [Remedy(one.kind, "", one.told, name) for one in self.edits() if await self.with_(one).winner() is None]


@dataclass(frozen=True, slots=True)
class ByScheduler(Eviction):
    """For a pod that the scheduler could place nowhere else."""

    case: Case
    """That of the other pod; its cluster lacks both."""

    async def winner(self) -> Key | None:
        """Let the scheduler place the other pod in a cluster where the victim still runs."""
        recording = self.case.recording.adding("Pod", alive(self.victim)).replacing("Node", self.node)
        case = replace(self.case, recording=recording)
        pod, scheduler = case.subject(), await case.scheduler()
        decider = scheduler.deciders.get(pod.scheduler_name)
        decision = None if decider is None else decider.decide(decider.state(), pod)
        if not isinstance(decision, FitError) or decision.remedy is None:
            return None
        uids = [victim.uid for victim in decision.remedy.victims]
        return pod.key if self.victim["metadata"].get("uid") in uids else None

    def edits(self) -> Iterator[Edit]:
        """Yield the priority of the other pod, and room for both."""
        yield _raised(self.victim, self.case.pod["spec"].get("priority", 0))
        yield object_changes.roomier(self.node, wanted(self.victim, self.case.caps))

    def obstacle_for(self, winner: Key) -> Obstacle:
        """Name the other pod."""
        text = f"would preempt it again for pod {winner}"
        own, other = (pod["spec"].get("priority", 0) for pod in (self.victim, self.case.pod))
        return Obstacle(Stage.KEPT, "kube-scheduler", text, f"priority {other} over {own}")


@dataclass(frozen=True, slots=True)
class ByKubelet(Eviction):
    """For a critical pod that its kubelet let in."""

    others: Sequence[ReadOnlyObject]
    """Who else is on the node now."""
    kubelet: Member

    async def winner(self) -> Key | None:
        """Let each critical pod of the node come again, with the victim there."""
        sees, rules = self.kubelet.sees, AdmissionRules.of(self.kubelet.caps)
        guests = {_uid(one): Guest.of(sees(one), rules.requests) for one in (*self.others, self.victim)}
        for pod in self.others:
            beside = [guest for uid, guest in guests.items() if uid != _uid(pod)]
            if is_critical(pod):
                chosen = admit(sees(pod), sees(self.node), beside, rules).victims
                if _uid(self.victim) in [guest.uid for guest in chosen]:
                    return key_of(pod)
        return None

    def edits(self) -> Iterator[Edit]:
        """Yield a critical victim, and room for both."""
        yield _raised(self.victim, CRITICAL_PRIORITY)
        yield object_changes.roomier(self.node, wanted(self.victim, self.kubelet.caps))

    def obstacle_for(self, winner: Key) -> Obstacle:
        """Name the other pod."""
        return Obstacle(Stage.KEPT, self.kubelet.name, f"would end it again for critical pod {winner}")


def alive(pod: ReadOnlyObject) -> Object:
    """Return a pod as if nobody had wanted it to go."""
    metadata = {name: value for name, value in pod["metadata"].items() if name not in _TRANSIENT}
    return {**pod, "metadata": metadata, "status": {**(pod.get("status") or {}), "phase": "Running", "conditions": []}}


def _raised(pod: ReadOnlyObject, priority: int) -> Edit:
    return Edit("priority", f"the pod's priority is {priority}", {**pod, "spec": {**pod["spec"], "priority": priority}})


def _uid(pod: ReadOnlyObject) -> str:
    return str(pod["metadata"].get("uid", ""))
