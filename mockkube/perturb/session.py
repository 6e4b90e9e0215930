"""A session: reference runs, then perturbations within a time limit; findings are confirmed.

Each perturbation has a run of its own if there is time for that. Otherwise several share one, each in other steps, and
are tried again by themselves when something is wrong.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import field, replace
from typing import Final

from mockkube.cluster.configuration.errors import ConfigurationError
from mockkube.lazy_dataclasses import dataclass
from mockkube.perturb.capacity import ProcessorTimes, count_jobs
from mockkube.perturb.differences import is_ignored
from mockkube.perturb.findings import Finding, Problem, find_problems
from mockkube.perturb.normalization import IgnoredPath
from mockkube.perturb.perturbation import SEPARATOR, Perturbation, combine
from mockkube.perturb.perturbation_queue import PerturbationQueue
from mockkube.perturb.planning.catalogue import plan_perturbations
from mockkube.perturb.recorder import RunRecord
from mockkube.perturb.reference import QUIET_SECONDS_MAX, Reference
from mockkube.perturb.workload import QUIET_SECONDS, Workload
from mockkube.perturb.workload_run import RunPlan, play_workload
from mockkube.runtime.clock import Clock

# Parts of a run besides playing the workload, and runs that take longer: what the estimate of all runs is raised by.
_ESTIMATE_FACTOR: Final = 1.2
# How often the undisturbed runs are played again, each time waiting this much longer for rest, if they seem to have
# been judged before the controller was done: on a busy machine it may pause for longer than in the first run.
_ATTEMPTS_MAX: Final = 2
_QUIET_FACTOR: Final = 2.0
_ADDRESS_IN_USE: Final = "address already in use"
_PORT_REMEDY: Final = "a port is taken: let the controller listen at port 0, or run one at a time with --jobs 1"


@dataclass(frozen=True, slots=True)
class SessionOptions:
    """Choices of the caller."""

    seconds_max: float = 600.0
    # None: as many as the processors bear, by the first undisturbed run.
    jobs: int | None = None
    references: int = 3
    seed: int = 0
    # Identifiers of the perturbations to try; empty: all.
    only: tuple[str, ...] = ()
    # Whether each perturbation has a run of its own, even if there is not time for all.
    one_by_one: bool = False
    # Command of the controller on the command line, to repeat it.
    command: tuple[str, ...] = ()


@dataclass(slots=True)
class PerturbationResult:
    """Result of one perturbation."""

    perturbation: Perturbation
    record: RunRecord
    finding: Finding | None = None
    # Why the workload takes the finding for right; then it is not in `finding`.
    known_reason: str = ""

    @property
    def is_reached(self) -> bool:
        """True if the perturbation has happened."""
        return all(one.id in self.record.reached for one in self.perturbation.list_parts())


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
    # Runs with perturbations, without those that repeat a finding.
    runs: int = 0
    seconds: float = 0.0

    @property
    def known(self) -> dict[str, list[str]]:
        """Identifiers of perturbations whose findings the workload takes for right, by the reason."""
        reasons: dict[str, list[str]] = {}
        for one in self.results:
            if one.known_reason:
                reasons.setdefault(one.known_reason, []).append(one.perturbation.id)
        return reasons

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


PlayWorkload = Callable[[RunPlan, Clock], Awaitable[RunRecord]]


async def run_session(
    workload: Workload,
    options: SessionOptions,
    clock: Clock,
    on_progress: OnProgress,
    play: PlayWorkload = play_workload,
) -> SessionResult:
    """Run a session; ConfigurationError if the workload cannot be played undisturbed."""
    return await _Session(workload, options, clock, on_progress, play).run()


class _Session:
    """A session in progress."""

    def __init__(
        self,
        workload: Workload,
        options: SessionOptions,
        clock: Clock,
        on_progress: OnProgress,
        play: PlayWorkload,
    ) -> None:
        self._play_workload = play
        self._workload, self._options, self._clock, self._on_progress = workload, options, clock, on_progress
        self._began = clock.monotonic()
        self._jobs = options.jobs or 1
        self._queue = PerturbationQueue(())
        self._total = 0
        self._combines = False
        self._undisturbed_count = 0
        # Findings so far, with those that turned out to be nondeterminism.
        self._suspicions = 0

    async def run(self) -> SessionResult:
        """Play the reference runs, then the perturbations."""
        self._result = SessionResult(self._workload, self._options, await self._play_references())
        self._check_references()
        if self._result.reference.last.endless_writes:
            # Without rest there is no state to compare with.
            self._result.seconds = self._clock.monotonic() - self._began
            return self._result
        planned = self._choose(plan_perturbations(self._result.reference.last, self._workload))
        self._queue, self._total = PerturbationQueue(planned), len(planned)
        is_single = bool(self._options.only) or self._options.one_by_one
        self._combines = not is_single and not self._has_time_for(len(planned))
        self._report("")
        async with asyncio.TaskGroup() as group:
            for _ in range(self._jobs):
                group.create_task(self._work(), name="perturb")
        self._result.not_tried = list(self._queue)
        if any(one.finding is not None for one in self._result.results):
            await self._learn_more(2)
            self._leave_out_known()
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
        before = ProcessorTimes.read()
        first = await self._play(None, None)
        _check_record(first)
        used = ProcessorTimes.read().since(before)
        self._jobs = self._options.jobs or count_jobs(first.seconds, used, os.cpu_count() or 1)
        records = [first]
        if first.endless_writes:
            return Reference.from_records(records, self._workload)
        count = max(self._options.references, 1)
        learnt = replace(Reference.from_records(records, self._workload), records=())
        if count > 1:
            runs = "reference run 2" if count == 2 else f"reference runs 2 to {count}"
            self._on_progress(Progress(0, 0, 0, runs))
        records += await self._play_undisturbed(count - 1, learnt)
        reference = Reference.from_records(records, self._workload)
        for _ in range(_ATTEMPTS_MAX):
            if self._workload.quiet_seconds is not None or not _was_judged_early(reference):
                break
            quiet = max(learnt.quiet_seconds, QUIET_SECONDS) * _QUIET_FACTOR
            learnt = replace(learnt, quiet_seconds=min(quiet, QUIET_SECONDS_MAX))
            why = "they differ in whole objects" if reference.differs_in_objects else "the controller wrote nothing"
            runs = "reference run 1" if count == 1 else f"reference runs 1 to {count}"
            text = f"{runs} again, as {why}: each step until nothing happens for {learnt.quiet_seconds:.1f} s"
            self._on_progress(Progress(0, 0, 0, text))
            reference = Reference.from_records(await self._play_undisturbed(count, learnt), self._workload)
        return reference

    async def _play_undisturbed(self, count: int, learnt: Reference) -> list[RunRecord]:
        """Play the workload undisturbed so many times; one run that does not come to rest is the last."""
        records: list[RunRecord] = []
        while len(records) < count:
            width = min(self._jobs, count - len(records))
            async with asyncio.TaskGroup() as group:
                playing = [group.create_task(self._play(None, learnt)) for _ in range(width)]
            records += [task.result() for task in playing]
        for record in records:
            _check_record(record)
        # One that does not come to rest is the last one: then nothing else is tried.
        return sorted(records, key=lambda one: bool(one.endless_writes))

    def _check_references(self) -> None:
        """Note what is wrong without any perturbation."""
        for record in self._result.reference.records:
            problems = self._find_problems(record)
            if problems and not self._result.undisturbed:
                self._result.undisturbed.append(Finding(record, problems))

    def _find_problems(self, record: RunRecord) -> list[Problem]:
        """Return what is wrong with a run, without what is wrong undisturbed, too."""
        usual = {one.signature for finding in self._result.undisturbed for one in finding.problems}
        found = find_problems(record, self._result.reference, self._workload)
        return [one for one in found if one.signature not in usual]

    async def _learn_more(self, runs: int) -> None:
        """Play the workload undisturbed again, and drop what differs then, too.

        The runs are compared with the reference, and so have patience to get there: one that is judged too early would
        drop what a perturbation does.
        """
        async with asyncio.TaskGroup() as group:
            playing = [group.create_task(self._play(None, self._result.reference)) for _ in range(runs)]
        more = [one for one in (task.result() for task in playing) if not one.error and not one.endless_writes]
        # The last one stays the last: perturbations are chosen from it.
        *first, last = self._result.reference.records
        self._result.reference = Reference.from_records([*first, *more, last], self._workload)
        for result in self._result.results:
            self._drop_usual(result)

    def _drop_usual(self, result: PerturbationResult) -> None:
        """Leave out of a finding what differs between undisturbed runs, too; without anything left, it is none."""
        if (finding := result.finding) is None:
            return
        ignored = self._result.reference.ignored
        finding.problems = [one for one in finding.problems if not _is_usual(one, ignored)]
        if not finding.problems:
            self._result.dropped.append(finding)
            result.finding = None

    def _leave_out_known(self) -> None:
        """Leave out findings that the workload takes for right."""
        for result in self._result.results:
            known = self._workload.find_known(result.perturbation.id)
            if result.finding is not None and known is not None:
                result.finding, result.known_reason = None, known.reason

    async def _minimize(self) -> None:
        """Find out which steps the findings need, while there is time."""
        for finding in self._result.findings:
            if finding.record.perturbation is not None and not self._workload.chosen_steps:
                self._report(f"which steps {finding.id} needs")
                await self._minimize_finding(finding, finding.record.perturbation)

    async def _minimize_finding(self, finding: Finding, perturbation: Perturbation) -> None:
        """Leave out one step after the other, as long as the finding stays."""
        needed = frozenset(step.index for step in finding.record.steps[1:])
        disturbed = {step for one in perturbation.list_parts() for step in one.steps}
        for step in sorted(needed - {*disturbed, max(needed, default=0)}):
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
        return [combine([_find(part, known) for part in name.split(SEPARATOR)]) for name in self._options.only]

    async def _work(self) -> None:
        """Try one perturbation after the other, until none is left or the time is up."""
        while self._queue and self._has_time():
            taken = self._queue.take_together() if self._combines else (self._queue.take(),)
            if len(taken) == 1:
                self._add_result(await self._try_perturbation(taken[0]))
            else:
                await self._try_together(taken)

    def _add_result(self, result: PerturbationResult) -> None:
        self._result.results.append(result)
        found = "" if result.finding is None else f": {result.finding.problems[0]}"
        self._report(f"{result.perturbation.id}{found}")

    def _has_time(self) -> bool:
        spent = self._clock.monotonic() - self._began
        return bool(self._options.only) or spent + self._result.reference.seconds < self._options.seconds_max

    def _has_time_for(self, runs: int) -> bool:
        """Return whether so many runs probably fit into the time that is left."""
        spent = self._clock.monotonic() - self._began
        estimate = runs * self._result.reference.seconds * _ESTIMATE_FACTOR / self._jobs
        return spent + estimate < self._options.seconds_max

    async def _try_together(self, parts: Sequence[Perturbation]) -> None:
        """Try several perturbations in one run; those that may have caused a problem follow by themselves."""
        record = await self._play(combine(parts), self._result.reference)
        self._result.runs += 1
        last_step = record.steps[-1].index if self._find_problems(record) else None
        suspects = [one for one in parts if last_step is not None and one.step <= last_step]
        fine = [one for one in parts if last_step is None and one.id in record.reached]
        for one in fine:
            self._add_result(PerturbationResult(one, record))
        rest = [one for one in parts if one not in fine and one not in suspects]
        # An earlier one may have kept a later one from its occasion.
        self._queue.put_back(rest, alone=last_step is None)
        # The one of the step in which it went wrong is the first suspect.
        suspects.sort(key=lambda one: one.step)
        together = tuple(suspects)
        while suspects:
            result = await self._try_perturbation(suspects.pop())
            self._add_result(result)
            if result.finding is not None:
                self._queue.put_back(suspects, alone=False)
                return
        if together:
            # Shown with all of them, if it can be shown again: it needs more than one.
            result = await self._try_perturbation(combine(together))
            if result.finding is not None:
                self._add_result(result)

    async def _try_perturbation(self, perturbation: Perturbation) -> PerturbationResult:
        record = await self._play(perturbation, self._result.reference)
        self._result.runs += 1
        result = PerturbationResult(perturbation, record)
        problems = self._find_problems(record)
        if not problems:
            return result
        finding = result.finding = Finding(record, problems)
        if not self._queue.is_familiar(perturbation):
            again = await self._play(perturbation, self._result.reference)
            finding.attempts += 1
            finding.reproduced += bool(self._find_problems(again))
        self._suspicions += 1
        if self._suspicions.bit_count() == 1:
            # The first findings often are what varies anyway; the more there are, the less so.
            await self._learn_more(1)
        self._drop_usual(result)
        if result.finding is not None:
            self._queue.note_finding(perturbation)
        return result

    async def _play(
        self, perturbation: Perturbation | None, reference: Reference | None, workload: Workload | None = None
    ) -> RunRecord:
        if perturbation is None:
            self._undisturbed_count += 1
        number = self._undisturbed_count if perturbation is None else 0
        plan = RunPlan(workload or self._workload, self._options.seed, number, perturbation, reference)
        return await self._play_workload(plan, self._clock)


def _was_judged_early(reference: Reference) -> bool:
    """Return whether undisturbed runs differ in whole objects, or the controller did not write in any of them."""
    if reference.last.endless_writes:
        return False
    return reference.differs_in_objects or not any(one.has_controller_writes for one in reference.records)


def _check_record(record: RunRecord) -> None:
    if record.error:
        log = f"\nlast lines of the controller:\n{_get_tail(record.log)}" if record.log.strip() else ""
        remedy = f"\n{_PORT_REMEDY}" if _ADDRESS_IN_USE in record.log.lower() else ""
        raise ConfigurationError(f"the workload fails without any perturbation: {record.error}{log}{remedy}")


def _get_tail(log: str) -> str:
    return "\n".join(log.rstrip().splitlines()[-20:])


def _is_usual(problem: Problem, ignored: Sequence[IgnoredPath]) -> bool:
    return problem.difference is not None and is_ignored(problem.difference, ignored)


def _find(name: str, known: Mapping[str, Perturbation]) -> Perturbation:
    """Return a perturbation by its identifier."""
    if name not in known:
        from difflib import get_close_matches

        close = get_close_matches(name, known, n=3)
        remedy = f"did you mean {', '.join(close)}?" if close else "list them with --list"
        raise ConfigurationError(f"--only {name}: the controller gives no occasion for it: {remedy}")
    return known[name]
