"""Accesses of a step: what it read and wrote, as names of objects, cached objects and private memory."""

from collections.abc import Iterable
from dataclasses import field

from mockkube.lazy_dataclasses import dataclass

# Enabler of a step that was ready from the start.
NOBODY = -1


@dataclass(slots=True)
class Accesses:
    """Names of what one step read and wrote.

    `touched` are collections whose content the step changed (all pods, the pods of a node): a step that reads the
    collection depends on it, while two steps that change different members do not depend on each other.
    """

    read: set[str] = field(default_factory=set)
    written: set[str] = field(default_factory=set)
    touched: set[str] = field(default_factory=set)
    # Number of the step without which this one could not have been taken; NOBODY if it was ready from the start.
    enabler: int = NOBODY

    def conflicts_with(self, other: "Accesses") -> bool:
        """Return whether the order of the two steps may matter."""
        return not (
            self.written.isdisjoint(other.written)
            and self.written.isdisjoint(other.read)
            and self.read.isdisjoint(other.written)
            and self.touched.isdisjoint(other.read)
            and self.read.isdisjoint(other.touched)
        )


class AccessRecorder:
    """Recorder of the accesses of the step that is being taken."""

    def __init__(self) -> None:
        self.current = Accesses()
        # Number of the current step, and what it processes: an event, the key of an item.
        self.number = NOBODY
        self.subject = ""
        # Between steps, workers are asked whether they are ready, which is no step's read.
        self._is_in_step = False
        # Number of the step that made an item of a queue ready, until a step takes the item.
        self._enablers: dict[str, int] = {}
        # Number of the step that wrote a revision.
        self._writers: dict[int, int] = {}

    def start_step(self, number: int) -> None:
        """Start to record a step."""
        self.current, self.number, self.subject = Accesses(), number, ""
        self._is_in_step = True

    def end_step(self) -> None:
        """Record no more reads; what becomes due until the next step is still this one's doing."""
        self._is_in_step = False

    def read(self, name: str) -> None:
        """Record that the step read something."""
        if self._is_in_step:
            self.current.read.add(name)

    def write(self, name: str, collections: Iterable[str] = ()) -> None:
        """Record that the step changed something, which belongs to these collections."""
        self.current.written.add(name)
        self.current.touched.update(collections)

    def record_revision(self, revision: int) -> None:
        """Record that the step wrote a revision of the store."""
        self._writers[revision] = self.number

    def record_delivery(self, revision: int) -> None:
        """Record that the step delivers the event of a revision."""
        self._set_enabler(self._writers.get(revision, NOBODY))

    def record_added(self, item: str) -> None:
        """Record that the step added an item to a queue that did not have it."""
        self._enablers[item] = self.number

    def record_taken(self, item: str) -> None:
        """Record that the step takes an item from a queue."""
        self._set_enabler(self._enablers.pop(item, NOBODY))

    def _set_enabler(self, number: int) -> None:
        if number != self.number:
            self.current.enabler = max(self.current.enabler, number)
