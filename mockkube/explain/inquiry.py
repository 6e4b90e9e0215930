"""Find what stops a pod and what would help: repeat the last component's decision, then those that follow it."""

from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from mockkube.api.types import ReadOnlyObject
from mockkube.client.protocol import key_of
from mockkube.explain import api_server, pod_fate
from mockkube.explain.api_server import Loss
from mockkube.explain.components import Team
from mockkube.explain.explanation import Finding, Obstacle, Remedy, Stage
from mockkube.explain.node_admission import Lodging
from mockkube.explain.owner_explanation import removal
from mockkube.explain.pod_fate import Fate
from mockkube.explain.pod_history import Memory
from mockkube.explain.preemption import ByKubelet, ByScheduler, Eviction
from mockkube.explain.scheduling import Case, Explanation
from mockkube.explain.what_if import Attempt, attempts, successes, upgrades

_FINISHED: Final = ("Succeeded", "Failed")
_ANEW: Final = "only a new pod has it"


@dataclass(frozen=True, slots=True)
class Inquiry:
    """Finds what stops one pod, which exists or is gone, in the present cluster."""

    team: Team
    memory: Memory
    case: Case
    scheduling: Explanation
    # Controller of the pod, for example its ReplicaSet.
    owner: ReadOnlyObject | None = None

    @property
    def pod(self) -> ReadOnlyObject:
        """The pod: current, last known, or with a supposed change."""
        return self.case.pod

    @property
    def fate(self) -> Fate:
        """State of the pod as far as it determines which component decides next."""
        return pod_fate.fate_of(self.pod)

    @property
    def now(self) -> datetime:
        """Current time of the cluster."""
        return self.case.clock.now()

    @property
    def leaving(self) -> bool:
        """True if the pod is being deleted and still exists."""
        return bool(self.pod["metadata"].get("deletionTimestamp")) and not self.memory.gone

    def node(self, name: str) -> ReadOnlyObject | None:
        """Return a node by name; None if there is none."""
        return next((node for node in self.case.recording.objects["Node"] if key_of(node).name == name), None)

    def supposing(self, case: Case) -> "Inquiry":
        """Return the same finder for a changed pod or cluster."""
        return replace(self, case=case)

    async def finding(self) -> Finding:
        """Return what stops the pod, and what would help."""
        # A rejected finalizer update blocks everything else: no component can do more for such a pod.
        if (stuck := self._stuck()) is not None:
            return stuck
        match self.fate:
            case Fate.UNBOUND:
                return await self._unbound()
            case Fate.ENDED:
                return Finding()
            case Fate.PREEMPTED | Fate.DISPLACED:
                eviction = self._eviction()
                return Finding() if eviction is None else Finding(await eviction.obstacle(), await eviction.remedies())
        node = self.pod["spec"]["nodeName"]
        lodging = self.lodging(node)
        if lodging is None:
            text = f"deletes it: there is no node {node} (pod-garbage-collector)"
            return Finding(Obstacle(Stage.KEPT, self.team.manager.name, text))
        if (obstacle := lodging.obstacle()) is not None:
            return Finding(obstacle, list(lodging.remedies()))
        if self.owner is not None and self.owner["kind"] == "DaemonSet":
            return removal(self.owner, lodging.node, self.team.manager)
        return Finding()

    # On a node

    def lodging(self, node: str) -> Lodging | None:
        """Return the admission of the pod on a node; None if there is no such node."""
        found = self.node(node)
        if found is None:
            return None
        # A kubelet admits a pod once; for a pod that has started only taint eviction decides.
        entering = self.fate in (Fate.UNBOUND, Fate.ARRIVING, Fate.REFUSED)
        pod = {**self.pod, "spec": {**self.pod["spec"], "nodeName": node}}
        return Lodging(pod, found, self._guests(node), self.team.kubelet(node), self.team.manager, entering)

    def then(self, node: str) -> str:
        """Return what would stop the pod on a node, in one line; empty if nothing."""
        lodging = self.lodging(node)
        obstacle = None if lodging is None else lodging.obstacle()
        return "" if obstacle is None else obstacle.told()

    def _guests(self, node: str) -> Sequence[ReadOnlyObject]:
        """Return the other pods on a node that have not finished."""
        pods = (pod for pod in self.case.recording.objects["Pod"] if pod["spec"].get("nodeName") == node)
        return [pod for pod in pods if (pod.get("status") or {}).get("phase") not in _FINISHED]

    # At the scheduler

    async def _unbound(self) -> Finding:
        """Return what stops a pod that is not bound."""
        scheduler, scheduling = self.team.scheduler, self.scheduling
        if not scheduling.node:
            obstacle = Obstacle(Stage.SCHEDULED, scheduler.name, f"does not place it: {scheduling.decision}")
            return Finding(obstacle, await self._of_scheduler())
        if scheduler.idle:
            obstacle = Obstacle(Stage.SCHEDULED, scheduler.name, f"does nothing: {scheduler.idle}")
            return Finding(
                obstacle, [Remedy("running", scheduler.name, "works", scheduling.node, self.then(scheduling.node))]
            )
        lodging = self.lodging(scheduling.node)
        assert lodging is not None, "the scheduler chooses among the nodes there are"
        return Finding(lodging.obstacle(), list(lodging.remedies()))

    async def _of_scheduler(self) -> list[Remedy]:
        """Return the changes after which the scheduler would place the pod."""
        overrides = self.team.scheduler.standing.overrides
        found = await self._tried(attempts(self.case, self.scheduling, overrides))
        # Combined changes (another version and a gate) are many schedulers to build, so they are tried only if no
        # single one helps.
        if any(one.component for one in found):
            return found
        return [*await self._tried(upgrades(self.case, overrides)), *found]

    async def _tried(self, tried: Iterator[Attempt]) -> list[Remedy]:
        """Return the attempts that get the pod scheduled, each with its next obstacle."""
        remedies = []
        async for one in successes(self.case, tried):
            attempt = one.attempt
            but = self.supposing(attempt.case).then(one.node)
            remedies.append(Remedy(attempt.kind, attempt.component, attempt.change, one.node, but))
        return remedies

    def _eviction(self) -> Eviction | None:
        """Return the preemption of the pod; None if its node or its preemptor no longer exists."""
        name = self.pod["spec"].get("nodeName", "")
        node = self.node(name)
        if node is None:
            return None
        if self.fate is Fate.DISPLACED:
            return ByKubelet(self.pod, node, self._guests(name), self.team.kubelet(name))
        preemptor = self._preemptor()
        if preemptor is None:
            return None
        recording = self.case.recording.without("Pod", preemptor["metadata"]["uid"])
        return ByScheduler(self.pod, node, replace(self.case, pod=preemptor, recording=recording))

    def _preemptor(self) -> ReadOnlyObject | None:
        """Return the pod that the scheduler made room for, if it still exists."""
        # No field names it from 1.36 on; the text does in every version.
        events = (event for event in self.memory.events if event.get("reason") == "Preempted")
        words = {word for event in events for word in event.get("message", "").split()}
        return next((pod for pod in self.case.recording.objects["Pod"] if pod["metadata"].get("uid") in words), None)

    # At the API server

    def _stuck(self) -> Finding | None:
        """Return why finalizers of a deleted pod cannot be removed; None if they can."""
        server = self.team.server
        finalizers = ", ".join(self.pod["metadata"].get("finalizers") or ()) if self.leaving else ""
        errors = api_server.refusals(self.pod, server.caps, self.now) if finalizers else []
        if not errors:
            return None
        obstacle = Obstacle(
            Stage.KEPT, server.name, f"rejects every update, so {finalizers} cannot be removed", errors[0]
        )
        allowed = (one for one in server.standing.variants() if not api_server.refusals(self.pod, one.caps, self.now))
        node = self.pod["spec"].get("nodeName", "")
        return Finding(obstacle, [Remedy(one.kind, server.name, one.change, node) for one in allowed])

    async def of_storing(self, loss: Loss, obstacle: Obstacle) -> AsyncIterator[Remedy]:
        """Yield changes that store more of the requested pod and take it further than `obstacle`."""
        for kind, component, change, pod in loss.changes():
            # Each attempt builds a scheduler; yield to the event loop in between.
            await self.case.clock.sleep(0)
            case = replace(self.case, pod=pod)
            bound = "" if self.fate is Fate.UNBOUND else self.pod["spec"].get("nodeName", "")
            node = bound or await case.goes_to()
            lodging = self.supposing(case).lodging(node) if node else None
            then = lodging.obstacle() if lodging is not None else None
            if lodging is not None and (then is None or then.stage > obstacle.stage):
                but = "; ".join([_ANEW, *([] if then is None else [then.told()])]) if component else ""
                yield Remedy(kind, component, change, node, but)
