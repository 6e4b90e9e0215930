"""Crashes: the controller is killed after a write, or while it rests, and starts again."""

from collections.abc import Iterator

from mockkube.perturb.perturbation import Perturbation
from mockkube.perturb.planning.writes import list_writes
from mockkube.perturb.recorder import RunRecord
from mockkube.perturb.workload import Workload

CRASH = "crash"
RESTART = "restart"


def plan_crashes(record: RunRecord, workload: Workload) -> Iterator[Perturbation]:
    """Yield a crash after each write: it has taken effect, but the controller does not learn it."""
    for write in list_writes(record, workload):
        yield Perturbation(
            id=f"{CRASH}/{write.step}/{write.slug}",
            kind=CRASH,
            step=write.step,
            text=f"{write.match.process} is killed after its {write.match}",
            kill_after=write.match,
        )


def plan_restarts(record: RunRecord, workload: Workload) -> Iterator[Perturbation]:
    """Yield a restart at the end of each step."""
    names = tuple(one.name for one in workload.processes)
    for step in record.steps[1:]:
        yield Perturbation(
            id=f"{RESTART}/{step.index}",
            kind=RESTART,
            step=step.index,
            text=f"the controller is killed while it rests after step {step.index} ({step.text})",
            kill_at_rest=names,
        )
