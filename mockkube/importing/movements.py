"""Movements: what changes by itself in a cluster that starts from a snapshot, and which component changes it."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.times import parse_time
from mockkube.cluster.execution.step_trace import OPERATOR, TraceStep, TraceWrite
from mockkube.cluster.simulated_cluster import SimulatedCluster, SimulatedClusterConfig
from mockkube.cluster.snapshots.snapshot_contents import SnapshotContents
from mockkube.features.components import API_SERVER
from mockkube.lazy_dataclasses import dataclass

SECONDS: Final = 600.0
# Renewed all the time, and written about what changes: neither is a change itself.
_RENEWED: Final = ("coordination.k8s.io/leases", "core/events", "events.k8s.io/events")
# API servers create one for each version of a CRD; dumps of kubectl lack them unless they are asked for.
_API_SERVICES: Final = "apiregistration.k8s.io/apiservices"
_HEARTBEATS: Final = ("lastHeartbeatTime",)
_FIELDS_MAX: Final = 6


@dataclass(frozen=True, slots=True)
class Movement:
    """Changes of one object by one component."""

    component: str
    verb: str
    resource: str
    name: str
    # Changed fields, of all its writes.
    fields: tuple[str, ...]
    # Seconds after the start of the first write.
    first_at: float
    count: int


@dataclass(frozen=True, slots=True)
class SnapshotCheck:
    """Changes that components make in a cluster that starts from a snapshot."""

    movements: list[Movement]
    # Components that stopped because of a bug, with the error.
    failed_components: Mapping[str, str]


async def check_snapshot(contents: SnapshotContents, seconds: float = SECONDS) -> SnapshotCheck:
    """Start a cluster from a snapshot and return what changes within some virtual time, in order, and what fails."""
    async with open_imported_cluster(contents) as cluster:
        await cluster.advance(seconds)
        return SnapshotCheck(summarize_movements(cluster.trace), cluster.find_failed_components())


def open_imported_cluster(contents: SnapshotContents) -> SimulatedCluster:
    """Return a simulated cluster that starts from a snapshot, at the snapshot's time."""
    config = SimulatedClusterConfig(contents=contents)
    if contents.time:
        config = SimulatedClusterConfig(contents=contents, start=parse_time(contents.time))
    return SimulatedCluster(config)


def summarize_movements(steps: Iterable[TraceStep]) -> list[Movement]:
    """Return the movements of a trace, one for each object, component and verb."""
    found: dict[tuple[str, str, str, str], Movement] = {}
    for step in steps:
        # No operator acts, so that writes outside the steps of components are those of API servers.
        component = API_SERVER if step.worker == OPERATOR else step.worker
        for write in step.writes:
            if write.resource in _RENEWED or (write.resource == _API_SERVICES and write.verb == "create"):
                continue
            fields = tuple(_list_fields(write))
            if write.verb == "update" and not fields:
                continue
            key = (component, write.verb, write.resource, write.name)
            known = found.get(key)
            if known is not None:
                fields = tuple(dict.fromkeys((*known.fields, *fields)))
            count, first = (1, step.at) if known is None else (known.count + 1, known.first_at)
            found[key] = Movement(*key, fields, first, count)
    return list(found.values())


def _list_fields(write: TraceWrite) -> Iterator[str]:
    """Yield the fields that an update changes, without heartbeats."""
    if write.verb == "update":
        old, new = write.load_previous() or {}, write.load_object()
        yield from list_changed_fields(old, new)


def list_changed_fields(old: ReadOnlyObject, new: ReadOnlyObject) -> list[str]:
    """Return the paths of fields that differ, without bookkeeping and heartbeats, at most a few."""
    return list(dict.fromkeys(_find_changed("", _strip(old), _strip(new))))[:_FIELDS_MAX]


def _strip(obj: ReadOnlyObject) -> dict[str, Any]:
    ignored = ("managedFields", "resourceVersion", "generation")
    return {**obj, "metadata": {key: value for key, value in obj["metadata"].items() if key not in ignored}}


def _find_changed(at: str, old: Any, new: Any) -> Iterator[str]:
    if old == new or at.rpartition(".")[2] in _HEARTBEATS:
        return
    if isinstance(old, dict) and isinstance(new, dict):
        for name in dict.fromkeys((*old, *new)):
            yield from _find_changed(f"{at}.{name}" if at else name, old.get(name), new.get(name))
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for number, (one, other) in enumerate(zip(old, new, strict=True)):
            named = one.get("type") or one.get("name") or number if isinstance(one, dict) else number
            yield from _find_changed(f"{at}[{named}]", one, other)
    else:
        yield at
