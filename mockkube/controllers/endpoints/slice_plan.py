"""How wanted endpoints are spread over EndpointSlices, changing as few slices as possible.

upstream 1.36: staging/src/k8s.io/endpointslice/reconciler.go
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from mockkube.api.types import Object, ReadOnlyObject
from mockkube.controllers.pods.go_dump import Field, Plain, Pointer, Struct, by_hash

_STRING: Final = Plain("string")
_PORT: Final = Struct(
    "v1.EndpointPort",
    (
        Field("Name", "name", Pointer(_STRING)),
        Field("Protocol", "protocol", Pointer(Plain("v1.Protocol"))),
        Field("Port", "port", Pointer(Plain("int32"))),
        Field("AppProtocol", "appProtocol", Pointer(_STRING)),
    ),
)
PortsKey = tuple[tuple[tuple[str, object], ...], ...]
Identity = tuple[tuple[str, ...], str, str, str]


def ordered_ports(ports: Sequence[ReadOnlyObject]) -> list[ReadOnlyObject]:
    """Return ports in the order in which slices have them."""
    return by_hash(ports, _PORT)


def ports_key(ports: Iterable[ReadOnlyObject]) -> PortsKey:
    """Return what tells one set of ports from another."""
    return tuple(sorted((tuple(sorted(port.items())) for port in ports), key=repr))


def identity_of(endpoint: ReadOnlyObject) -> Identity:
    """Return what makes an endpoint the same one, whatever its state."""
    target = endpoint.get("targetRef", {})
    return (
        tuple(sorted(endpoint.get("addresses", ()))),
        endpoint.get("hostname") or "",
        target.get("namespace", ""),
        target.get("name", ""),
    )


_STATE: Final = ("nodeName", "zone", "conditions")


def same_state(one: ReadOnlyObject, other: ReadOnlyObject) -> bool:
    """Whether an endpoint is as it was."""
    if any(one.get(name) != other.get(name) for name in _STATE):
        return False
    return _target(one) == _target(other)


def _target(endpoint: ReadOnlyObject) -> Object:
    return {name: value for name, value in endpoint.get("targetRef", {}).items() if name != "resourceVersion"}


@dataclass(slots=True)
class Plan:
    """What is to be done with slices; those to be created have no name yet."""

    create: list[Object] = field(default_factory=list)
    update: list[Object] = field(default_factory=list)
    delete: list[ReadOnlyObject] = field(default_factory=list)

    def add(self, other: "Plan") -> None:
        """Do that as well."""
        self.create += other.create
        self.update += other.update
        self.delete += other.delete

    def unchanged(self, slices: Iterable[ReadOnlyObject]) -> list[ReadOnlyObject]:
        """Return the slices that stay as they are."""
        changed = {one["metadata"]["name"] for one in (*self.update, *self.delete)}
        return [one for one in slices if one["metadata"]["name"] not in changed]

    def recycle(self, owned: Callable[[ReadOnlyObject], bool]) -> None:
        """Let slices that would be deleted take in what would be created."""
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
class Group:
    """The slices of one set of ports: those there are, the labels they should have, how to make another."""

    slices: Sequence[ReadOnlyObject]
    labels: ReadOnlyObject
    stale_labels: Callable[[ReadOnlyObject], bool]
    empty: Callable[[], Object]
    size_max: int


def spread(group: Group, wanted: Iterable[ReadOnlyObject]) -> Plan:
    """Return the plan by which the group comes to hold the wanted endpoints."""
    missing = {identity_of(endpoint): endpoint for endpoint in wanted}
    plan, unchanged, updated = Plan(), [], []
    for old in group.slices:
        kept, changed = _kept(old, missing)
        if changed and not kept:
            plan.delete.append(old)
        elif changed or group.stale_labels(old):
            updated.append(_relabelled(old, kept, group.labels))
        else:
            unchanged.append(old)
    left = list(missing.values())
    for one in sorted(updated, key=lambda one: -len(one["endpoints"])):
        left = _fill(one, left, group.size_max)
    while left:
        target = _roomy(unchanged, len(left), group.size_max) if len(left) < group.size_max else None
        if target is None:
            made = group.empty()
            plan.create.append(made)
        else:
            unchanged.remove(target)
            made = {**target, "endpoints": list(target.get("endpoints") or ())}
            updated.append(made)
        left = _fill(made, left, group.size_max)
    plan.update += updated
    return plan


def _kept(old: ReadOnlyObject, missing: dict[Identity, ReadOnlyObject]) -> tuple[list[ReadOnlyObject], bool]:
    """Return what stays of a slice, in its new state, and whether anything is different; what stays is not missing."""
    kept, changed = [], False
    there = old.get("endpoints") or ()
    for endpoint in there:
        new = missing.pop(identity_of(endpoint), None)
        if new is not None:
            kept.append(new)
            changed = changed or not same_state(new, endpoint)
    return kept, changed or len(kept) != len(there)


def _relabelled(old: ReadOnlyObject, endpoints: list[ReadOnlyObject], labels: ReadOnlyObject) -> Object:
    return {**old, "metadata": {**old["metadata"], "labels": dict(labels)}, "endpoints": endpoints}


def _fill(one: Object, left: list[ReadOnlyObject], size_max: int) -> list[ReadOnlyObject]:
    room = max(size_max - len(one["endpoints"]), 0)
    one["endpoints"] += left[:room]
    return left[room:]


def _roomy(slices: Iterable[ReadOnlyObject], count: int, size_max: int) -> ReadOnlyObject | None:
    """Return the slice that would be fullest with so many more; None if none has room, or all would be empty."""
    best, closest = None, size_max
    for one in slices:
        room = size_max - count - len(one.get("endpoints") or ())
        if 0 <= room < closest:
            best, closest = one, room
    return best
