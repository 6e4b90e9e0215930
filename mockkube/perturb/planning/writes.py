"""Writes of the reference run, as perturbations select them."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from mockkube.lazy_dataclasses import dataclass
from mockkube.perturb.perturbation import WriteMatch
from mockkube.perturb.recorder import USER, ControllerRequest, RunRecord
from mockkube.perturb.workload import Workload

# Of writes that are alike, the first so many are tried, and the last one.
_ALIKE_MAX: Final = 3
_CREATED_ALIKE_MAX: Final = 4


@dataclass(frozen=True, slots=True)
class PlannedWrite:
    """One successful write of the controller in the reference run."""

    step: int
    match: WriteMatch
    is_conditional: bool

    @property
    def slug(self) -> str:
        """Part of an identifier."""
        parts = (self.match.verb, self.match.resource.replace("/", "-"), self.match.name, str(self.match.number))
        return "-".join(filter(None, parts))


def list_writes(record: RunRecord, workload: Workload) -> list[PlannedWrite]:
    """Return the writes that perturbations are tried on, in their order."""
    users = {one.name: one.user for one in workload.processes}
    generated = {one.identity.name for one in record.changes if one.object["metadata"].get("generateName")}
    counts: Counter[tuple[WriteMatch, int]] = Counter()
    found: list[PlannedWrite] = []
    for request in _list_successful(record):
        match = _make_match(request, users[request.process], generated)
        counts[match, request.step] += 1
        numbered = replace(match, number=counts[match, request.step])
        found.append(PlannedWrite(request.step, numbered, request.is_conditional))
    return list(_thin_out(found))


def _list_successful(record: RunRecord) -> Iterator[ControllerRequest]:
    for one in record.requests:
        if one.process != USER and one.is_write and not one.is_noise and 0 < one.observed.status < 400:
            yield one


def _make_match(request: ControllerRequest, user: str, generated: set[str]) -> WriteMatch:
    observed = request.observed
    # A create names no object in its path, and generated names differ between runs.
    name = "" if observed.name in generated else observed.name
    return WriteMatch(request.process, user, observed.verb, request.resource, observed.namespace, name)


def _thin_out(writes: Sequence[PlannedWrite]) -> Iterator[PlannedWrite]:
    """Yield the first writes of those that are alike, and the last one."""
    totals = Counter((one.step, one.match.verb, one.match.resource, one.match.name) for one in writes)
    seen: Counter[tuple[int, str, str, str]] = Counter()
    for one in writes:
        alike = one.step, one.match.verb, one.match.resource, one.match.name
        seen[alike] += 1
        limit = _CREATED_ALIKE_MAX if one.match.verb == "create" else _ALIKE_MAX
        if seen[alike] <= limit or seen[alike] == totals[alike]:
            yield one
