"""Structural schema as a tree, which pruning, defaulting and validation walk.

It is built once for each version of a CRD, from JSON that the validation of CRDs has accepted.
"""

# upstream 1.36: apiextensions-apiserver/pkg/apiserver/schema/convert.go

from collections.abc import Mapping
from dataclasses import field, replace
from typing import Any, Final

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.lazy_dataclasses import dataclass

_STRING: Final[ReadOnlyObject] = {"type": "string"}
_METADATA: Final[ReadOnlyObject] = {"type": "object", "properties": {"name": _STRING, "generateName": _STRING}}


@dataclass(slots=True, eq=False)
class Structural:
    """Structural schema and the schemas within it. `raw` is its JSON."""

    raw: ReadOnlyObject
    type: str = ""
    properties: "dict[str, Structural]" = field(default_factory=dict)
    # Schema of values that are not among the properties.
    additional_properties: "Structural | None" = None
    # Whether `additionalProperties` is set, to a schema or a boolean.
    has_additional_properties: bool = False
    items: "Structural | None" = None
    default: Any = None
    is_nullable: bool = False
    preserves_unknown_fields: bool = False
    is_embedded_resource: bool = False
    is_int_or_string: bool = False
    list_type: str = ""
    map_keys: tuple[str, ...] = ()

    @property
    def rules(self) -> tuple[ReadOnlyObject, ...]:
        """CEL rules of this schema, without those within it."""
        return tuple(self.raw.get("x-kubernetes-validations") or ())

    def child(self, name: str) -> "Structural | None":
        """Return the schema of a field or map entry."""
        return self.properties.get(name, self.additional_properties)

    def rejects_null(self, value: Any) -> bool:
        """Return whether the value is null and the schema does not allow that."""
        return value is None and not self.is_nullable

    def with_object_fields(self) -> "Structural":
        """Return the schema with apiVersion, kind and metadata.name declared, as for an object."""
        if self._declares_object_fields():
            return self
        given = {"kind": _STRING, "apiVersion": _STRING, "metadata": _METADATA}
        return replace(
            self, properties={**self.properties, **{name: parse_structural(raw) for name, raw in given.items()}}
        )

    def _declares_object_fields(self) -> bool:
        types = {name: each.type for name, each in self.properties.items()}
        if (types.get("kind"), types.get("apiVersion"), types.get("metadata")) != ("string", "string", "object"):
            return False
        metadata = self.properties["metadata"].properties
        return all(name in metadata and metadata[name].type == "string" for name in ("name", "generateName"))


def parse_structural(raw: ReadOnlyObject | None) -> Structural:
    """Parse an OpenAPI schema."""
    raw = raw or {}
    additional, items = raw.get("additionalProperties"), raw.get("items")
    return Structural(
        raw,
        raw.get("type", ""),
        {name: parse_structural(each) for name, each in (raw.get("properties") or {}).items()},
        parse_structural(additional) if isinstance(additional, Mapping) else None,
        additional is not None,
        parse_structural(items) if isinstance(items, Mapping) else None,
        raw.get("default"),
        bool(raw.get("nullable")),
        bool(raw.get("x-kubernetes-preserve-unknown-fields")),
        bool(raw.get("x-kubernetes-embedded-resource")),
        bool(raw.get("x-kubernetes-int-or-string")),
        raw.get("x-kubernetes-list-type") or "",
        tuple(raw.get("x-kubernetes-list-map-keys") or ()),
    )
