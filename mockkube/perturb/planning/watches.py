"""Watches: held back, broken, with missed or repeated events; and caches that show the past after a restart."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from mockkube.perturb.normalization import ObjectId
from mockkube.perturb.object_history import RecordedChange
from mockkube.perturb.perturbation import Perturbation, StalePoint, make_fault
from mockkube.perturb.recorder import USER, DeliveredEvent, RunRecord
from mockkube.perturb.workload import Workload

LAG = "lag"
MISSED = "missed-events"
REPEATED = "repeated-events"
BROKEN = "broken-watch"
TIME_TRAVEL = "time-travel"
LEADERSHIP = "lost-leadership"
_LEASES: Final = "leases.coordination.k8s.io"
# Namespace of the heartbeats of kubelets, which no other holder takes.
_NODE_LEASES: Final = "kube-node-lease"


def plan_lags(record: RunRecord, workload: Workload) -> Iterator[Perturbation]:
    """Yield held watches for each resource and step with events of it, then for two steps in a row."""
    delivered = [(step, resource) for step, resource in _list_delivered(record) if step]
    for step, resource in delivered:
        yield Perturbation(
            id=f"{LAG}/{step}/{resource}",
            kind=LAG,
            step=step,
            text=f"events of {resource} in step {step} arrive only once the controller rests",
            faults=_for_users(workload, {"holdEvents": True}, resource),
        )
    for step, resource in delivered:
        if (step + 1, resource) in delivered:
            yield Perturbation(
                id=f"{LAG}/{step}-{step + 1}/{resource}",
                kind=LAG,
                step=step,
                text=f"events of {resource} in steps {step} and {step + 1} arrive only at the end of both",
                faults=_for_users(workload, {"holdEvents": True}, resource),
                last_step=step + 1,
            )


def plan_repeated_events(record: RunRecord, workload: Workload) -> Iterator[Perturbation]:
    """Yield repeated events of each resource."""
    for resource in dict.fromkeys(resource for _, resource in _list_delivered(record)):
        yield Perturbation(
            id=f"{REPEATED}/0/{resource}",
            kind=REPEATED,
            step=0,
            text=f"every event of {resource} arrives twice",
            faults=_for_users(workload, {"repeatEvents": True}, resource),
            last_step=len(workload.steps),
        )


def plan_broken_watches(record: RunRecord, workload: Workload) -> Iterator[Perturbation]:
    """Yield a broken watch for each resource and step, from whose resourceVersion the server cannot continue."""
    for step, resource in _list_delivered(record):
        if step:
            users = _for_users(workload, {"dropWatch": True}, resource, count=1)
            expired = _for_users(workload, {"expired": True}, resource, count=1)
            yield Perturbation(
                id=f"{BROKEN}/{step}/{resource}",
                kind=BROKEN,
                step=step,
                text=f"the watch of {resource} breaks at the beginning of step {step}, and expires",
                faults=(*expired, *users),
            )


def plan_missed_events(record: RunRecord, workload: Workload) -> Iterator[Perturbation]:
    """Yield a missed state for each kind of change that is followed by another one of the object."""
    changes = {(one.identity, one.revision): one for one in record.changes}
    generated = {one.identity for one in record.changes if one.object["metadata"].get("generateName")}
    by_object: dict[tuple[str, ObjectId], list[DeliveredEvent]] = defaultdict(list)
    for event in record.delivered:
        events = by_object[event.process, event.identity]
        # Several watches of a process deliver the same change: those of its controllers and of its garbage collector.
        if not any(one.revision == event.revision for one in events):
            events.append(event)
    seen: set[tuple[str, str, tuple[str, ...]]] = set()
    found: list[Perturbation] = []
    for (process, identity), events in by_object.items():
        if identity in generated:
            continue  # its name differs in the next run
        for index, event in enumerate(events[:-1]):
            shape = identity.resource, event.type, _describe_change(changes, events, index)
            if event.step == 0 or shape in seen:
                continue
            seen.add(shape)
            before = sum(1 for one in events[:index] if one.step == event.step)
            found.append(_make_missed(workload, process, event, before, events[index + 1].step))
    yield from found


def _make_missed(workload: Workload, process: str, event: DeliveredEvent, before: int, last_step: int) -> Perturbation:
    # The fault lasts until the next event of the object, which the controller sees instead.
    identity = event.identity
    user = next(one.user for one in workload.processes if one.name == process)
    match = {"user": user, "resources": [identity.resource], "name": identity.name}
    if identity.namespace:
        match["namespace"] = identity.namespace
    return Perturbation(
        id=f"{MISSED}/{event.step}/{identity.resource}-{identity.name}-{before + 1}",
        kind=MISSED,
        step=event.step,
        text=f"the controller misses event {before + 1} ({event.type}) of {identity} in step {event.step}",
        faults=(make_fault({"missEvents": True}, match, skip=before, count=1),),
        last_step=last_step,
    )


def _describe_change(
    changes: Mapping[tuple[ObjectId, int], RecordedChange], events: Sequence[DeliveredEvent], index: int
) -> tuple[str, ...]:
    """Return the names of the fields that an event changes, two levels deep."""
    new = changes.get((events[index].identity, events[index].revision))
    old = changes.get((events[index - 1].identity, events[index - 1].revision)) if index else None
    if new is None:
        return ()
    fields: list[str] = ["terminating"] if new.is_terminating else []
    before: Mapping[str, Any] = {} if old is None else old.object
    for name, value in new.object.items():
        previous = before.get(name)
        if value == previous:
            continue
        below = value if isinstance(value, dict) else {}
        last = previous if isinstance(previous, dict) else {}
        fields += sorted(f"{name}.{key}" for key in {*below, *last} if below.get(key) != last.get(key))
    ignored = ("metadata.resourceVersion", "metadata.managedFields", "metadata.generation")
    return tuple(one for one in fields if one not in ignored)


def plan_time_travel(record: RunRecord, workload: Workload) -> Iterator[Perturbation]:
    """Yield restarts after which caches show a past state, if the controller reads from caches at all."""
    readers = {one.process for one in record.requests if one.process != USER and one.observed.from_cache}
    names = tuple(one.name for one in workload.processes if one.name in readers)
    if not names:
        return
    for step in record.steps[1:]:
        for point in _list_stale_points(record, step.index):
            where = f"step-{point.step}" if point.terminating is None else f"deletion-of-{point.terminating.name}"
            yield Perturbation(
                id=f"{TIME_TRAVEL}/{step.index}/{where}",
                kind=TIME_TRAVEL,
                step=step.index,
                text=f"the controller restarts after step {step.index}, and at first reads the state at {point}",
                kill_at_rest=names,
                stale_point=point,
            )


def _list_stale_points(record: RunRecord, step: int) -> Iterator[StalePoint]:
    """Yield moments before the end of a step, latest first."""
    written = {(one.resource, one.observed.namespace, one.name) for one in record.requests if one.process == USER}
    seen: set[ObjectId] = set()
    until = next(one.revision for one in record.steps if one.index == step)
    for change in record.changes:
        identity = change.identity
        if change.revision < until and change.is_terminating and tuple(identity) in written and identity not in seen:
            seen.add(identity)
            yield StalePoint(step, identity)
    for earlier in range(step - 1, 0, -1):
        yield StalePoint(earlier)


def plan_lost_leadership(record: RunRecord, workload: Workload) -> Iterator[Perturbation]:
    """Yield a stolen lease in each step, if the controller renews one."""
    leases = dict.fromkeys(
        (one.observed.namespace, one.name)
        for one in record.requests
        if one.process != USER
        and one.resource == _LEASES
        and one.observed.verb in ("create", "update", "patch")
        and one.observed.namespace != _NODE_LEASES
    )
    for namespace, name in leases:
        for step in record.steps[1:]:
            yield Perturbation(
                id=f"{LEADERSHIP}/{step.index}/{name}",
                kind=LEADERSHIP,
                step=step.index,
                text=f"another holder takes the lease {namespace}/{name} at the beginning of step {step.index}",
                stolen_lease=ObjectId(_LEASES, namespace, name),
            )


def _list_delivered(record: RunRecord) -> list[tuple[int, str]]:
    """Return the steps and resources of delivered events."""
    return list(dict.fromkeys((one.step, one.identity.resource) for one in record.delivered))


def _for_users(
    workload: Workload, inject: Mapping[str, Any], resource: str, **limits: Any
) -> tuple[Mapping[str, Any], ...]:
    return tuple(
        make_fault(inject, {"user": one.user, "verbs": ["watch"], "resources": [resource]}, **limits)
        for one in workload.processes
    )
