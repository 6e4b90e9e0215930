"""Find what stops a pod and what would help: repeat the last component's decision, then those that follow it."""

from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.client.protocol import key_of
from mockkube.explain import api_server, pod_fate
from mockkube.explain.api_server import DroppedFields
from mockkube.explain.components import ClusterComponents
from mockkube.explain.explanation import Obstacle, ObstacleWithRemedies, PodProgress, Remedy
from mockkube.explain.node_admission import NodeAdmission
from mockkube.explain.owner_explanation import explain_daemon_removal
from mockkube.explain.pod_fate import PodFate
from mockkube.explain.pod_history import PodHistory
from mockkube.explain.preemption import KubeletPreemption, PodPreemption, SchedulerPreemption
from mockkube.explain.scheduling import SchedulingCase, SchedulingExplanation
from mockkube.explain.scheduling_remedies import SchedulingAttempt, find_successes, list_attempts, list_upgrade_attempts
from mockkube.lazy_dataclasses import dataclass

_FINISHED: Final = ("Succeeded", "Failed")
_ONLY_NEW_POD: Final = "applies to new pods only"


@dataclass(frozen=True, slots=True)
class ObstacleFinder:
    """Finds what stops one pod, which exists or is gone, in the present cluster."""

    components: ClusterComponents
    history: PodHistory
    case: SchedulingCase
    scheduling: SchedulingExplanation
    # Controller of the pod, for example its ReplicaSet.
    owner: ReadOnlyObject | None = None

    @property
    def pod(self) -> ReadOnlyObject:
        """The pod: current, last known, or with a supposed change."""
        return self.case.pod

    @property
    def fate(self) -> PodFate:
        """State of the pod as far as it determines which component decides next."""
        return pod_fate.get_fate(self.pod)

    @property
    def now(self) -> datetime:
        """Current time of the cluster."""
        return self.case.clock.now()

    @property
    def is_terminating(self) -> bool:
        """True if the pod is being deleted and still exists."""
        return bool(self.pod["metadata"].get("deletionTimestamp")) and not self.history.is_gone

    def find_node(self, name: str) -> ReadOnlyObject | None:
        """Return a node by name; None if there is none."""
        return next((node for node in self.case.recording.objects["Node"] if key_of(node).name == name), None)

    def with_case(self, case: SchedulingCase) -> "ObstacleFinder":
        """Return the same finder for a changed pod or cluster."""
        return replace(self, case=case)

    async def find_obstacle(self) -> ObstacleWithRemedies:
        """Return what stops the pod, and what would help."""
        # A rejected finalizer update blocks everything else: no component can do more for such a pod.
        if (stuck := self._find_rejected_update()) is not None:
            return stuck
        match self.fate:
            case PodFate.UNBOUND:
                return await self._find_obstacle_of_unbound()
            case PodFate.ENDED:
                return ObstacleWithRemedies()
            case PodFate.PREEMPTED | PodFate.DISPLACED:
                eviction = self._find_preemption()
                return (
                    ObstacleWithRemedies()
                    if eviction is None
                    else ObstacleWithRemedies(await eviction.find_obstacle(), await eviction.find_remedies())
                )
        node = self.pod["spec"]["nodeName"]
        admission = self.admission_on(node)
        if admission is None:
            text = f"deletes it: there is no node {node} (pod-garbage-collector)"
            return ObstacleWithRemedies(Obstacle(PodProgress.KEPT, self.components.manager.name, text))
        if (obstacle := admission.find_obstacle()) is not None:
            return ObstacleWithRemedies(obstacle, list(admission.find_remedies()))
        if self.owner is not None and self.owner["kind"] == "DaemonSet":
            return explain_daemon_removal(self.owner, admission.node, self.components.manager)
        return ObstacleWithRemedies()

    # On a node

    def admission_on(self, node: str) -> NodeAdmission | None:
        """Return the admission of the pod on a node; None if there is no such node."""
        found = self.find_node(node)
        if found is None:
            return None
        # A kubelet admits a pod once; for a pod that has started only taint eviction decides.
        entering = self.fate in (PodFate.UNBOUND, PodFate.ARRIVING, PodFate.REFUSED)
        pod = {**self.pod, "spec": {**self.pod["spec"], "nodeName": node}}
        return NodeAdmission(
            pod, found, self._other_pods_on(node), self.components.kubelet(node), self.components.manager, entering
        )

    def describe_obstacle_on(self, node: str) -> str:
        """Return what would stop the pod on a node, in one line; empty if nothing."""
        admission = self.admission_on(node)
        obstacle = None if admission is None else admission.find_obstacle()
        return "" if obstacle is None else obstacle.describe()

    def _other_pods_on(self, node: str) -> Sequence[ReadOnlyObject]:
        """Return the other pods on a node that have not finished."""
        pods = (pod for pod in self.case.recording.objects["Pod"] if pod["spec"].get("nodeName") == node)
        return [pod for pod in pods if (pod.get("status") or {}).get("phase") not in _FINISHED]

    # At the scheduler

    async def _find_obstacle_of_unbound(self) -> ObstacleWithRemedies:
        """Return what stops a pod that is not bound."""
        scheduler, scheduling = self.components.scheduler, self.scheduling
        if not scheduling.node:
            obstacle = Obstacle(PodProgress.SCHEDULED, scheduler.name, f"does not place it: {scheduling.decision}")
            return ObstacleWithRemedies(obstacle, await self._find_scheduler_remedies())
        if scheduler.idle:
            obstacle = Obstacle(PodProgress.SCHEDULED, scheduler.name, f"schedules no pods: {scheduler.idle}")
            return ObstacleWithRemedies(
                obstacle,
                [
                    Remedy(
                        "running", scheduler.name, "works", scheduling.node, self.describe_obstacle_on(scheduling.node)
                    )
                ],
            )
        admission = self.admission_on(scheduling.node)
        assert admission is not None, "the scheduler chooses among the nodes there are"
        return ObstacleWithRemedies(admission.find_obstacle(), list(admission.find_remedies()))

    async def _find_scheduler_remedies(self) -> list[Remedy]:
        """Return the changes after which the scheduler would place the pod."""
        overrides = self.components.scheduler.features.overrides
        found = await self._collect_remedies(list_attempts(self.case, self.scheduling, overrides))
        # Combined changes (another version and a gate) are many schedulers to build, so they are tried only if no
        # single one helps.
        if any(one.component for one in found):
            return found
        return [*await self._collect_remedies(list_upgrade_attempts(self.case, overrides)), *found]

    async def _collect_remedies(self, tried: Iterator[SchedulingAttempt]) -> list[Remedy]:
        """Return the attempts that get the pod scheduled, each with its next obstacle."""
        remedies = []
        async for one in find_successes(self.case, tried):
            attempt = one.attempt
            but = self.with_case(attempt.case).describe_obstacle_on(one.node)
            remedies.append(Remedy(attempt.kind, attempt.component, attempt.change, one.node, but))
        return remedies

    def _find_preemption(self) -> PodPreemption | None:
        """Return the preemption of the pod; None if its node or its preemptor no longer exists."""
        name = self.pod["spec"].get("nodeName", "")
        node = self.find_node(name)
        if node is None:
            return None
        if self.fate is PodFate.DISPLACED:
            return KubeletPreemption(self.pod, node, self._other_pods_on(name), self.components.kubelet(name))
        preemptor = self._find_preemptor()
        if preemptor is None:
            return None
        recording = self.case.recording.without("Pod", preemptor["metadata"]["uid"])
        return SchedulerPreemption(self.pod, node, replace(self.case, pod=preemptor, recording=recording))

    def _find_preemptor(self) -> ReadOnlyObject | None:
        """Return the pod that the scheduler made room for, if it still exists."""
        # No field names it from 1.36 on; the text does in every version.
        events = (event for event in self.history.events if event.get("reason") == "Preempted")
        words = {word for event in events for word in event.get("message", "").split()}
        return next((pod for pod in self.case.recording.objects["Pod"] if pod["metadata"].get("uid") in words), None)

    # At the API server

    def _find_rejected_update(self) -> ObstacleWithRemedies | None:
        """Return why finalizers of a deleted pod cannot be removed; None if they can."""
        server = self.components.server
        finalizers = ", ".join(self.pod["metadata"].get("finalizers") or ()) if self.is_terminating else ""
        errors = api_server.find_update_errors(self.pod, server.caps, self.now) if finalizers else []
        if not errors:
            return None
        obstacle = Obstacle(
            PodProgress.KEPT, server.name, f"rejects every update, so {finalizers} cannot be removed", errors[0]
        )
        allowed = (
            one
            for one in server.features.list_variants()
            if not api_server.find_update_errors(self.pod, one.caps, self.now)
        )
        node = self.pod["spec"].get("nodeName", "")
        return ObstacleWithRemedies(obstacle, [Remedy(one.kind, server.name, one.change, node) for one in allowed])

    async def find_storage_remedies(self, dropped_fields: DroppedFields, obstacle: Obstacle) -> AsyncIterator[Remedy]:
        """Yield changes that store more of the requested pod and take it further than `obstacle`."""
        for kind, component, change, pod in dropped_fields.list_changes():
            # Each attempt builds a scheduler; yield to the event loop in between.
            await self.case.clock.sleep(0)
            case = replace(self.case, pod=pod)
            bound = "" if self.fate is PodFate.UNBOUND else self.pod["spec"].get("nodeName", "")
            node = bound or await case.find_node()
            admission = self.with_case(case).admission_on(node) if node else None
            then = admission.find_obstacle() if admission is not None else None
            if admission is not None and (then is None or then.stage > obstacle.stage):
                but = "; ".join([_ONLY_NEW_POD, *([] if then is None else [then.describe()])]) if component else ""
                yield Remedy(kind, component, change, node, but)
