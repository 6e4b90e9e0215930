"""What events are made of: the reference to what they are about, and their names."""

from datetime import UTC, datetime, timedelta
from typing import Final

from mockkube.api import names
from mockkube.api.types import Object, ReadOnlyObject
from mockkube.runtime.chance import Chance
from mockkube.runtime.clock import Clock

NORMAL: Final = "Normal"
WARNING: Final = "Warning"
NAMESPACE_DEFAULT: Final = "default"
"""Where events about objects without a namespace are."""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_SPREAD_NANOSECONDS: Final = 1_000_000


def reference_to(obj: ReadOnlyObject, field_path: str = "") -> Object:
    """Return the reference to an object, or to a part of it; a reference stays what it is."""
    # upstream 1.36: staging/src/k8s.io/client-go/tools/reference/ref.go
    if "metadata" not in obj:
        return {**obj, "fieldPath": field_path} if field_path else dict(obj)
    metadata = obj["metadata"]
    parts = {
        "kind": obj.get("kind", ""),
        "namespace": metadata.get("namespace", ""),
        "name": metadata.get("name", ""),
        "uid": metadata.get("uid", ""),
        "apiVersion": obj.get("apiVersion", ""),
        "resourceVersion": metadata.get("resourceVersion", ""),
        "fieldPath": field_path,
    }
    return {name: value for name, value in parts.items() if value}


def namespace_of(reference: ReadOnlyObject) -> str:
    """Return where events about what a reference names are."""
    return reference.get("namespace") or NAMESPACE_DEFAULT


class EventNames:
    """The names of one recorder's events: the object's, and the moment in nanoseconds.

    differs: time that stands still, or that several recorders share, must not give one name twice: each recorder is a
    little late by an amount of its own, and never names the same moment again.
    """

    # upstream 1.36: staging/src/k8s.io/client-go/tools/record/util/util.go
    def __init__(self, clock: Clock, chance: Chance) -> None:
        self._clock, self._chance = clock, chance
        self._late = chance.random.randrange(_SPREAD_NANOSECONDS)
        self._last = 0

    def name(self, about: str) -> str:
        """Return a name for an event about the object of that name."""
        moment = (self._clock.now() - _EPOCH) // _MICROSECOND * 1000 + self._late
        self._last = moment = max(moment, self._last + 1)
        name = f"{about}.{moment:x}"
        return self._chance.uid() if names.dns_subdomain(name) else name
