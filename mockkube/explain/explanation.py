"""Explanation of a pod: how far it gets, what stops it there, which single changes would help."""

from collections.abc import Mapping, Sequence
from dataclasses import field
from enum import IntEnum

from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.client.protocol import Key
from mockkube.explain.scheduling import SchedulingExplanation
from mockkube.lazy_dataclasses import dataclass


class PodProgress(IntEnum):
    """Progress of a pod: scheduled, admitted by the kubelet, kept on the node."""

    # The order of the values matters: a remedy counts only if the next obstacle is at a later stage.
    SCHEDULED = 1
    ADMITTED = 2
    KEPT = 3


@dataclass(frozen=True, slots=True)
class Obstacle:
    """A decision of a component that stops a pod."""

    stage: PodProgress
    component: str
    text: str
    # The facts that the component compared.
    detail: str = ""
    taint: ReadOnlyObject | None = None
    # Missing amounts by resource.
    missing: Mapping[str, int] = field(default_factory=dict)

    def describe(self) -> str:
        """Return component and decision in one line."""
        return f"{self.component} {self.text}"


@dataclass(frozen=True, slots=True)
class Remedy:
    """A single change after which the pod gets further, with the next obstacle."""

    # `gate`, `version` or `running` of a component; for objects see `object_changes.ObjectEdit`.
    kind: str
    # The component whose gate or version changes; empty for a change of an object.
    component: str
    change: str
    # The node where the pod would be.
    node: str
    # The next obstacle after this change; empty if there is none.
    but: str = ""

    def as_json(self) -> Object:
        """Return the remedy as JSON."""
        value = {"kind": self.kind, "component": self.component, "change": self.change, "node": self.node}
        return {**value, "but": self.but}


@dataclass(frozen=True, slots=True)
class ObstacleWithRemedies:
    """Obstacle of a pod, and the single changes that would take it further."""

    obstacle: Obstacle | None = None
    remedies: Sequence[Remedy] = ()


@dataclass(frozen=True, slots=True)
class PodExplanation:
    """The explanation of a pod."""

    pod: Key
    # State of the pod, in words.
    state: str
    # `pod_fate.PodFate` of the pod; empty if the pod is gone and its last state is unknown.
    fate: str
    gone: bool
    # Actions of components that led to this state, with their reasons.
    actions: Sequence[str]
    # What would stop the pod if every component decided again now.
    obstacle: Obstacle | None
    scheduling: SchedulingExplanation
    # Further facts: components that do not run, fields that were dropped.
    notes: Sequence[str]
    remedies: Sequence[Remedy]
    events: Sequence[str]

    def as_json(self) -> Object:
        """Return the explanation as JSON."""
        obstacle = self.obstacle
        scheduling = self.scheduling.as_json()
        return {
            "pod": scheduling["pod"],
            "state": self.state,
            "fate": str(self.fate),
            "gone": self.gone,
            "deeds": list(self.actions),
            "obstacle": None if obstacle is None else _obstacle_to_json(obstacle),
            **{name: scheduling[name] for name in ("decision", "node", "nodes", "scores")},
            "notes": list(self.notes),
            "whatIf": [one.as_json() for one in self.remedies],
            "events": list(self.events),
        }


def _obstacle_to_json(obstacle: Obstacle) -> Object:
    value = {"stage": obstacle.stage.name.capitalize(), "component": obstacle.component, "reason": obstacle.text}
    return {**value, "detail": obstacle.detail}
