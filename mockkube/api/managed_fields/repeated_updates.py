"""Updates that repeat what their manager wrote before: of the managedFields only the time changes.

Nodes renew their leases and report their status like this, and so does everyone who changes a value again and again.
The entries are compared with the changed paths as they are stored, without decoding them.
"""

import re
import weakref
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any, Final

import orjson

from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.managed_fields.errors import InvalidEntry
from mockkube.api.managed_fields.field_set import FieldSet, Path
from mockkube.api.managed_fields.managers import APPLY, UPDATE, UPDATE_ENTRIES_MAX, sort_key
from mockkube.api.managed_fields.reconcile import reconcile_with_type
from mockkube.api.managed_fields.types import Type

_SETTLED_MAX: Final = 65_536
# Digests of fieldsV1 that decoding, reconciling with a type and encoding does not change, with these types.
_OWNER: Final = b'"k:{\\"uid\\":'
_OWNER_UID: Final = re.compile(rb'"k:\{\\"uid\\":\\"[0-9a-zA-Z-]+\\"\}"')
_SETTLED: Final[dict[tuple[int, bytes], "weakref.ref[Type]"]] = {}


def repeat_update(
    entries: Sequence[ReadOnlyObject], manager: tuple[str, str, str], paths: Sequence[Path], kind: Type, time: str
) -> list[Object] | None:  # hot: per update
    """Return the entries after an update of these paths; None unless only the time of the manager's entry changes.

    `manager` is the name, version and subresource of an updater; the paths are those that it may manage.
    """
    name, version, subresource = manager
    own = -1
    for index, entry in enumerate(entries):
        fields: Any = entry.get("fieldsV1")
        # Managers that wrote in other versions have other paths, which only a conversion of the object shows.
        if entry.get("apiVersion") != version or entry.get("fieldsType") != "FieldsV1" or not _is_settled(fields, kind):
            return None
        is_own = (
            entry.get("manager") == name
            and entry.get("operation") == UPDATE
            and entry.get("subresource", "") == subresource
        )
        if is_own and own < 0:
            own = index
        # A repeated entry, an operation that does not exist, or a field that was another manager's.
        elif is_own or entry.get("operation") not in (UPDATE, APPLY) or any(_has(fields, path) for path in paths):
            return None
    if own < 0 or not all(_has(entries[own]["fieldsV1"], path) for path in paths):
        return None
    if len(entries) == 1:
        return [_with_time(entries[0], time)]
    if len(entries) > UPDATE_ENTRIES_MAX or len({_identify(entry) for entry in entries}) < len(entries):
        return None
    result = [_with_time(entry, time if index == own else entry.get("time")) for index, entry in enumerate(entries)]
    result.sort(key=_sort_key)
    return result


def _has(fields: Mapping[str, Any], path: Path) -> bool:
    """Return whether a path itself is a member of settled fields."""
    for element in path:
        beneath = fields.get(element)
        if beneath is None:
            return False
        fields = beneath
    return not fields or "." in fields


def _is_settled(fields: Any, kind: Type) -> bool:
    """Return whether decoding, reconciling and encoding the fields gives the same fields, and some."""
    written = orjson.dumps(fields)
    # Only the uid of the owner tells the pods of workloads apart. A single one has no order among others.
    alike = _OWNER_UID.sub(b"", written) if written.count(_OWNER) == 1 else written
    key = id(kind), blake2b(alike, digest_size=16).digest()
    settled_type = _SETTLED.get(key)
    if settled_type is not None and settled_type() is kind:
        return True
    try:
        known = FieldSet.from_fields_v1(fields)
    except InvalidEntry:
        return False
    known = known.copy()  # without the order in which the fields were written
    if not known or reconcile_with_type(known, kind) is not known:
        return False
    if orjson.dumps(known.to_fields_v1()) != written:
        return False
    if len(_SETTLED) >= _SETTLED_MAX:
        _SETTLED.clear()
    # Weak: types of custom kinds come and go.
    _SETTLED[key] = weakref.ref(kind)
    return True


def _identify(entry: ReadOnlyObject) -> tuple[str, str, str]:
    return entry.get("manager", ""), entry["operation"], entry.get("subresource", "")


def _sort_key(entry: ReadOnlyObject) -> tuple[str, ...]:
    name, operation, subresource = _identify(entry)
    return sort_key(operation, entry.get("time") or "", name, entry["apiVersion"], subresource)


def _with_time(entry: ReadOnlyObject, time: str | None) -> Object:
    """Return an entry with a time, its fields in the order in which they are encoded."""
    name, subresource = entry.get("manager"), entry.get("subresource")
    written: Object = {"manager": name} if name else {}
    written["operation"], written["apiVersion"] = entry["operation"], entry["apiVersion"]
    if time:
        written["time"] = time
    written["fieldsType"], written["fieldsV1"] = "FieldsV1", entry["fieldsV1"]
    if subresource:
        written["subresource"] = subresource
    return written
