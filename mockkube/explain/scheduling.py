"""Repeat the scheduler's decision about one pod, node by node, in a recorded cluster.

Nothing is concluded from messages: whether a change helps is tried, by deciding in a cluster with just this change.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from mockkube.api.errors import NotFound
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.client.protocol import Client, Key, key_of
from mockkube.explain.fact_formatting import format_facts
from mockkube.explain.recorded_cluster import RecordedCluster, build_scheduler
from mockkube.features.capabilities import Capabilities
from mockkube.lazy_dataclasses import dataclass
from mockkube.runtime.clock import Clock
from mockkube.scheduler.cycle.node_scores import NodePluginScores
from mockkube.scheduler.cycle.scheduling_algorithm import Decision, ScheduleResult, SchedulingError
from mockkube.scheduler.framework.fit_error import FitError
from mockkube.scheduler.framework.pod_info import PodInfo
from mockkube.scheduler.framework.status import Status
from mockkube.scheduler.scheduler import Scheduler


@dataclass(frozen=True, slots=True)
class NodeRejection:
    """A node that was rejected: the first plugin that did so, its status, and the facts it compared."""

    node: str
    status: Status

    @property
    def detail(self) -> str:
        """The compared facts in one line; empty if the reasons say everything."""
        return format_facts(self.status.facts)


@dataclass(frozen=True, slots=True)
class SchedulingRemedy:
    """A single change after which the pod would be scheduled; becomes a `Remedy` with the obstacle that follows."""

    # `gate` or `version`; for objects see `object_changes.ObjectEdit`.
    kind: str
    # The component whose gate or version changes; empty for objects.
    component: str
    change: str
    # The node that the pod would get.
    node: str


@dataclass(frozen=True, slots=True)
class SchedulingExplanation:
    """The scheduler's decision about one pod."""

    pod: Key
    # State of the pod so far, in words.
    state: str
    # What the scheduler decides now; for a bound pod, what it would decide.
    decision: str
    # The node that the pod would get; empty if none.
    node: str
    refused: Sequence[NodeRejection]
    # Scores of the feasible nodes, if there are several.
    scores: NodePluginScores
    what_if: Sequence[SchedulingRemedy] = ()
    # The scheduler's profiles other than the one that the pod names.
    profiles: Sequence[str] = ()

    def as_json(self) -> Object:
        """Return the decision as JSON."""
        return {
            "pod": {"namespace": self.pod.namespace, "name": self.pod.name},
            "state": self.state,
            "decision": self.decision,
            "node": self.node,
            "nodes": [_rejection_to_json(answer) for answer in self.refused],
            "scores": {node: dict(scores) for node, scores in self.scores.items()},
            "whatIf": [
                {"kind": one.kind, "component": one.component, "change": one.change, "node": one.node}
                for one in self.what_if
            ],
        }


def _rejection_to_json(rejection: NodeRejection) -> Object:
    status = rejection.status
    return {
        "node": rejection.node,
        "plugin": status.plugin,
        "code": str(status.code),
        "reasons": list(status.reasons),
        "detail": rejection.detail,
        "facts": {name: _fact_to_json(value) for name, value in status.facts.items()},
    }


def _fact_to_json(fact: Any) -> Any:
    """Return a fact as JSON; facts that are costly to compute are lazy iterables."""
    return fact if isinstance(fact, str | int | Mapping | Sequence) else list(fact)


