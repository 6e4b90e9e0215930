"""What is told of a pod: how far it comes, what stops it there, and which single change would take it further."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum

from mockkube.api.types import Object, ReadOnlyObject
from mockkube.client.protocol import Key
from mockkube.explain.scheduling import Explanation


class Stage(IntEnum):
    """How far a pod comes."""

    SCHEDULED = 1
    ADMITTED = 2
    KEPT = 3


@dataclass(frozen=True, slots=True)
class Obstacle:
    """What a pod does not get past."""

    stage: Stage
    component: str
    text: str
    detail: str = ""
    """What was compared."""
    taint: ReadOnlyObject | None = None
    missing: Mapping[str, int] = field(default_factory=dict)
    """How much there is too little of, by resource."""

    def told(self) -> str:
        """Return it in short."""
        return f"{self.component} {self.text}"


@dataclass(frozen=True, slots=True)
class Remedy:
    """A single change after which the pod comes further."""

    kind: str
    """`gate`, `version` or `running` of a component; or of an object: see `scheduler.why_changes.Edit`."""
    component: str
    """Whose gate or version; empty for objects."""
    change: str
    node: str
    """Where the pod would be."""
    but: str = ""
    """What would stop it then."""

    def as_json(self) -> Object:
        """Return it for programs."""
        told = {"kind": self.kind, "component": self.component, "change": self.change, "node": self.node}
        return {**told, "but": self.but}


@dataclass(frozen=True, slots=True)
class Finding:
    """What stops a pod, and the single changes that would take it further."""

    obstacle: Obstacle | None = None
    remedies: Sequence[Remedy] = ()


@dataclass(frozen=True, slots=True)
class Account:
    """The whole answer."""

    pod: Key
    state: str
    """What has become of the pod."""
    fate: str
    """The same in a word: see `happened.Fate`; empty if nobody knows."""
    gone: bool
    deeds: Sequence[str]
    """Who did that, and why."""
    obstacle: Obstacle | None
    """What would stop the pod if all decided again now."""
    scheduling: Explanation
    notes: Sequence[str]
    """What else there is to know: components that do not run, fields that were lost."""
    remedies: Sequence[Remedy]
    events: Sequence[str]

    def as_json(self) -> Object:
        """Return it for programs."""
        obstacle = self.obstacle
        told = self.scheduling.as_json()
        return {
            "pod": told["pod"],
            "state": self.state,
            "fate": str(self.fate),
            "gone": self.gone,
            "deeds": list(self.deeds),
            "obstacle": None if obstacle is None else _stop(obstacle),
            **{name: told[name] for name in ("decision", "node", "nodes", "scores")},
            "notes": list(self.notes),
            "whatIf": [one.as_json() for one in self.remedies],
            "events": list(self.events),
        }


def _stop(obstacle: Obstacle) -> Object:
    told = {"stage": obstacle.stage.name.capitalize(), "component": obstacle.component, "reason": obstacle.text}
    return {**told, "detail": obstacle.detail}
