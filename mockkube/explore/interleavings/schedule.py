"""Schedules: the order in which workers take their steps after an operator's action."""

from mockkube.explore.interleavings.accesses import Accesses
from mockkube.lazy_dataclasses import dataclass

# Workers that are none of a component: the operator's requests, and the passing of time.
OPERATOR: str = "operator"
CLOCK: str = "clock"


@dataclass(frozen=True, slots=True)
class Delay:
    """A worker that waits until nothing else can happen, and then until so much time has passed."""

    worker: str
    seconds: float = 0.0

    def __str__(self) -> str:
        return f"{self.worker} is {self.seconds:g} s late" if self.seconds else f"{self.worker} is last"


@dataclass(frozen=True, slots=True)
class Schedule:
    """The first steps of a run by their workers; from then on the default order applies, with one worker delayed."""

    workers: tuple[str, ...] = ()
    delay: Delay | None = None
    # How it differs from the default order, one change after the other: a pair of steps is reversed, a watch is late.
    changes: tuple[str, ...] = ()


DEFAULT_SCHEDULE: Schedule = Schedule()


@dataclass(frozen=True, slots=True)
class PlayedStep:
    """One step of a run."""

    worker: str
    # Seconds of virtual time since the window began.
    at: float
    accesses: Accesses
    # Workers that could have taken this step, too.
    ready: tuple[str, ...]
    # Writes in words, for traces.
    writes: tuple[str, ...] = ()
    # What the step processed: an event, a key, an action.
    subject: str = ""
    # Whether it goes on with a step that was divided before a request; the request is its subject.
    continues: bool = False
    # Why the API server rejected the operator's action.
    rejection: str = ""

    def describe(self) -> str:
        """Return the worker and what it processed."""
        return f"{self.worker} ({self.subject})" if self.subject else self.worker


@dataclass(frozen=True, slots=True)
class Break:
    """An invariant that a run broke."""

    invariant: str
    message: str
    # Number of steps until then.
    step: int


@dataclass(frozen=True, slots=True)
class PlayedSchedule:
    """Result of one run."""

    schedule: Schedule
    steps: tuple[PlayedStep, ...]
    breaks: tuple[Break, ...] = ()
    # False if a worker was not ready when its turn came.
    is_possible: bool = True
    # Error that ended the run: a livelock, or a component that failed.
    error: str = ""