@dataclass(frozen=True, slots=True)
class SchedulingCase:
    """A pod and the cluster to schedule it in."""

    # As the API server returns it.
    pod: ReadOnlyObject
    # The cluster without the pod.
    recording: RecordedCluster
    caps: Capabilities
    clock: Clock
    configuration: ReadOnlyObject | None = None

    async def build_scheduler(self) -> Scheduler:
        """Return a scheduler with the recorded objects in its caches."""
        return await build_scheduler(self.recording, self.caps, self.clock, self.configuration)

    def pod_to_schedule(self) -> PodInfo:
        """Return the pod as if it were scheduled for the first time."""
        decoded = self.recording.decode(self.pod, self.caps)
        # With nodeName set, the NodeName filter would reject every node but the present one.
        spec = {name: value for name, value in decoded["spec"].items() if name != "nodeName"}
        status = {name: value for name, value in (decoded.get("status") or {}).items() if name in _STATUS_FIELDS_KEPT}
        return PodInfo({**decoded, "spec": spec, "status": status})

    async def find_node(self) -> str:
        """Return the node that the pod would get; empty if none."""
        return self.find_node_with(await self.build_scheduler())

    def find_node_with(self, scheduler: Scheduler) -> str:
        """Return the node that this scheduler would choose; empty if none."""
        pod = self.pod_to_schedule()
        decider = scheduler.algorithms.get(pod.scheduler_name)
        if decider is None or any(not one.pre_enqueue(pod).is_success for one in decider.framework.profile.pre_enqueue):
            return ""
        decision = decider.schedule_pod(decider.new_cycle_state(), pod)
        return decision.node_name if isinstance(decision, ScheduleResult) else ""


# Claims that a controller generated for the pod are input of the decision; all other status is a result of earlier
# ones.
_STATUS_FIELDS_KEPT = ("resourceClaimStatuses", "extendedResourceClaimStatus")


async def record_case(
    client: Client, key: Key, caps: Capabilities, clock: Clock, configuration: ReadOnlyObject | None = None
) -> SchedulingCase:
    """Record the cluster around a pod; NotFound if there is none.

    The client should return objects without dropping fields.
    """
    recording = await RecordedCluster.from_client(client, caps, clock)
    pod = next((one for one in recording.objects["Pod"] if key_of(one) == key), None)
    if pod is None:
        raise NotFound.for_object("", "pods", key.name)
    return SchedulingCase(pod, recording.without("Pod", pod["metadata"].get("uid", "")), caps, clock, configuration)


async def explain(case: SchedulingCase) -> SchedulingExplanation:
    """Return the decision about a pod, node by node."""
    pod, scheduler = case.pod_to_schedule(), await case.build_scheduler()
    decider = scheduler.algorithms.get(pod.scheduler_name)
    key, state = pod.key, describe_state(case.pod)
    others = tuple(name for name in scheduler.algorithms if name != pod.scheduler_name)
    if decider is None:
        message = f'no profile is called "{pod.scheduler_name}": the scheduler has {", ".join(others)}'
        return SchedulingExplanation(key, state, message, "", (), {}, profiles=others)
    # A pod that PreEnqueue rejects never reaches a scheduling cycle, so no node can be asked about it.
    for plugin in decider.framework.profile.pre_enqueue:
        if not (status := plugin.pre_enqueue(pod)).is_success:
            return SchedulingExplanation(key, state, f"held back by {plugin.name}: {status.message}", "", (), {})
    decision, refused, scores = decider.explain(decider.new_cycle_state(), pod)
    answers = [NodeRejection(node, status) for node, status in refused.items()]
    node = decision.node_name if isinstance(decision, ScheduleResult) else ""
    return SchedulingExplanation(key, state, _describe_decision(decision), node, answers, scores, profiles=others)


def _describe_decision(decision: Decision) -> str:
    match decision:
        case ScheduleResult():
            return f"goes to {decision.node_name}: {decision.feasible_nodes} of the nodes fit"
        case FitError() | SchedulingError():
            return decision.message


def describe_state(pod: ReadOnlyObject) -> str:
    """Return the state of a pod in one line."""
    status: dict[str, Any] = dict(pod.get("status") or {})
    node = pod["spec"].get("nodeName", "")
    if status.get("phase") == "Failed":
        reason = ": ".join(text for text in (status.get("reason"), status.get("message")) if text)
        return f"failed on {node or 'no node'}{f': {reason}' if reason else ''}"
    for condition in status.get("conditions") or ():
        if condition.get("type") == "DisruptionTarget" and condition.get("status") == "True":
            return f"is disrupted on {node}: {condition.get('reason', '')}: {condition.get('message', '')}"
    return f"is bound to {node}" if node else "is pending"
