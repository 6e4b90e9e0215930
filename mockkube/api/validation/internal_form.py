"""Internal form of objects: how the server's own Go types print them in errors and diffs.

`internal.json` lists the fields of each type in order: Go name, JSON name, Go type.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final, TypeAlias

import orjson

from mockkube.api.fields import to_go_json
from mockkube.api.json_objects import ReadOnlyObject

# Go name, JSON name, and the zero value or the shape of the field.
InternalShape: TypeAlias = tuple[tuple[str, str, Any], ...]


def to_internal(obj: ReadOnlyObject | None, shape: InternalShape) -> dict[str, Any] | None:
    """Return the object in its internal form; None stays None."""
    if obj is None:
        return None
    return {go: _to_internal_value(obj.get(name), inside) for go, name, inside in shape}


def make_optional(shape: InternalShape) -> list[InternalShape]:
    """Mark a shape as that of a pointer, which is null when absent."""
    return [shape]


def _to_internal_value(value: Any, inside: Any) -> Any:
    match inside:
        case tuple():
            return to_internal(value or {}, inside)
        case [shape]:
            if isinstance(value, list):
                return [to_internal(item, shape) for item in value]
            return to_internal(value, shape)
        case _:
            return inside if value is None else value


_ZERO: Final = {"string": "", "int": 0, "bool": False, "Quantity": "0", "IntOrString": 0}
_HOST_FIELDS: Final = ("hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace", "hostUsers")
_CONTEXT_LINES: Final = 3
# Fields of metadata in the order in which a server prints them.
METADATA_FIELDS: Final = (
    *("name", "generateName", "namespace", "selfLink", "uid", "resourceVersion", "generation", "creationTimestamp"),
    *("deletionTimestamp", "deletionGracePeriodSeconds", "labels", "annotations", "ownerReferences", "finalizers"),
    "managedFields",
)
_MANAGED_FIELDS: Final = ("manager", "operation", "apiVersion", "time", "fieldsType", "fieldsV1", "subresource")


@cache
def _load_types() -> Mapping[str, tuple[tuple[str, str, str], ...]]:
    raw = orjson.loads((Path(__file__).parent / "internal.json").read_bytes())
    return {name: tuple(tuple(row.split(" ")) for row in rows) for name, rows in raw.items()}


def to_internal_form(go_type: str, value: Any) -> Any:
    """Return the value as Go prints it: every field, in Go's order and with Go's names."""
    if go_type.startswith("*"):
        return None if value is None else to_internal_form(go_type[1:], value)
    if go_type.startswith("[]"):
        return [to_internal_form(go_type[2:], item) for item in value] if value else None
    if go_type in _load_types():
        return {name: to_internal_form(kind, part) for name, kind, part in _iter_fields(go_type, value or {})}
    if go_type == "map":
        return dict(sorted(value.items())) if value else None
    if go_type == "metav1.LabelSelector":
        return order_selector(value)
    return _ZERO.get(go_type) if value is None else value


def _iter_fields(go_type: str, value: ReadOnlyObject) -> Iterator[tuple[str, str, Any]]:
    if go_type == "PodSpec":
        value = _move_host_fields(value)
    for name, key, kind in _load_types()[go_type]:
        if name != "*":
            yield name, kind, value.get(key)
            continue
        for part, printed in order_metadata(value.get(key) or {}).items():  # inlined, and printed as in JSON
            yield part, "", printed


def order_selector(selector: ReadOnlyObject | None) -> dict[str, Any] | None:
    """Return a label selector in the order in which Go encodes it; None if there is none."""
    if selector is None:
        return None
    form: dict[str, Any] = {}
    if labels := selector.get("matchLabels"):
        form["matchLabels"] = dict(sorted(labels.items()))
    if expressions := selector.get("matchExpressions"):
        form["matchExpressions"] = [_pick_in_order(item, ("key", "operator", "values")) for item in expressions]
    return form


def order_metadata(metadata: ReadOnlyObject) -> dict[str, Any]:
    """Return metadata in the order in which Go encodes it."""
    given = {name: metadata[name] for name in METADATA_FIELDS if metadata.get(name) is not None}
    return {name: _METADATA_FORMS.get(name, _identity)(value) for name, value in given.items()}


def _identity(value: Any) -> Any:
    return value


def _pick_in_order(item: ReadOnlyObject, names: Sequence[str]) -> dict[str, Any]:
    return {name: item[name] for name in names if name in item}


def order_owner(owner: ReadOnlyObject) -> dict[str, Any]:
    """Return an owner reference in the order in which Go encodes it."""
    always = {name: owner.get(name, "") for name in ("apiVersion", "kind", "name", "uid")}
    return always | _pick_in_order(owner, ("controller", "blockOwnerDeletion"))


def _sort_map(value: Mapping[str, str]) -> dict[str, str]:
    return dict(sorted(value.items()))


_METADATA_FORMS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "labels": _sort_map,
    "annotations": _sort_map,
    "ownerReferences": lambda owners: [order_owner(owner) for owner in owners],
    "managedFields": lambda entries: [_pick_in_order(entry, _MANAGED_FIELDS) for entry in entries],
}


def _move_host_fields(spec: ReadOnlyObject) -> ReadOnlyObject:
    """Move the host fields of a pod spec into the security context, where the internal type has them."""
    moved = {name: spec[name] for name in _HOST_FIELDS if name in spec}
    return {**spec, "securityContext": {**spec.get("securityContext", {}), **moved}}


def diff_internal_forms(go_type: str, old: Any, new: Any) -> str:
    """Return a unified diff of two values in their internal form."""
    before, after = (to_go_json(to_internal_form(go_type, value), indent=1).split("\n") for value in (old, new))
    import difflib  # only an error needs it

    lines = list(difflib.unified_diff(before, after, n=_CONTEXT_LINES, lineterm=""))[2:]
    return "".join(f"{line}\n" for line in lines)
