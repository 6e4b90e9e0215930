"""What came of a run, as reports, tables and other processes get it: plain data."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from mockkube.cluster.trace import Trace
from mockkube.scenario.claims import Claim


class Outcome(StrEnum):
    """How a step or a run ended."""

    PASSED = "passed"
    FAILED = "failed"
    """A claim does not hold, or something was refused."""
    TIMED_OUT = "timed out"
    """It took too long in real time, or the cluster never came to rest."""
    NOT_STARTED = "not started"
    """The cluster did not start."""
    BROKEN = "broken"
    """It could not be played: what the file says cannot be meant, or there is a bug."""
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class StepResult:
    """One step that was played or skipped."""

    verb: str
    description: str
    block: str
    line: int
    outcome: Outcome
    message: str
    began: float
    """Seconds of the cluster's time."""
    ended: float
    log: tuple[str, ...] = ()
    arguments: Any = None
    """What it was told, as it stands in the file."""
    moment: int = 0
    """How many moments of the story there were before it."""


@dataclass(frozen=True, slots=True)
class Began:
    """What a component is told when a run begins."""

    component: str
    version: str
    gates: tuple[str, ...]
    """Those that are on, of those that the run is about."""


@dataclass(frozen=True, slots=True)
class WriteTold:
    """One write to the store."""

    verb: str
    resource: str
    name: str
    difference: Any
    """What is new, as a merge patch."""


@dataclass(frozen=True, slots=True)
class Moment:
    """One step of a worker, or what was done from outside."""

    number: int
    at: float
    worker: str
    writes: tuple[WriteTold, ...]


@dataclass(frozen=True, slots=True)
class RunResult:
    """One run: a scenario, a seed, a cell of its matrix."""

    scenario: str
    file: str
    seed: int
    cell: str
    outcome: Outcome
    message: str = ""
    steps: tuple[StepResult, ...] = ()
    claims: tuple[Claim, ...] = ()
    real_seconds: float = 0.0
    virtual_seconds: float = 0.0
    worker_steps: int = 0
    digest: str = ""
    """Of the trace: the same for the same run, to the byte."""
    planned: int = 0
    """How many steps are written; those that follow a failure are not played."""
    began: tuple[Began, ...] = ()
    story: tuple[Moment, ...] = ()
    """All that happened, if it was asked for."""
    trace: str = field(default="", repr=False)
    options: tuple[str, ...] = ()
    """What the command line says of how it was played, if that is not the usual way."""

    @property
    def title(self) -> str:
        """Return what tells it from the others."""
        return " ".join(filter(None, (self.scenario, f"[{self.cell}]" if self.cell else "", self._seeded)))

    @property
    def _seeded(self) -> str:
        return f"seed {self.seed}" if self.seed else ""


def story_of(trace: Trace) -> Iterator[Moment]:
    """Return all that happened, for those who show it."""
    for step in trace:
        writes = (WriteTold(one.verb, one.resource, one.name, one.difference()) for one in step.writes)
        yield Moment(step.number, step.at, step.worker, tuple(writes))


def worst(results: Sequence[RunResult]) -> Outcome:
    """Return the worst way in which any of them ended."""
    order = (Outcome.BROKEN, Outcome.NOT_STARTED, Outcome.TIMED_OUT, Outcome.FAILED, Outcome.PASSED, Outcome.SKIPPED)
    return next((one for one in order if any(result.outcome is one for result in results)), Outcome.PASSED)
