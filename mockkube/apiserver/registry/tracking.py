"""Update managedFields on every write, and apply objects server-side.

upstream 1.36: apimachinery/pkg/util/managedfields
"""

import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from mockkube.api import conversions
from mockkube.api.bounded_cache import BoundedCache
from mockkube.api.codec import Codec, DecodingState
from mockkube.api.errors import BadRequest, Conflict
from mockkube.api.managed_fields.errors import ApplyConflict, BadApply, BadEntry, TypeMismatch
from mockkube.api.managed_fields.managers import ManagerId
from mockkube.api.managed_fields.merging import Merger, Typed
from mockkube.api.managed_fields.reach import Reach, reach
from mockkube.api.managed_fields.tracking import Tracker, Write
from mockkube.api.managed_fields.types import Type, TypeCompiler
from mockkube.api.schema import Schema, TypeNode
from mockkube.api.times import render_time
from mockkube.api.types import Object, ReadOnlyObject
from mockkube.apiserver.registry import encoding
from mockkube.apiserver.registry.options import WriteOptions
from mockkube.apiserver.registry.resource import Call, Resource, result_without_reason
from mockkube.runtime.text_cache import cache_short_texts

_MANAGER_MAX: Final = 128
# Objects beyond this size are not cached by shape, because they rarely repeat.
_FORM_BYTES_MAX: Final = 16 * 1024
# fieldsV1 of created objects by shape, with the updater that computed them.
_CREATED: Final[BoundedCache[Any, tuple[weakref.ref[Tracker], Object]]] = BoundedCache(512)


class Trackers:
    """Managed-fields updaters of one server, each created when first needed."""

    def __init__(self, schema: Schema, codec: Codec) -> None:
        self._schema = schema
        self._codec = codec
        self._types = TypeCompiler()
        self._trackers: dict[tuple[str, str, str, str], Tracker] = {}

    def of(self, resource: Resource, subresource: str) -> Tracker:
        """Return the updater for writes to a resource or subresource."""
        kind = resource.kind
        key = (kind.group, resource.version, kind.kind, subresource)
        if key not in self._trackers:
            self._trackers[key] = self._make(resource.node, kind.group, resource.api_version, kind.kind, subresource)
        return self._trackers[key]

    def scale(self, subresource: str = "scale") -> Tracker:
        """Return the updater for writes to the Scale of a workload."""
        node = self._schema.get_type("io.k8s.api.autoscaling.v1.Scale")
        key = ("autoscaling", "v1", "Scale", subresource)
        if key not in self._trackers:
            self._trackers[key] = self._make(node, "autoscaling", "autoscaling/v1", "Scale", subresource)
        return self._trackers[key]

    def _make(self, node: TypeNode, group: str, api_version: str, kind: str, subresource: str) -> Tracker:
        empty = self._codec.decode(node, {"apiVersion": api_version, "kind": kind}, DecodingState())
        converter = VersionConverter(self._schema, self._types, group, kind, self.moved)
        merger = Merger(converter, self.reach(group, kind, api_version, subresource))
        return Tracker(kind, api_version, self._types.type_of(node), empty, merger, subresource)

    def reach(self, group: str, kind: str, api_version: str, subresource: str) -> Reach:
        """Return the fields that a resource or subresource writes (upstream: ResetFieldsStrategy)."""
        return reach(group, kind, subresource)

    def moved(self, obj: Object, origin: str, target: str) -> Object:
        """Convert an object without managedFields to another version."""
        return conversions.convert(obj, origin, target)


@dataclass(frozen=True, slots=True)
class VersionConverter:
    """Converter between the versions of a kind, for managers that wrote in another version."""

    schema: Schema
    types: TypeCompiler
    group: str
    kind: str
    moved: Callable[[Object, str, str], Object]

    def convert(self, typed: Typed, version: str) -> Typed | None:
        """Return the object in that version; None if the version does not exist any more."""
        if typed.version == version:
            return typed
        group, _, short = version.rpartition("/")
        node = self.schema.find_kind_type(group, short, self.kind)
        if node is None or not isinstance(typed.value, dict):
            return None
        kind_of: Type = self.types.type_of(node)
        value = self.moved({"kind": self.kind, **typed.value}, typed.version, version)
        return Typed(value, kind_of, version)


