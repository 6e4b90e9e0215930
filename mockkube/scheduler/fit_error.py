"""A pod that no node takes: who refused it, and how that is told.

upstream 1.36: pkg/scheduler/framework/types.go
"""

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Final

from mockkube.scheduler.framework.interface import Remedy, Verdicts
from mockkube.scheduler.framework.status import SUCCESS, Code, Status

_REFUSALS: Final = (Code.UNSCHEDULABLE, Code.UNRESOLVABLE, Code.PENDING)
NO_NODES: Final = "no nodes available to schedule pods"


@dataclass(frozen=True, slots=True)
class Rejectors:
    """The plugins that refused a pod: until something helps, or (`pending`) until something outside has happened."""

    refused: frozenset[str] = frozenset()
    pending: frozenset[str] = frozenset()

    @classmethod
    def of(cls, answers: Collection[tuple[str, Code]], narrowed_by: Collection[str] = ()) -> "Rejectors":
        """Return those who refused, of who answered what, and those who left nodes out beforehand."""
        refused = {plugin for plugin, code in answers if plugin and code in _REFUSALS}
        pending = {plugin for plugin, code in answers if plugin and code is Code.PENDING}
        return cls(frozenset(refused.union(narrowed_by)), frozenset(pending))


@dataclass(frozen=True, slots=True)
class Refusal:
    """A pod is refused by every node there is."""

    nodes: int
    verdicts: Verdicts = field(default_factory=lambda: Verdicts({}))
    for_all: str = ""
    """What a plugin said of the pod itself, before any node was looked at."""
    rejectors: Rejectors = field(default_factory=Rejectors)
    remedy: Remedy | None = None

    @property
    def message(self) -> str:
        """The text that users see."""
        if not self.nodes:
            return NO_NODES
        text = f" {self.for_all}." if self.for_all else told(self.verdicts, self.nodes)
        remedy = self.remedy.status.message if self.remedy else ""
        return f"0/{self.nodes} nodes are available:{text}{f' {remedy}' if remedy else ''}"


def told(verdicts: Verdicts, nodes: int) -> str:
    """Return the reasons with how many nodes each holds for, sorted as text."""
    reasons: Counter[str] = Counter()
    counted = verdicts.counted
    if counted is None:
        counted = Counter([status.reasons for status in verdicts.by_node.values()])
    for several, count in counted.items():
        for reason in several:
            reasons[reason] += count
    absent = nodes - len(verdicts.by_node)
    if absent > 0:
        for reason in verdicts.absent.reasons:
            reasons[reason] += absent
    texts = sorted(f"{count} {reason}" for reason, count in reasons.items())
    return f" {', '.join(texts)}." if texts else ""


def on_one_node(node_name: str, status: Status) -> Refusal:
    """Return the refusal of a pod by the node that had been chosen for it."""
    assert status is not SUCCESS, "a success refuses nothing"
    return Refusal(1, Verdicts({node_name: status}), rejectors=Rejectors.of([(status.plugin, status.code)]))
