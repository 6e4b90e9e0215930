"""Field numbers of types on the wire: the schema's fields, joined with the numbers of Go's struct tags."""

from collections.abc import Mapping
from typing import Final

from mockkube.api.schema import Shape, TypeField, TypeNode, find_go_alias, find_go_struct
from mockkube.lazy_dataclasses import dataclass

_META: Final = "meta/v1"
# Named slices that upstream declares as messages of their own, with the single field `items`.
_ITEMS: Final = ("AttestationValue", "ExtraValue", "Verbs")


@dataclass(frozen=True, slots=True)
class WireField:
    """A numbered field; without a schema field, an embedded struct that JSON inlines and protobuf nests."""

    number: int
    field: TypeField | None
    inlined: "tuple[WireField, ...]" = ()


def wire_fields(node: TypeNode) -> tuple[WireField, ...]:
    """Return the numbered fields of a struct, by number."""
    *_, version_parent, version, name = node.definition.split(".")
    return _struct_fields(f"{version_parent}/{version}", name, node.fields)


def is_items_message(node: TypeNode) -> bool:
    """Return whether a list is a message that holds its items."""
    return node.shape is Shape.LIST and node.go.rpartition(".")[2] in _ITEMS


def _struct_fields(package: str, name: str, fields: Mapping[str, TypeField]) -> tuple[WireField, ...]:
    rows = find_go_struct(package, name)
    if rows is None:
        alias = find_go_alias(package, name)
        return _struct_fields(*_find_declaration(package, alias), fields) if alias else ()
    found = []
    for field_name, go, _, number in rows:
        if not number:
            continue
        if not field_name:
            found.append(WireField(number, None, _struct_fields(*_find_declaration(package, go), fields)))
        elif field_name in fields:
            found.append(WireField(number, fields[field_name]))
    return tuple(sorted(found, key=lambda slot: slot.number))


def _find_declaration(package: str, go: str) -> tuple[str, str]:
    """Return package and name of the type that a struct of `package` refers to as `go`."""
    qualifier, _, name = go.rpartition(".")
    if not qualifier:
        return package, name
    group = package.partition("/")[0]
    candidates = [_META] if qualifier == "metav1" else [f"{group}/v1", "core/v1", _META]
    return next((one for one in candidates if find_go_struct(one, name) is not None), package), name
