"""Explain preemption: whether the victim would be preempted again, and what would have spared it."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Self

from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.client.protocol import Key, key_of
from mockkube.explain import object_changes
from mockkube.explain.components import DecidingComponent
from mockkube.explain.explanation import Obstacle, PodProgress, Remedy
from mockkube.explain.node_admission import requested_amounts
from mockkube.explain.object_changes import ObjectEdit
from mockkube.explain.scheduling import SchedulingCase
from mockkube.kubelet.admission.admitted_pod import CRITICAL_PRIORITY, AdmittedPod, is_critical
from mockkube.kubelet.admission.handlers import AdmissionRules, admit_pod
from mockkube.lazy_dataclasses import dataclass
from mockkube.scheduler.framework.fit_error import FitError

_TRANSIENT = ("deletionTimestamp", "deletionGracePeriodSeconds")


@dataclass(frozen=True, slots=True)
class PodPreemption(ABC):
    """A victim of preemption and the node it was on."""

    victim: ReadOnlyObject
    node: ReadOnlyObject

    @abstractmethod
    async def find_preemptor(self) -> Key | None:
        """Return the pod that would preempt it if the decision were repeated; None if the victim could stay."""

    @abstractmethod
    def list_edits(self) -> Iterator[ObjectEdit]:
        """Yield changes that may spare the victim."""

    @abstractmethod
    def describe_obstacle(self, preemptor: Key) -> Obstacle:
        """Return the obstacle that the preemptor is for the victim."""

    async def find_obstacle(self) -> Obstacle | None:
        """Return what would end the victim; None if it could stay."""
        preemptor = await self.find_preemptor()
        return None if preemptor is None else self.describe_obstacle(preemptor)

    def with_edit(self, edit: ObjectEdit) -> Self:
        """Return the same with a changed victim or node."""
        return replace(self, victim=edit.obj) if edit.obj["kind"] == "Pod" else replace(self, node=edit.obj)

    async def find_remedies(self) -> list[Remedy]:
        """Return the single changes after which the victim could stay."""
        name = key_of(self.node).name
        return [
            Remedy(one.kind, "", one.description, name)
            for one in self.list_edits()
            if await self.with_edit(one).find_preemptor() is None
        ]


@dataclass(frozen=True, slots=True)
class SchedulerPreemption(PodPreemption):
    """Preemption by the scheduler, for a pod that fits nowhere else."""

    # Case of the preemptor; its cluster holds neither preemptor nor victim.
    case: SchedulingCase

    async def find_preemptor(self) -> Key | None:
        """Return the preemptor if the scheduler would choose the victim for it again."""
        # The victim has to run again: without it there would be room, and nothing to preempt.
        recording = self.case.recording.with_added("Pod", as_running(self.victim)).with_replaced("Node", self.node)
        case = replace(self.case, recording=recording)
        pod, scheduler = case.pod_to_schedule(), await case.build_scheduler()
        decider = scheduler.algorithms.get(pod.scheduler_name)
        decision = None if decider is None else decider.schedule_pod(decider.new_cycle_state(), pod)
        if not isinstance(decision, FitError) or decision.post_filter_result is None:
            return None
        uids = [victim.uid for victim in decision.post_filter_result.victims]
        return pod.key if self.victim["metadata"].get("uid") in uids else None

    def list_edits(self) -> Iterator[ObjectEdit]:
        """Yield a higher priority of the victim, and room for both pods."""
        yield _set_priority(self.victim, self.case.pod["spec"].get("priority", 0))
        yield object_changes.add_capacity(self.node, requested_amounts(self.victim, self.case.caps))

    def describe_obstacle(self, preemptor: Key) -> Obstacle:
        """Return the scheduler as the obstacle, with both priorities."""
        text = f"would preempt it again for pod {preemptor}"
        own, other = (pod["spec"].get("priority", 0) for pod in (self.victim, self.case.pod))
        return Obstacle(PodProgress.KEPT, "kube-scheduler", text, f"priority {other} over {own}")


@dataclass(frozen=True, slots=True)
class KubeletPreemption(PodPreemption):
    """Preemption by the kubelet, for a critical pod that it admitted."""

    # The other pods on the node.
    others: Sequence[ReadOnlyObject]
    kubelet: DecidingComponent

    async def find_preemptor(self) -> Key | None:
        """Return the critical pod for which the kubelet would end the victim again."""
        sees, rules = self.kubelet.decode, AdmissionRules.from_capabilities(self.kubelet.caps)
        admitted = {
            _uid(one): AdmittedPod.from_object(sees(one), rules.requests) for one in (*self.others, self.victim)
        }
        # Which critical pod was admitted last is not recorded, so each is admitted again beside the victim.
        for pod in self.others:
            other_pods = [other for uid, other in admitted.items() if uid != _uid(pod)]
            if is_critical(pod):
                chosen = admit_pod(sees(pod), sees(self.node), other_pods, rules).victims
                if _uid(self.victim) in [other.uid for other in chosen]:
                    return key_of(pod)
        return None

    def list_edits(self) -> Iterator[ObjectEdit]:
        """Yield a critical priority of the victim, and room for both pods."""
        yield _set_priority(self.victim, CRITICAL_PRIORITY)
        yield object_changes.add_capacity(self.node, requested_amounts(self.victim, self.kubelet.caps))

    def describe_obstacle(self, preemptor: Key) -> Obstacle:
        """Return the kubelet as the obstacle."""
        return Obstacle(PodProgress.KEPT, self.kubelet.name, f"would end it again for critical pod {preemptor}")


def as_running(pod: ReadOnlyObject) -> Object:
    """Return a pod as it was before its deletion or failure."""
    metadata = {name: value for name, value in pod["metadata"].items() if name not in _TRANSIENT}
    return {**pod, "metadata": metadata, "status": {**(pod.get("status") or {}), "phase": "Running", "conditions": []}}


def _set_priority(pod: ReadOnlyObject, priority: int) -> ObjectEdit:
    return ObjectEdit(
        "priority", f"the pod's priority is {priority}", {**pod, "spec": {**pod["spec"], "priority": priority}}
    )


def _uid(pod: ReadOnlyObject) -> str:
    return str(pod["metadata"].get("uid", ""))
