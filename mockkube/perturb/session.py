"""A session: reference runs, then one run for each perturbation, within a time limit; findings are confirmed."""

import asyncio
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import field, replace
from typing import Final

from mockkube.cluster.configuration.errors import ConfigurationError
from mockkube.lazy_dataclasses import dataclass
from mockkube.perturb.differences import is_ignored
from mockkube.perturb.findings import Finding, Problem, find_problems
from mockkube.perturb.normalization import IgnoredPath
from mockkube.perturb.perturbation import Perturbation
from mockkube.perturb.planning.catalogue import plan_perturbations
from mockkube.perturb.recorder import RunRecord
from mockkube.perturb.reference import Reference
from mockkube.perturb.workload import Workload
from mockkube.perturb.workload_run import RunPlan, play_workload
from mockkube.runtime.clock import Clock

# Findings of one cause after which other perturbations of the kind are tried first.
_ALIKE_MAX: Final = 2
_NUMBER: Final = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class SessionOptions:
    """Choices of the caller."""

    seconds_max: float = 600.0
    jobs: int = 2
    references: int = 3
    seed: int = 0
    # Identifiers of the perturbations to try; empty: all.
    only: tuple[str, ...] = ()
    # Command of the controller on the command line, to repeat it.
    command: tuple[str, ...] = ()


@dataclass(slots=True)
class PerturbationResult:
    """Result of one perturbation."""

    perturbation: Perturbation
    record: RunRecord
    finding: Finding | None = None


@dataclass(slots=True)
class SessionResult:
    """Results of a session."""

    workload: Workload
    options: SessionOptions
    reference: Reference
    results: list[PerturbationResult] = field(default_factory=list)
    # Findings of the reference runs.
    undisturbed: list[Finding] = field(default_factory=list)
    # Perturbations for which there was no time.
    not_tried: list[Perturbation] = field(default_factory=list)
    # Findings that turned out to be nondeterminism.
    dropped: list[Finding] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def findings(self) -> list[Finding]:
        """All findings, one for each cause, most reliable first."""
        merged: dict[str, Finding] = {}
        for finding in [*self.undisturbed, *(one.finding for one in self.results if one.finding is not None)]:
            first = merged.setdefault(finding.signature, finding)
            if first is not finding and finding.id not in first.alike:
                first.alike.append(finding.id)
        return sorted(merged.values(), key=lambda one: -one.reproduced / one.attempts)


@dataclass(frozen=True, slots=True)
class Progress:
    """Number of perturbations done, and of findings so far."""

    done: int
    total: int
    findings: int
    text: str


OnProgress = Callable[[Progress], None]


async def run_session(
    workload: Workload, options: SessionOptions, clock: Clock, on_progress: OnProgress
) -> SessionResult:
    """Run a session; ConfigurationError if the workload cannot be played undisturbed."""
    return await _Session(workload, options, clock, on_progress).run()


