"""Errors of requests: before or after they take effect, conflicts, throttling, failed reads, slow answers."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from mockkube.perturb.perturbation import Perturbation, make_fault
from mockkube.perturb.planning.writes import PlannedWrite, list_writes
from mockkube.perturb.recorder import USER, RunRecord
from mockkube.perturb.workload import Workload

ERROR = "error"
TIMEOUT = "timeout"
CONFLICT = "conflict"
THROTTLE = "throttle"
READ_ERROR = "read-error"
SLOW = "slow"
_ERROR: Final = {"status": {"code": 500, "reason": "InternalError", "message": "etcdserver: request timed out"}}
_TIMEOUT: Final = {
    "status": {"code": 504, "reason": "Timeout", "message": "Timeout: request did not complete within the timeout"},
    "afterEffect": True,
}
# Time for the other client to be first.
_CONFLICT: Final = {"delaySeconds": 0.3}
_THROTTLE: Final = {
    "status": {"code": 429, "reason": "TooManyRequests", "message": "too many requests", "retryAfterSeconds": 1}
}
_SLOW_SECONDS: Final = 2.0


def plan_timeouts(record: RunRecord, workload: Workload) -> Iterator[Perturbation]:
    """Yield a timeout of each write, which takes effect all the same."""
    for write in list_writes(record, workload):
        yield _make(TIMEOUT, write, _TIMEOUT, "takes effect, but is answered with a timeout")


def plan_errors(record: RunRecord, workload: Workload) -> Iterator[Perturbation]:
    """Yield a failure of each write."""
    for write in list_writes(record, workload):
        yield _make(ERROR, write, _ERROR, "is answered with error 500")


def plan_conflicts(record: RunRecord, workload: Workload) -> Iterator[Perturbation]:
    """Yield a conflict of each write that demands a resourceVersion."""
    for write in list_writes(record, workload):
        if write.is_conditional and write.match.verb in ("update", "patch"):
            one = _make(CONFLICT, write, _CONFLICT, "conflicts: another client has changed the object just before")
            yield replace(one, touch_before=write.match)


def plan_throttling(record: RunRecord, workload: Workload) -> Iterator[Perturbation]:
    """Yield a refusal of the first write of each kind for too many requests."""
    seen: set[tuple[str, str]] = set()
    for write in list_writes(record, workload):
        if (kind := (write.match.verb, write.match.resource)) not in seen:
            seen.add(kind)
            yield _make(THROTTLE, write, _THROTTLE, "is answered with 429")


def _make(kind: str, write: PlannedWrite, inject: Mapping[str, Any], effect: str) -> Perturbation:
    return Perturbation(
        id=f"{kind}/{write.step}/{write.slug}",
        kind=kind,
        step=write.step,
        text=f"the {write.match} {effect}",
        faults=(make_fault(inject, write.match.to_fault_match(), skip=write.match.number - 1, count=1),),
    )


def plan_read_errors(record: RunRecord, workload: Workload) -> Iterator[Perturbation]:
    """Yield a failure of the first read of each kind in each step."""
    users = {one.name: one.user for one in workload.processes}
    seen: set[tuple[int, str, str]] = set()
    for one in record.requests:
        observed = one.observed
        if one.process == USER or one.is_noise or observed.verb not in ("get", "list", "watch") or not one.resource:
            continue
        if (kind := (one.step, observed.verb, one.resource)) in seen:
            continue
        seen.add(kind)
        match = {"user": users[one.process], "verbs": [observed.verb], "resources": [one.resource]}
        yield Perturbation(
            id=f"{READ_ERROR}/{one.step}/{observed.verb}-{one.resource.replace('/', '-')}",
            kind=READ_ERROR,
            step=one.step,
            text=f"the first {observed.verb} of {one.resource} in step {one.step} is answered with error 500",
            faults=(make_fault(_ERROR, match, count=1),),
        )


def plan_slow_writes(record: RunRecord, workload: Workload) -> Iterator[Perturbation]:
    """Yield slow writes in each step that has writes."""
    for step in dict.fromkeys(write.step for write in list_writes(record, workload)):
        yield Perturbation(
            id=f"{SLOW}/{step}",
            kind=SLOW,
            step=step,
            text=f"writes in step {step} take {_SLOW_SECONDS:g} s each, as with a busy etcd",
            faults=tuple(
                make_fault(
                    {"delaySeconds": _SLOW_SECONDS},
                    {"user": one.user, "verbs": ["create", "update", "patch", "delete"]},
                )
                for one in workload.processes
            ),
        )
