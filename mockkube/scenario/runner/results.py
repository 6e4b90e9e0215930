"""Results of runs as plain data, for reports, tables and other processes."""

from collections.abc import Iterator, Sequence
from dataclasses import field
from enum import StrEnum
from typing import Any

from mockkube.cluster.execution.step_trace import StepTrace
from mockkube.lazy_dataclasses import dataclass
from mockkube.scenario.claims import Claim


class RunOutcome(StrEnum):
    """Outcome of a step or a run."""

    PASSED = "passed"
    # A check does not hold, or an operation was rejected.
    FAILED = "failed"
    # It took too long in real time, or the cluster never came to rest.
    TIMED_OUT = "timed out"
    # The cluster did not start.
    NOT_STARTED = "not started"
    # The file has an error that shows only while it runs, or there is a bug.
    BROKEN = "broken"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class StepResult:
    """Result of one step that was played or skipped."""

    verb: str
    description: str
    block: str
    line: int
    outcome: RunOutcome
    message: str
    # Seconds of the cluster's time.
    began_at: float
    ended_at: float
    log: tuple[str, ...] = ()
    # The arguments as they stand in the file.
    arguments: Any = None
    # Number of trace steps before it.
    trace_length: int = 0


@dataclass(frozen=True, slots=True)
class ComponentStart:
    """Version and gates of a component at the start of a run."""

    component: str
    version: str
    # Enabled gates among those that the run changes.
    gates: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TracedWrite:
    """One write to the store."""

    verb: str
    resource: str
    name: str
    # The change as a merge patch.
    difference: Any


@dataclass(frozen=True, slots=True)
class TracedStep:
    """One step of the trace: a worker's, or a request from outside."""

    number: int
    at: float
    worker: str
    writes: tuple[TracedWrite, ...]


@dataclass(frozen=True, slots=True)
class RunResult:
    """Result of one run: a scenario, a seed, a cell of its matrix."""

    scenario: str
    file: str
    seed: int
    cell: str
    outcome: RunOutcome
    message: str = ""
    steps: tuple[StepResult, ...] = ()
    claims: tuple[Claim, ...] = ()
    real_seconds: float = 0.0
    virtual_seconds: float = 0.0
    worker_steps: int = 0
    # Digest of the trace: byte-identical for identical runs.
    digest: str = ""
    # Number of steps in the file; those after a failure are not played.
    planned_steps: int = 0
    initial_components: tuple[ComponentStart, ...] = ()
    # The trace, if it was requested.
    traced_steps: tuple[TracedStep, ...] = ()
    trace: str = field(default="", repr=False)
    # Command line options needed to play it the same way.
    options: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """Name that distinguishes the run from the others."""
        return " ".join(filter(None, (self.scenario, f"[{self.cell}]" if self.cell else "", self._seeded)))

    @property
    def _seeded(self) -> str:
        return f"seed {self.seed}" if self.seed else ""


def read_trace(trace: StepTrace) -> Iterator[TracedStep]:
    """Yield the steps of a trace."""
    for step in trace:
        writes = (TracedWrite(one.verb, one.resource, one.name, one.compute_difference()) for one in step.writes)
        yield TracedStep(step.number, step.at, step.worker, tuple(writes))


def worst_outcome(results: Sequence[RunResult]) -> RunOutcome:
    """Return the worst outcome of some runs."""
    # Passed ranks above skipped here: a file with one skipped run has still been played.
    order = (
        RunOutcome.BROKEN,
        RunOutcome.NOT_STARTED,
        RunOutcome.TIMED_OUT,
        RunOutcome.FAILED,
        RunOutcome.PASSED,
        RunOutcome.SKIPPED,
    )
    return next((one for one in order if any(result.outcome is one for result in results)), RunOutcome.PASSED)
