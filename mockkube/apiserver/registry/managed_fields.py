"""Update managedFields on every write, and apply objects server-side.

upstream 1.36: apimachinery/pkg/util/managedfields
"""

import weakref
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

from mockkube.api import conversions
from mockkube.api.bounded_cache import BoundedCache, digest_json
from mockkube.api.decoding.codec import Codec, DecodingState
from mockkube.api.errors import BadRequest, Conflict
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.managed_fields.errors import ApplyConflict, InvalidApply, InvalidEntry, TypeMismatch
from mockkube.api.managed_fields.managers import UNKNOWN
from mockkube.api.managed_fields.merge_updater import MergeUpdater, TypedValue
from mockkube.api.managed_fields.reset_fields import FieldFilter, get_field_filter
from mockkube.api.managed_fields.types import Type, TypeCompiler
from mockkube.api.managed_fields.updater import ManagedFieldsUpdater, WriteInfo
from mockkube.api.schema import Schema, TypeNode
from mockkube.api.times import render_time
from mockkube.apiserver.registry import encoding
from mockkube.apiserver.registry.options import WriteOptions
from mockkube.apiserver.registry.resource import RequestScope, Resource, error_without_reason
from mockkube.lazy_dataclasses import dataclass
from mockkube.runtime.text_cache import cache_short_texts

_MANAGER_BYTES_MAX: Final = 128
# Objects beyond this size are not cached by shape, because they rarely repeat.
_SHAPE_BYTES_MAX: Final = 16 * 1024
# fieldsV1 of created objects by shape, with the updater that computed them.
_FIELDS_BY_SHAPE: Final[BoundedCache[Any, tuple[weakref.ref[ManagedFieldsUpdater], Object]]] = BoundedCache(512)
# Kinds whose objects differ in more than metadata: each event is about another object, each Lease has a holder.
_KINDS_OF_UNIQUE_CONTENT: Final = frozenset(("Event", "Lease"))
# The same by the shape of the metadata and the digest of all else.
_FIELDS_BY_CONTENT: Final[BoundedCache[Any, tuple[weakref.ref[ManagedFieldsUpdater], Object]]] = BoundedCache(4096)


@lru_cache(maxsize=32)
def _get_type_compiler(schema: Schema) -> TypeCompiler:
    return TypeCompiler()


class ManagedFieldsUpdaters:
    """Managed-fields updaters of one server, each created when first needed."""

    def __init__(self, schema: Schema, codec: Codec, types: TypeCompiler | None = None) -> None:
        """Compile types with `types`, by default with a compiler that all servers with the schema share."""
        self._schema = schema
        self._codec = codec
        self._types = types or _get_type_compiler(schema)
        self._updaters: dict[tuple[str, str, str, str], ManagedFieldsUpdater] = {}

    def for_resource(self, resource: Resource, subresource: str) -> ManagedFieldsUpdater:
        """Return the updater for writes to a resource or subresource."""
        kind = resource.kind
        key = (kind.group, resource.version, kind.kind, subresource)
        if key not in self._updaters:
            self._updaters[key] = self._make_updater(
                resource.node, kind.group, resource.api_version, kind.kind, subresource
            )
        return self._updaters[key]

    def for_scale(self, subresource: str = "scale") -> ManagedFieldsUpdater:
        """Return the updater for writes to the Scale of a workload."""
        node = self._schema.get_type("io.k8s.api.autoscaling.v1.Scale")
        key = ("autoscaling", "v1", "Scale", subresource)
        if key not in self._updaters:
            self._updaters[key] = self._make_updater(node, "autoscaling", "autoscaling/v1", "Scale", subresource)
        return self._updaters[key]

    def _make_updater(
        self, node: TypeNode, group: str, api_version: str, kind: str, subresource: str
    ) -> ManagedFieldsUpdater:
        empty = self._codec.decode(node, {"apiVersion": api_version, "kind": kind}, DecodingState())
        converter = VersionConverter(self._schema, self._types, group, kind, self.convert)
        merger = MergeUpdater(converter, self.writable_fields(group, kind, api_version, subresource))
        return ManagedFieldsUpdater(kind, api_version, self._types.type_of(node), empty, merger, subresource)

    def writable_fields(self, group: str, kind: str, api_version: str, subresource: str) -> FieldFilter:
        """Return the fields that a resource or subresource writes (upstream: ResetFieldsStrategy)."""
        return get_field_filter(group, kind, subresource)

    def convert(self, obj: Object, origin: str, target: str) -> Object:
        """Convert an object without managedFields to another version."""
        return conversions.convert(obj, origin, target)


@dataclass(frozen=True, slots=True)
class VersionConverter:
    """Converter between the versions of a kind, for managers that wrote in another version."""

    schema: Schema
    types: TypeCompiler
    group: str
    kind: str
    convert_object: Callable[[Object, str, str], Object]

    def convert(self, typed: TypedValue, version: str) -> TypedValue | None:
        """Return the object in that version; None if the version does not exist any more."""
        if typed.version == version:
            return typed
        group, _, short = version.rpartition("/")
        node = self.schema.find_kind_type(group, short, self.kind)
        if node is None or not isinstance(typed.value, dict):
            return None
        kind_of: Type = self.types.type_of(node)
        value = self.convert_object({"kind": self.kind, **typed.value}, typed.version, version)
        return TypedValue(value, kind_of, version)


