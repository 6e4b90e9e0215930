"""Why a pod is where it is, or nowhere: the decision made again, node by node, and which single change would alter it.

Nothing is concluded from texts: what might help is tried, by deciding again in a cluster that differs in that alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mockkube.api.errors import NotFound
from mockkube.api.types import Object, ReadOnlyObject
from mockkube.client.protocol import Client, Key, key_of
from mockkube.explain.facts import text_of
from mockkube.explain.recorded_cluster import Recording, scheduler_of
from mockkube.features.capabilities import Capabilities
from mockkube.runtime.clock import Clock
from mockkube.scheduler.fit_error import FitError
from mockkube.scheduler.framework.pod_info import PodInfo
from mockkube.scheduler.framework.status import Status
from mockkube.scheduler.node_scores import NodePluginScores
from mockkube.scheduler.scheduler import Scheduler
from mockkube.scheduler.scheduling_algorithm import Decision, Failure, Placement


@dataclass(frozen=True, slots=True)
class NodeAnswer:
    """What the first plugin that refuses a node says, and what it compared."""

    node: str
    status: Status

    @property
    def detail(self) -> str:
        """What was compared, in a line; empty where the reasons say it all."""
        return text_of(self.status.facts)


@dataclass(frozen=True, slots=True)
class WhatIf:
    """A single change after which the pod would be scheduled."""

    kind: str
    """`gate`, `version`, or of an object: see `why_changes.Edit`."""
    component: str
    """Whose gate or version; empty for objects."""
    change: str
    node: str
    """Where the pod would go."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """The whole answer."""

    pod: Key
    state: str
    """What has become of the pod so far."""
    decision: str
    """What the scheduler decides now; of a pod that has a node: what it would."""
    node: str
    """Where the pod would go; empty: nowhere."""
    refused: Sequence[NodeAnswer]
    scores: NodePluginScores
    """Of the nodes that fit, if there are several."""
    what_if: Sequence[WhatIf] = ()
    profiles: Sequence[str] = ()
    """Those that the scheduler has beside the one that the pod names."""

    def as_json(self) -> Object:
        """Return it for programs."""
        return {
            "pod": {"namespace": self.pod.namespace, "name": self.pod.name},
            "state": self.state,
            "decision": self.decision,
            "node": self.node,
            "nodes": [_as_json(answer) for answer in self.refused],
            "scores": {node: dict(scores) for node, scores in self.scores.items()},
            "whatIf": [
                {"kind": one.kind, "component": one.component, "change": one.change, "node": one.node}
                for one in self.what_if
            ],
        }


def _as_json(answer: NodeAnswer) -> Object:
    status = answer.status
    return {
        "node": answer.node,
        "plugin": status.plugin,
        "code": str(status.code),
        "reasons": list(status.reasons),
        "detail": answer.detail,
        "facts": {name: _to_json(value) for name, value in status.facts.items()},
    }


def _to_json(fact: Any) -> Any:
    """Return a fact as JSON; facts that are costly to compute are iterables that compute when they are read."""
    return fact if isinstance(fact, str | int | Mapping | Sequence) else list(fact)


@dataclass(frozen=True, slots=True)
class Case:
    """A pod, and the cluster it is to be scheduled in, as one scheduler sees both."""

    pod: ReadOnlyObject
    """As the API server shows it."""
    recording: Recording
    """Without the pod itself."""
    caps: Capabilities
    clock: Clock
    configuration: ReadOnlyObject | None = None

    async def scheduler(self) -> Scheduler:
        """Return the scheduler that knows the cluster."""
        return await scheduler_of(self.recording, self.caps, self.clock, self.configuration)

    def subject(self) -> PodInfo:
        """Return the pod as if it were to be scheduled for the first time."""
        seen = self.recording.shown(self.pod, self.caps)
        spec = {name: value for name, value in seen["spec"].items() if name != "nodeName"}
        status = {name: value for name, value in (seen.get("status") or {}).items() if name in _KEPT}
        return PodInfo({**seen, "spec": spec, "status": status})

    async def goes_to(self) -> str:
        """Return the node that the pod would get; empty if none."""
        return self.goes_by(await self.scheduler())

    def goes_by(self, scheduler: Scheduler) -> str:
        """Return the node that a scheduler who knows the cluster would choose."""
        pod = self.subject()
        decider = scheduler.deciders.get(pod.scheduler_name)
        if decider is None or any(not one.pre_enqueue(pod).ok for one in decider.points.profile.pre_enqueue):
            return ""
        decision = decider.decide(decider.state(), pod)
        return decision.node_name if isinstance(decision, Placement) else ""


_KEPT = ("resourceClaimStatuses", "extendedResourceClaimStatus")


async def case_of(
    client: Client, key: Key, caps: Capabilities, clock: Clock, configuration: ReadOnlyObject | None = None
) -> Case:
    """Record the case of a pod; NotFound if there is none. The client should show all that the server does."""
    recording = await Recording.of(client, caps, clock)
    pod = next((one for one in recording.objects["Pod"] if key_of(one) == key), None)
    if pod is None:
        raise NotFound.object("", "pods", key.name)
    return Case(pod, recording.without("Pod", pod["metadata"].get("uid", "")), caps, clock, configuration)


async def explain(case: Case) -> Explanation:
    """Return the decision about a pod, node by node."""
    pod, scheduler = case.subject(), await case.scheduler()
    decider = scheduler.deciders.get(pod.scheduler_name)
    key, state = pod.key, state_of(case.pod)
    others = tuple(name for name in scheduler.deciders if name != pod.scheduler_name)
    if decider is None:
        told = f'no profile is called "{pod.scheduler_name}": the scheduler has {", ".join(others)}'
        return Explanation(key, state, told, "", (), {}, profiles=others)
    for plugin in decider.points.profile.pre_enqueue:
        if not (status := plugin.pre_enqueue(pod)).ok:
            return Explanation(key, state, f"held back by {plugin.name}: {status.message}", "", (), {})
    decision, refused, scores = decider.explain(decider.state(), pod)
    answers = [NodeAnswer(node, status) for node, status in refused.items()]
    node = decision.node_name if isinstance(decision, Placement) else ""
    return Explanation(key, state, _told(decision), node, answers, scores, profiles=others)


def _told(decision: Decision) -> str:
    match decision:
        case Placement():
            return f"goes to {decision.node_name}: {decision.feasible_nodes} of the nodes fit"
        case FitError() | Failure():
            return decision.message


def state_of(pod: ReadOnlyObject) -> str:
    """Return what has become of a pod so far, in a line."""
    status: dict[str, Any] = dict(pod.get("status") or {})
    node = pod["spec"].get("nodeName", "")
    if status.get("phase") == "Failed":
        told = ": ".join(text for text in (status.get("reason"), status.get("message")) if text)
        return f"failed on {node or 'no node'}{f': {told}' if told else ''}"
    for condition in status.get("conditions") or ():
        if condition.get("type") == "DisruptionTarget" and condition.get("status") == "True":
            return f"is disrupted on {node}: {condition.get('reason', '')}: {condition.get('message', '')}"
    return f"is bound to {node}" if node else "is pending"
