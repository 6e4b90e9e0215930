"""A structural schema as a tree: what pruning, defaulting and validation walk.

It is built once per version of a definition, from JSON that the definition's own validation has accepted.
"""

# upstream 1.36: apiextensions-apiserver/pkg/apiserver/schema/convert.go

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from mockkube.api.types import ReadOnlyObject

_TEXT: Final[ReadOnlyObject] = {"type": "string"}
_METADATA: Final[ReadOnlyObject] = {"type": "object", "properties": {"name": _TEXT, "generateName": _TEXT}}


@dataclass(slots=True, eq=False)
class Structural:
    """One schema and those within it. `raw` is the JSON it was read from."""

    raw: ReadOnlyObject
    type: str = ""
    properties: "dict[str, Structural]" = field(default_factory=dict)
    additional: "Structural | None" = None
    """The schema of what is not among the properties."""
    keeps_additional: bool = False
    """Whether `additionalProperties` is given at all, be it as a boolean."""
    items: "Structural | None" = None
    default: Any = None
    nullable: bool = False
    preserve: bool = False
    embedded: bool = False
    int_or_string: bool = False
    list_type: str = ""
    map_keys: tuple[str, ...] = ()

    @property
    def rules(self) -> tuple[ReadOnlyObject, ...]:
        """The rules in CEL of this very schema."""
        return tuple(self.raw.get("x-kubernetes-validations") or ())

    def child(self, name: str) -> "Structural | None":
        """The schema of a field or an entry."""
        return self.properties.get(name, self.additional)

    def refuses_null(self, value: Any) -> bool:
        """Whether the value is a null that the schema does not allow."""
        return value is None and not self.nullable

    def whole(self) -> "Structural":
        """The schema as that of a whole object: kind, apiVersion and a name are known in any case."""
        given = {"kind": _TEXT, "apiVersion": _TEXT, "metadata": _METADATA}
        return replace(self, properties={**self.properties, **{name: read(raw) for name, raw in given.items()}})


def read(raw: ReadOnlyObject | None) -> Structural:
    """Return the tree of a schema."""
    raw = raw or {}
    additional, items = raw.get("additionalProperties"), raw.get("items")
    return Structural(
        raw,
        raw.get("type", ""),
        {name: read(each) for name, each in (raw.get("properties") or {}).items()},
        read(additional) if isinstance(additional, Mapping) else None,
        additional is not None,
        read(items) if isinstance(items, Mapping) else None,
        raw.get("default"),
        bool(raw.get("nullable")),
        bool(raw.get("x-kubernetes-preserve-unknown-fields")),
        bool(raw.get("x-kubernetes-embedded-resource")),
        bool(raw.get("x-kubernetes-int-or-string")),
        raw.get("x-kubernetes-list-type") or "",
        tuple(raw.get("x-kubernetes-list-map-keys") or ()),
    )
