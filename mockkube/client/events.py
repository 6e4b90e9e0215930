"""References to the objects of events, and names of events."""

from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from typing import Final

from mockkube.api import names
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.runtime.clock import Clock
from mockkube.runtime.random import Random

NORMAL: Final = "Normal"
WARNING: Final = "Warning"
# Events about objects without a namespace (nodes, namespaces) are in the namespace `default`, as upstream.
NAMESPACE_DEFAULT: Final = "default"
UID_BYTES: Final = 8
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_SPREAD_NANOSECONDS: Final = 1_000_000


def reference_to(obj: ReadOnlyObject, field_path: str = "") -> Object:
    """Return an object reference to an object, or to the part of it at `field_path`."""
    # upstream 1.36: staging/src/k8s.io/client-go/tools/reference/ref.go
    # Callers may pass a reference instead of an object, for objects that are not in their cache.
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
    """Return the namespace of events about the object that a reference names."""
    return reference.get("namespace") or NAMESPACE_DEFAULT


def digest_fields(*fields: str, size: int = 16) -> bytes:
    """Return a digest that differs where fields differ: it takes less memory than they do."""
    return blake2b("\0".join(fields).encode("utf-8", "surrogatepass"), digest_size=size).digest()


def digest_uid(uid: str) -> bytes:
    """Return the digest of the uid of an object that events are about."""
    return digest_fields(uid, size=UID_BYTES)


class EventNames:
    """Generator of the names of one recorder's events: object name and time in nanoseconds.

    differs: virtual time stands still, and several recorders share a clock. So that no name is generated twice, each
    recorder adds an offset of its own and never uses the same moment again.
    """

    # upstream 1.36: staging/src/k8s.io/client-go/tools/record/util/util.go
    def __init__(self, clock: Clock, random: Random) -> None:
        self._clock, self._random = clock, random
        self._offset_nanoseconds = random.generator.randrange(_SPREAD_NANOSECONDS)
        self._last = 0

    def generate(self, object_name: str) -> str:
        """Return a name for an event about the object called `object_name`."""
        moment = (self._clock.now() - _EPOCH) // _MICROSECOND * 1000 + self._offset_nanoseconds
        self._last = moment = max(moment, self._last + 1)
        name = f"{object_name}.{moment:x}"
        # Names of objects that are no DNS subdomain (RBAC names contain colons) make no valid event name; upstream uses
        # a UUID for these.
        return self._random.new_uid() if names.check_dns_subdomain(name) else name
