"""Plan of EndpointSlices: distributes desired endpoints over slices, changing as few as possible.

upstream 1.36: staging/src/k8s.io/endpointslice/reconciler.go
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import field
from typing import Final

from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.controllers.pods.go_dump import GoField, GoPointer, GoScalar, GoStruct, sort_by_hash
from mockkube.lazy_dataclasses import dataclass

_STRING: Final = GoScalar("string")
_PORT: Final = GoStruct(
    "v1.EndpointPort",
    (
        GoField("Name", "name", GoPointer(_STRING)),
        GoField("Protocol", "protocol", GoPointer(GoScalar("v1.Protocol"))),
        GoField("Port", "port", GoPointer(GoScalar("int32"))),
        GoField("AppProtocol", "appProtocol", GoPointer(_STRING)),
    ),
)
PortsKey = tuple[tuple[tuple[str, object], ...], ...]
EndpointKey = tuple[tuple[str, ...], str, str, str]


def sort_ports(ports: Sequence[ReadOnlyObject]) -> list[ReadOnlyObject]:
    """Return ports in the order that slices use."""
    return sort_by_hash(ports, _PORT)


def ports_key(ports: Iterable[ReadOnlyObject]) -> PortsKey:
    """Return a hashable key of a set of ports, independent of their order."""
    # Sorted by `repr`, since values of different types (number, text, None) cannot be compared.
    return tuple(sorted((tuple(sorted(port.items())) for port in ports), key=repr))


def endpoint_key(endpoint: ReadOnlyObject) -> EndpointKey:
    """Return the fields that identify an endpoint, independent of its state."""
    target = endpoint.get("targetRef", {})
    return (
        tuple(sorted(endpoint.get("addresses", ()))),
        endpoint.get("hostname") or "",
        target.get("namespace", ""),
        target.get("name", ""),
    )


_STATE: Final = ("nodeName", "zone", "conditions")


def has_same_state(one: ReadOnlyObject, other: ReadOnlyObject) -> bool:
    """Return whether node, zone, conditions and target of an endpoint are unchanged."""
    if any(one.get(name) != other.get(name) for name in _STATE):
        return False
    return _target_reference(one) == _target_reference(other)


def _target_reference(endpoint: ReadOnlyObject) -> Object:
    return {name: value for name, value in endpoint.get("targetRef", {}).items() if name != "resourceVersion"}


@dataclass(slots=True)
class SlicePlan:
    """Slices to create, update and delete; those to create have no name yet."""

    create: list[Object] = field(default_factory=list)
    update: list[Object] = field(default_factory=list)
    delete: list[ReadOnlyObject] = field(default_factory=list)

    def merge(self, other: "SlicePlan") -> None:
        """Add the changes of another plan."""
        self.create += other.create
        self.update += other.update
        self.delete += other.delete

    def unchanged_slices(self, slices: Iterable[ReadOnlyObject]) -> list[ReadOnlyObject]:
        """Return the slices that the plan does not change."""
        changed = {one["metadata"]["name"] for one in (*self.update, *self.delete)}
        return [one for one in slices if one["metadata"]["name"] not in changed]

    def recycle(self, owned: Callable[[ReadOnlyObject], bool]) -> None:
        """Reuse owned slices that would be deleted for those that would be created."""
        kept = []
        for old in self.delete:
            new = self.create[-1] if self.create else None
            if new is not None and old["addressType"] == new["addressType"] and owned(old):
                self.create.pop()
                self.update.append({**new, "metadata": {**new["metadata"], "name": old["metadata"]["name"]}})
            else:
                kept.append(old)
        self.delete = kept


@dataclass(frozen=True, slots=True)
class SliceGroup:
    """Slices with one set of ports: existing ones, desired labels, factory for more."""

    slices: Sequence[ReadOnlyObject]
    labels: ReadOnlyObject
    has_stale_labels: Callable[[ReadOnlyObject], bool]
    new_slice: Callable[[], Object]
    size_max: int


def plan_slices(group: SliceGroup, wanted: Iterable[ReadOnlyObject]) -> SlicePlan:
    """Return the plan that makes a group hold the desired endpoints."""
    missing = {endpoint_key(endpoint): endpoint for endpoint in wanted}
    plan, unchanged, updated = SlicePlan(), [], []
    for old in group.slices:
        kept, changed = _match_endpoints(old, missing)
        if changed and not kept:
            plan.delete.append(old)
        elif changed or group.has_stale_labels(old):
            updated.append(_with_labels(old, kept, group.labels))
        else:
            unchanged.append(old)
    left = list(missing.values())
    # The fullest slices that must be written anyway are filled first.
    for one in sorted(updated, key=lambda one: -len(one["endpoints"])):
        left = _fill_slice(one, left, group.size_max)
    while left:
        # As upstream, one unchanged slice is updated only if it can take all that is left; otherwise a new one is
        # created.
        target = _find_slice_to_fill(unchanged, len(left), group.size_max) if len(left) < group.size_max else None
        if target is None:
            target_slice = group.new_slice()
            plan.create.append(target_slice)
        else:
            unchanged.remove(target)
            target_slice = {**target, "endpoints": list(target.get("endpoints") or ())}
            updated.append(target_slice)
        left = _fill_slice(target_slice, left, group.size_max)
    plan.update += updated
    return plan


def _match_endpoints(
    old: ReadOnlyObject, missing: dict[EndpointKey, ReadOnlyObject]
) -> tuple[list[ReadOnlyObject], bool]:
    """Return the endpoints that stay in a slice, and whether any changed; these leave `missing`."""
    kept, changed = [], False
    endpoints = old.get("endpoints") or ()
    for endpoint in endpoints:
        new = missing.pop(endpoint_key(endpoint), None)
        if new is not None:
            kept.append(new)
            changed = changed or not has_same_state(new, endpoint)
    return kept, changed or len(kept) != len(endpoints)


def _with_labels(old: ReadOnlyObject, endpoints: list[ReadOnlyObject], labels: ReadOnlyObject) -> Object:
    return {**old, "metadata": {**old["metadata"], "labels": dict(labels)}, "endpoints": endpoints}


def _fill_slice(one: Object, left: list[ReadOnlyObject], size_max: int) -> list[ReadOnlyObject]:
    room = max(size_max - len(one["endpoints"]), 0)
    one["endpoints"] += left[:room]
    return left[room:]


def _find_slice_to_fill(slices: Iterable[ReadOnlyObject], count: int, size_max: int) -> ReadOnlyObject | None:
    """Return the slice that would be fullest with `count` more; None if none has room."""
    best, closest = None, size_max
    for one in slices:
        room = size_max - count - len(one.get("endpoints") or ())
        if 0 <= room < closest:
            best, closest = one, room
    return best