@cache_short_texts(maxsize=256)
def manager_of(field_manager: str, user_agent: str) -> str:
    """Return the manager's name: what the client sets, else its user agent up to the first slash."""
    # upstream 1.36: apiserver/pkg/endpoints/handlers/create.go, managerOrUserAgent
    if field_manager:
        return field_manager
    name = user_agent.partition("/")[0]
    printable = "".join(char for char in name if char.isprintable())
    return printable.encode()[:_MANAGER_MAX].decode(errors="ignore")


def write_of(resource: Resource, call: Call, options: WriteOptions) -> Write:
    """Return manager and time of this write."""
    now = render_time(resource.services.clock.now())
    return Write(manager_of(options.field_manager, call.user_agent), now)


def track(resource: Resource, call: Call, live: ReadOnlyObject | None, new: Object, options: WriteOptions) -> Object:
    """Return the new object with updated managedFields. Both objects are of the resource's version."""
    tracker = resource.services.trackers.of(resource, call.subresource)
    write = write_of(resource, call, options)
    if live is None and "managedFields" not in new["metadata"]:
        return _created(tracker, new, write)
    return tracker.update(tracker.empty if live is None else live, new, write, reset=call.forgets_managers)


def _created(tracker: Tracker, new: Object, write: Write) -> Object:  # hot: every creation
    """Return a new object with its only manager.

    Objects of the same shape have the same fields, so the fields are computed once for each shape.
    """
    key = (tracker.version, tracker.kind, tracker.subresource, _form(new, item=False))
    known, fields = _CREATED.get(key) or (None, {})
    # The cache is shared by all servers of the process, whose schemas may differ.
    if known is None or known() is not tracker:
        tracked = tracker.update(tracker.empty, new, write)
        entries = tracked["metadata"].get("managedFields", [])
        if len(entries) == 1 and len(encoding.dumps(tracked)) <= _FORM_BYTES_MAX:
            _CREATED.put(key, (weakref.ref(tracker), entries[0]["fieldsV1"]))
        return tracked
    entry = {
        "manager": ManagerId.updater(write.manager, tracker.version, "").name,
        "operation": "Update",
        "apiVersion": tracker.version,
        "time": write.time,
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
    }
    return {**new, "metadata": {**new["metadata"], "managedFields": [entry]}}


def _form(value: Any, *, item: bool) -> Any:
    """Return what decides which fields a value has: all keys, and scalars by which list items are identified."""
    if value.__class__ is list:
        return "[", *[_form(one, item=True) if one.__class__ in (dict, list) else (one,) for one in value]
    # Any scalar of a list item may be part of its key in an associative list.
    if item:
        return tuple([(k, _form(v, item=False) if v.__class__ in (dict, list) else v) for k, v in value.items()])
    return tuple([(k, _form(v, item=False) if v.__class__ in (dict, list) else v is None) for k, v in value.items()])


def apply(resource: Resource, call: Call, live: ReadOnlyObject | None, applied: Any, options: WriteOptions) -> Object:
    """Return the live object with an object applied to it; it still has to be decoded."""
    tracker = resource.services.trackers.of(resource, call.subresource)
    given = applied if isinstance(applied, dict) else {}
    write = write_of(resource, call, options)
    return applied_by(tracker, resource, call, tracker.empty if live is None else live, given, write, options)


def applied_by(
    tracker: Tracker,
    resource: Resource,
    call: Call,
    live: ReadOnlyObject,
    applied: Object,
    write: Write,
    options: WriteOptions,
) -> Object:
    """Apply with this updater; raise errors with upstream's texts."""
    try:
        return tracker.apply(live, applied, write, force=bool(options.force))
    except BadApply as error:
        raise BadRequest(str(error)) from error
    except (TypeMismatch, BadEntry) as error:
        raise result_without_reason(500, str(error)) from error
    except ApplyConflict as conflict:
        raise Conflict(str(conflict), details={"causes": conflict.causes()}) from conflict