class _Session:
    """A session in progress."""

    def __init__(self, workload: Workload, options: SessionOptions, clock: Clock, on_progress: OnProgress) -> None:
        self._workload, self._options, self._clock, self._on_progress = workload, options, clock, on_progress
        self._began = clock.monotonic()
        self._pending: list[Perturbation] = []
        self._total = 0
        self._alike: Counter[str] = Counter()
        self._undisturbed_count = 0

    async def run(self) -> SessionResult:
        """Play the reference runs, then the perturbations."""
        self._result = SessionResult(self._workload, self._options, await self._play_references())
        self._check_references()
        planned = self._choose(plan_perturbations(self._result.reference.last, self._workload))
        self._pending, self._total = list(planned), len(planned)
        self._report("")
        async with asyncio.TaskGroup() as group:
            for _ in range(self._options.jobs):
                group.create_task(self._work(), name="perturb")
        self._result.not_tried = self._pending
        if any(one.finding is not None for one in self._result.results):
            await self._recheck()
            await self._minimize()
        self._result.seconds = self._clock.monotonic() - self._began
        return self._result

    def _report(self, text: str) -> None:
        findings = sum(one.finding is not None for one in self._result.results)
        self._on_progress(Progress(len(self._result.results), self._total, findings, text))

    # References

    async def _play_references(self) -> Reference:
        """Play the workload undisturbed: once to learn what rest is, then to learn what differs."""
        self._on_progress(Progress(0, 0, 0, "reference run 1"))
        first = await self._play(None, None)
        _check_record(first)
        records = [first]
        count = max(self._options.references, 1) - 1
        learnt = replace(Reference.from_records(records, self._workload), records=())
        if count:
            self._on_progress(Progress(0, 0, 0, f"reference runs 2 to {count + 1}"))
        while len(records) <= count:
            width = min(self._options.jobs, count + 1 - len(records))
            async with asyncio.TaskGroup() as group:
                playing = [group.create_task(self._play(None, learnt)) for _ in range(width)]
            records += [task.result() for task in playing]
        for record in records:
            _check_record(record)
        return Reference.from_records(records, self._workload)

    def _check_references(self) -> None:
        """Note what is wrong without any perturbation."""
        for record in self._result.reference.records:
            problems = find_problems(record, self._result.reference, self._workload)
            if problems and not self._result.undisturbed:
                self._result.undisturbed.append(Finding(record, problems))

    async def _recheck(self) -> None:
        """Play the workload undisturbed again, and drop what differs then, too."""
        before = self._result.reference
        async with asyncio.TaskGroup() as group:
            playing = [group.create_task(self._play(None, replace(before, records=()))) for _ in range(2)]
        more = [one for one in (task.result() for task in playing) if not one.error]
        after = Reference.from_records([*before.records, *more], self._workload)
        self._result.reference = after
        for one in self._result.results:
            if one.finding is not None:
                kept = [problem for problem in one.finding.problems if not _is_usual(problem, after.ignored)]
                if not kept:
                    self._result.dropped.append(one.finding)
                    one.finding = None
                else:
                    one.finding.problems = kept

    async def _minimize(self) -> None:
        """Find out which steps the findings need, while there is time."""
        for finding in self._result.findings:
            if finding.record.perturbation is not None and not self._workload.chosen_steps:
                self._report(f"which steps {finding.id} needs")
                await self._minimize_finding(finding, finding.record.perturbation)

    async def _minimize_finding(self, finding: Finding, perturbation: Perturbation) -> None:
        """Leave out one step after the other, as long as the finding stays."""
        needed = frozenset(step.index for step in finding.record.steps[1:])
        for step in sorted(needed - {perturbation.step, max(needed, default=0)}):
            if not self._has_time():
                return
            fewer = replace(self._workload, chosen_steps=needed - {step})
            undisturbed = await self._play(None, replace(self._result.reference, records=()), fewer)
            if undisturbed.error or undisturbed.endless_writes:
                continue
            reference = self._result.reference.with_record(undisturbed)
            record = await self._play(perturbation, reference, fewer)
            found = find_problems(record, reference, fewer)
            if {one.signature for one in found} & {one.signature for one in finding.problems}:
                finding.record, finding.problems, needed = record, found, needed - {step}
                finding.steps = sorted(needed)

    # Perturbations

    def _choose(self, planned: Sequence[Perturbation]) -> Sequence[Perturbation]:
        if not self._options.only:
            return planned
        known = {one.id: one for one in planned}
        for name in self._options.only:
            if name not in known:
                from difflib import get_close_matches

                close = get_close_matches(name, known, n=3)
                remedy = f"did you mean {', '.join(close)}?" if close else "list them with --list"
                raise ConfigurationError(f"--only {name}: the controller gives no occasion for it: {remedy}")
        return [known[name] for name in self._options.only]

    async def _work(self) -> None:
        """Try one perturbation after the other, until none is left or the time is up."""
        while self._pending and self._has_time():
            perturbation = self._take_next()
            result = await self._try_perturbation(perturbation)
            self._result.results.append(result)
            self._report(perturbation.id)

    def _has_time(self) -> bool:
        spent = self._clock.monotonic() - self._began
        return bool(self._options.only) or spent + self._result.reference.seconds < self._options.seconds_max

    def _take_next(self) -> Perturbation:
        """Return the next perturbation: first those whose like has not been found yet."""
        fresh = (index for index, one in enumerate(self._pending) if self._alike[_get_group(one)] < _ALIKE_MAX)
        return self._pending.pop(next(fresh, 0))

    async def _try_perturbation(self, perturbation: Perturbation) -> PerturbationResult:
        record = await self._play(perturbation, self._result.reference)
        result = PerturbationResult(perturbation, record)
        problems = find_problems(record, self._result.reference, self._workload)
        if not problems:
            return result
        finding = result.finding = Finding(record, problems)
        if self._alike[_get_group(perturbation)] < _ALIKE_MAX:
            again = await self._play(perturbation, self._result.reference)
            finding.attempts += 1
            finding.reproduced += bool(find_problems(again, self._result.reference, self._workload))
        self._alike[_get_group(perturbation)] += 1
        return result

    async def _play(
        self, perturbation: Perturbation | None, reference: Reference | None, workload: Workload | None = None
    ) -> RunRecord:
        if perturbation is None:
            self._undisturbed_count += 1
        number = self._undisturbed_count if perturbation is None else 0
        plan = RunPlan(workload or self._workload, self._options.seed, number, perturbation, reference)
        return await play_workload(plan, self._clock)


def _check_record(record: RunRecord) -> None:
    if record.error:
        log = f"\nlast lines of the controller:\n{_get_tail(record.log)}" if record.log.strip() else ""
        raise ConfigurationError(f"the workload fails without any perturbation: {record.error}{log}")


def _get_tail(log: str) -> str:
    return "\n".join(log.rstrip().splitlines()[-20:])


def _is_usual(problem: Problem, ignored: Sequence[IgnoredPath]) -> bool:
    return problem.difference is not None and is_ignored(problem.difference, ignored)


def _get_group(perturbation: Perturbation) -> str:
    """Return what perturbations have in common that probably show the same."""
    return _NUMBER.sub("", perturbation.id)
