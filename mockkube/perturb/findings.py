"""Findings: what is wrong with a run, by comparison with the reference."""

from collections.abc import Iterator, Sequence
from dataclasses import field
from enum import StrEnum

from mockkube.lazy_dataclasses import dataclass
from mockkube.perturb.differences import DifferenceKind, StateDifference
from mockkube.perturb.recorder import RunRecord
from mockkube.perturb.reference import Reference, count_deletions
from mockkube.perturb.workload import Workload


class ProblemKind(StrEnum):
    """Kind of a problem: which oracle has found it."""

    LOST = "object lost"
    LEAKED = "object leaked"
    CHANGED = "state differs"
    DELETED = "deletes too much"
    ENDLESS = "writes never end"
    INVARIANT = "invariant broken"
    FORBIDDEN = "forbidden state"
    FAILED = "fails"


_DIFFERENCES = {
    DifferenceKind.LOST: ProblemKind.LOST,
    DifferenceKind.LEAKED: ProblemKind.LEAKED,
    DifferenceKind.CHANGED: ProblemKind.CHANGED,
}


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with a run."""

    kind: ProblemKind
    text: str
    # Equal for problems that probably have one cause.
    signature: str
    # The difference from the reference; None for other problems.
    difference: StateDifference | None = None

    def __str__(self) -> str:
        return f"{self.kind}: {self.text}"


@dataclass(slots=True)
class Finding:
    """A perturbation that the controller does not recover from, with the run that shows it."""

    record: RunRecord
    problems: Sequence[Problem]
    # How often the perturbation was tried, and had such a result.
    attempts: int = 1
    reproduced: int = 1
    # Numbers of the steps that show it, if fewer than all before it do.
    steps: Sequence[int] = ()
    # Other perturbations with the same result.
    alike: list[str] = field(default_factory=list)

    @property
    def id(self) -> str:
        """Identifier of the perturbation; `undisturbed` without one."""
        return "undisturbed" if self.record.perturbation is None else self.record.perturbation.id

    @property
    def text(self) -> str:
        """Description of the perturbation."""
        return "without any perturbation" if self.record.perturbation is None else self.record.perturbation.text

    @property
    def signature(self) -> str:
        """Text that is equal for findings that probably have one cause."""
        kind = "" if self.record.perturbation is None else self.record.perturbation.kind
        return "; ".join([kind, *sorted({one.signature for one in self.problems})])


def find_problems(record: RunRecord, reference: Reference, workload: Workload) -> list[Problem]:
    """Return what is wrong with a run, lost and leaked objects before fields that differ."""
    return sorted(_find_problems(record, reference, workload), key=lambda one: one.kind is ProblemKind.CHANGED)


def _find_problems(record: RunRecord, reference: Reference, workload: Workload) -> Iterator[Problem]:
    if record.error:
        yield Problem(ProblemKind.FAILED, record.error, record.error)
    for difference in record.differences:
        yield Problem(_DIFFERENCES[difference.kind], str(difference), difference.signature, difference)
    for text in record.endless_writes:
        yield Problem(ProblemKind.ENDLESS, text, f"endless {text.partition(':')[0]}")
    for text in record.failed_invariants:
        yield Problem(ProblemKind.INVARIANT, text, text.partition("\n")[0])
    for name, count in count_deletions(record, reference.patterns).items():
        usual = reference.deletions[name]
        if record.perturbation is not None and count > usual:
            text = f"deletes {count} of {name}; undisturbed {usual or 'none'}"
            yield Problem(ProblemKind.DELETED, text, f"deletes {name}")
    for forbidden in workload.never:
        found = next((one for one in record.changes if not one.is_deletion and forbidden.matches(one.object)), None)
        if found is not None:
            yield Problem(ProblemKind.FORBIDDEN, f"{found.identity} was as it must never be", f"never {found.identity}")
    messages = [step for step in record.steps if step.message]
    if messages and not record.differences:
        step = messages[0]
        yield Problem(ProblemKind.FAILED, f"step {step.index} ({step.text}): {step.message}", f"step {step.index}")
