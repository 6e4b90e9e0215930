"""States of a pod in order, and who deleted it."""

import re
from collections.abc import Iterator
from dataclasses import field
from typing import Any, Final

from mockkube.lazy_dataclasses import dataclass

_GENERATED_SUFFIX: Final = re.compile(r"-[a-z0-9]{5}$")
USER: Final = "the user"
_NODE: Final = re.compile(r" on \S+")


@dataclass(frozen=True, slots=True)
class PodState:
    """A state of a pod, and the column of the timeline in which it begins."""

    column: int
    text: str
    tone: str
    word: str


@dataclass(slots=True)
class PodStates:
    """States of one pod, and its deletion."""

    name: str
    from_snapshot: bool = False
    """Whether the pod existed when the timeline begins."""
    states: list[PodState] = field(default_factory=list)
    gone: int | None = None
    gone_at: float = 0.0
    end: str = ""

    def enter(self, column: int, text: str, tone: str, word: str) -> None:
        """Add a state, unless the pod is in it already."""
        # The first write of a deletion names who deletes the pod; later writes to it come from others.
        before = self.states[-1] if self.states else None
        if before is None or (before.text != text and not (before.word == word == "being deleted")):
            self.states.append(PodState(column, text, tone, word))

    def mark_deleted(self, column: int, at: float, *, by_user: bool) -> None:
        """Record that the pod is deleted."""
        self.gone, self.gone_at, self.end = column, at, "deleted by the user" if by_user else "gone"

    @property
    def signature(self) -> tuple[str, ...]:
        """States without names of pods and nodes: pods with equal signatures share a lane."""
        return (
            _GENERATED_SUFFIX.sub("", self.name.strip()),
            *(_NODE.sub("", one.text) for one in self.states),
            self.end,
        )

    def count_outcomes(self) -> Iterator[str]:
        """Yield the counters that the pod adds to: its last state, and whether it was evicted or failed before."""
        if self.from_snapshot:
            yield "there"
        yield "gone" if self.gone is not None else (self.states[-1].word if self.states else "Pending")
        words = {one.word for one in self.states}
        if "evicted" in words:
            yield "were evicted"
        if any(one.word == "Failed" for one in self.states):
            yield "were failed"


def describe_state(pod: dict[str, Any], *, by: str = "") -> tuple[str, str, str]:
    """Return the state of a pod: a text, its colour, and one word to count by."""
    status, node = pod.get("status") or {}, (pod.get("spec") or {}).get("nodeName", "")
    phase, at = status.get("phase", "Pending"), f" on {node}" if node else ""
    conditions = {one["type"]: one for one in status.get("conditions") or ()}
    if phase == "Failed":
        return f"Failed{at}: {status.get('reason', '')}".rstrip(": "), "bad", "Failed"
    # Checked before the deletion timestamp: an evicted pod gets the condition first and is deleted right after.
    disrupted = conditions.get("DisruptionTarget", {})
    if disrupted.get("status") == "True":
        return f"evicted{at}: {disrupted.get('reason', '')}".rstrip(": "), "bad", "evicted"
    if (pod.get("metadata") or {}).get("deletionTimestamp"):
        return f"being deleted{f' by {by}' if by else ''}{at}", "terminating", "being deleted"
    # Of a pod with a node, Pending means that its kubelet has not started it yet.
    if phase == "Pending" and not node:
        scheduled = conditions.get("PodScheduled", {})
        text = "Pending: unschedulable" if scheduled.get("reason") == "Unschedulable" else "Pending"
        return text, "wait", "Pending"
    return f"{phase}{at}", "good" if phase in ("Running", "Succeeded") else "wait", phase