@cache_short_texts(maxsize=256)
def manager_name(field_manager: str, user_agent: str) -> str:
    """Return the manager's name: what the client sets, else its user agent up to the first slash."""
    # upstream 1.36: apiserver/pkg/endpoints/handlers/create.go, managerOrUserAgent
    if field_manager:
        return field_manager
    name = user_agent.partition("/")[0]
    printable = "".join(char for char in name if char.isprintable())
    return printable.encode()[:_MANAGER_BYTES_MAX].decode(errors="ignore")


def write_info(resource: Resource, scope: RequestScope, options: WriteOptions) -> WriteInfo:
    """Return manager and time of this write."""
    now = render_time(resource.dependencies.clock.now())
    return WriteInfo(manager_name(options.field_manager, scope.user_agent), now)


def update_managed_fields(
    resource: Resource, scope: RequestScope, live: ReadOnlyObject | None, new: Object, options: WriteOptions
) -> Object:
    """Return the new object with updated managedFields. Both objects are of the resource's version."""
    updater = resource.dependencies.managed_fields_updaters.for_resource(resource, scope.subresource)
    write = write_info(resource, scope, options)
    if live is None and "managedFields" not in new["metadata"]:
        return _set_first_manager(updater, new, write, scope.body_bytes)
    return updater.update(updater.empty_object if live is None else live, new, write, reset=scope.resets_managed_fields)


def _set_first_manager(
    updater: ManagedFieldsUpdater, new: Object, write: WriteInfo, size: int
) -> Object:  # hot: every creation
    """Return a new object with its only manager.

    Objects of the same shape have the same fields, so the fields are computed once for each shape.
    """
    fields = _find_known_fields(updater, new, size)
    if fields is None:
        tracked = updater.update(updater.empty_object, new, write)
        entries = tracked["metadata"].get("managedFields", [])
        if len(entries) == 1 and len(encoding.dumps(tracked)) <= _SHAPE_BYTES_MAX:
            key = (updater.version, updater.kind, updater.subresource, _shape(new, item=False))
            _FIELDS_BY_SHAPE.put(key, (weakref.ref(updater), entries[0]["fieldsV1"]))
        return tracked
    entry = {
        "manager": write.manager or UNKNOWN,
        "operation": "Update",
        "apiVersion": updater.version,
        "time": write.time,
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
    }
    return {**new, "metadata": {**new["metadata"], "managedFields": [entry]}}


def _find_known_fields(updater: ManagedFieldsUpdater, new: Object, size: int) -> Object | None:
    """Return the fieldsV1 of a new object if they were computed before."""
    owner = (updater.version, updater.kind, updater.subresource)
    if size > _SHAPE_BYTES_MAX:
        return None
    # Many objects differ in nothing but metadata, and a digest takes a third of the time that the shape does.
    content_key: Any = None
    if updater.kind not in _KINDS_OF_UNIQUE_CONTENT:
        rest = {name: value for name, value in new.items() if name != "metadata"}
        content_key = (*owner, digest_json(rest), _shape(new["metadata"], item=False))
        found = _FIELDS_BY_CONTENT.get(content_key)
        # The caches are shared by all servers of the process, whose schemas may differ.
        if found is not None and found[0]() is updater:
            return found[1]
    found = _FIELDS_BY_SHAPE.get((*owner, _shape(new, item=False)))
    if found is None or found[0]() is not updater:
        return None
    if content_key is not None:
        _FIELDS_BY_CONTENT.put(content_key, found)
    return found[1]


def _shape(value: Any, *, item: bool) -> Any:
    """Return what decides which fields a value has: all keys, and scalars by which list items are identified."""
    if value.__class__ is list:
        return "[", *[_shape(one, item=True) if one.__class__ in (dict, list) else (one,) for one in value]
    # Any scalar of a list item may be part of its key in an associative list.
    if item:
        return tuple([(k, _shape(v, item=False) if v.__class__ in (dict, list) else v) for k, v in value.items()])
    return tuple([(k, _shape(v, item=False) if v.__class__ in (dict, list) else v is None) for k, v in value.items()])


def apply_object(
    resource: Resource, scope: RequestScope, live: ReadOnlyObject | None, applied: Any, options: WriteOptions
) -> Object:
    """Return the live object with an object applied to it; it still has to be decoded."""
    updater = resource.dependencies.managed_fields_updaters.for_resource(resource, scope.subresource)
    given = applied if isinstance(applied, dict) else {}
    write = write_info(resource, scope, options)
    return apply_with(updater, resource, scope, updater.empty_object if live is None else live, given, write, options)


def apply_with(
    updater: ManagedFieldsUpdater,
    resource: Resource,
    scope: RequestScope,
    live: ReadOnlyObject,
    applied: Object,
    write: WriteInfo,
    options: WriteOptions,
) -> Object:
    """Apply with this updater; raise errors with upstream's texts."""
    try:
        return updater.apply(live, applied, write, force=bool(options.force))
    except InvalidApply as error:
        raise BadRequest(str(error)) from error
    except (TypeMismatch, InvalidEntry) as error:
        raise error_without_reason(500, str(error)) from error
    except ApplyConflict as conflict:
        raise Conflict(str(conflict), details={"causes": conflict.causes()}) from conflict
