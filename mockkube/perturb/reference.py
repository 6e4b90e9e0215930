"""Reference: what undisturbed runs have in common, and what a disturbed one is compared with."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise, takewhile
from typing import Final

from mockkube.lazy_dataclasses import dataclass
from mockkube.perturb.differences import StateDifference, compare_states, to_ignored_path
from mockkube.perturb.normalization import (
    WHOLE,
    IgnoredPath,
    NamePattern,
    State,
    find_name_prefix,
    is_ignored_object,
    normalize,
)
from mockkube.perturb.recorder import USER, RunRecord
from mockkube.perturb.workload import QUIET_SECONDS, Workload

QUIET_SECONDS_MIN: Final = 0.6
QUIET_SECONDS_MAX: Final = 10.0
# Longest pause between two activities of a step, times this, is taken for rest.
_QUIET_FACTOR: Final = 1.5
_ERROR_MIN: Final = 400


@dataclass(frozen=True, slots=True)
class Reference:
    """Reference runs, and what is learnt from them."""

    records: Sequence[RunRecord]
    # Names, and fields, that differ between the runs.
    patterns: Sequence[NamePattern]
    learnt: Sequence[IgnoredPath]
    # Normalized states at the end of each step, one for each run.
    states: Mapping[int, Sequence[State]]
    ignored: Sequence[IgnoredPath]
    quiet_seconds: float
    expected_watches: frozenset[str]
    # How many objects the controller deletes at most, by resource and name.
    deletions: Counter[str]

    @classmethod
    def from_records(cls, records: Sequence[RunRecord], workload: Workload) -> "Reference":
        """Learn from undisturbed runs."""
        patterns = tuple(_learn_name_patterns(records))
        states = _normalize_steps(records, patterns)
        learnt = tuple(_learn_ignored_paths(states, workload.ignored))
        deletions: Counter[str] = Counter()
        for record in records:
            deletions |= count_deletions(record, patterns)
        return cls(
            records,
            patterns,
            learnt,
            states,
            (*workload.ignored, *learnt),
            workload.quiet_seconds or _learn_quiet_seconds(records),
            frozenset.intersection(*(record.watched for record in records)) if records else frozenset(),
            deletions,
        )

    @property
    def last(self) -> RunRecord:
        """Last of the runs, from which perturbations are chosen."""
        return self.records[-1]

    @property
    def differs_in_objects(self) -> bool:
        """True if the runs differ in whole objects, not only in fields."""
        return any(one.path == WHOLE for one in self.learnt)

    def with_record(self, record: RunRecord) -> "Reference":
        """Return the reference for fewer steps: an undisturbed run of them, with what is learnt from all."""
        states = _normalize_steps([record], self.patterns)
        deletions = count_deletions(record, self.patterns)
        return replace(self, records=[record], states=states, deletions=deletions)

    def compare(self, step: int, state: State) -> list[StateDifference]:
        """Return what differs from the reference run that the state is closest to; empty if it equals one."""
        found = [compare_states(expected, state, self.ignored) for expected in self.states.get(step, ())]
        return min(found, key=len, default=[])

    @property
    def seconds(self) -> float:
        """Time that one run takes."""
        return max((record.seconds for record in self.records), default=0.0)


def _normalize_steps(records: Sequence[RunRecord], patterns: Sequence[NamePattern]) -> dict[int, list[State]]:
    states: dict[int, list[State]] = defaultdict(list)
    for record in records:
        for step in record.steps:
            states[step.index].append(normalize(step.objects, patterns))
    return states


def _learn_name_patterns(records: Sequence[RunRecord]) -> dict[NamePattern, None]:
    """Return patterns of names that only one run has, with a common prefix."""
    learnt: dict[NamePattern, None] = {}
    for first, second in pairwise(records):
        for one, other in zip(first.steps, second.steps, strict=False):
            old, new = normalize(one.objects), normalize(other.objects)
            added = [identity for identity in new if identity not in old and "#" not in identity.name]
            for identity in (one for one in old if one not in new and "#" not in one.name):
                alike = [one.name for one in added if one[:2] == identity[:2]]
                prefix = max((_find_common_prefix(identity.name, name) for name in alike), key=len, default="")
                if prefix:
                    learnt[NamePattern(identity.resource, identity.namespace, prefix)] = None
    return learnt


def _find_common_prefix(one: str, other: str) -> str:
    """Return the common beginning of two names up to a separator."""
    common = "".join(first for first, _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
    return common[: max(common.rfind("-"), common.rfind(".")) + 1]


def _learn_ignored_paths(
    states: Mapping[int, Sequence[State]], known: Sequence[IgnoredPath]
) -> dict[IgnoredPath, None]:
    learnt: dict[IgnoredPath, None] = {}
    for expected, *others in states.values():
        for found in others:
            for difference in compare_states(expected, found, known):
                learnt[to_ignored_path(difference)] = None
    return learnt


def _learn_quiet_seconds(records: Sequence[RunRecord]) -> float:
    """Return how long nothing has to happen before the controller rests."""
    longest = 0.0
    for record in records:
        for step in record.steps[1:]:
            moments = sorted(
                [
                    *(one.at for one in record.changes if one.has_new_content and step.began_at <= one.at),
                    *(one.at for one in record.requests if one.is_write and one.process != USER),
                    step.began_at,
                ]
            )
            inside = [at for at in moments if step.began_at <= at <= step.ended_at]
            longest = max([longest, *(after - before for before, after in pairwise(inside))])
    if not records:
        return QUIET_SECONDS
    return min(max(_QUIET_FACTOR * longest, QUIET_SECONDS_MIN), QUIET_SECONDS_MAX)


def count_deletions(record: RunRecord, patterns: Sequence[NamePattern]) -> Counter[str]:
    """Return how many objects the controller has deleted, by resource and name or generated name."""
    uids: dict[str, set[str]] = {}
    last = {}
    changes = iter(record.changes)
    change = next(changes, None)
    for request in record.requests:
        while change is not None and change.revision <= request.revision:
            last[change.identity] = change
            change = next(changes, None)
        observed = request.observed
        if request.process == USER or observed.verb != "delete" or not 0 < observed.status < _ERROR_MIN:
            continue
        for identity, seen in last.items():
            if (identity.resource, identity.namespace, identity.name) == (
                request.resource,
                observed.namespace,
                observed.name,
            ):
                prefix = find_name_prefix(identity, seen.object, patterns)
                name = f"{prefix}*" if prefix else identity.name
                uids.setdefault(f"{identity.resource} {identity.namespace}/{name}", set()).add(seen.uid)
    return Counter({name: len(found) for name, found in uids.items()})


def list_writes_per_second(
    record: RunRecord, since: float, until: float, ignored: Sequence[IgnoredPath]
) -> list[tuple[str, float]]:
    """Return the rates of the controller's writes in a span of time, busiest first; not of ignored objects."""
    writes = (one for one in record.requests if one.process != USER and one.is_write and not one.is_noise)
    counts = Counter(
        f"{one.observed.verb} {one.resource} {one.name}".strip()
        for one in writes
        if since <= one.at <= until and not is_ignored_object(one.identity, ignored)
    )
    return [(name, count / max(until - since, 0.1)) for name, count in counts.most_common()]
