"""OpenAPI schemas of types, with the defaults and enums that upstream generates from Go.

The published JSON schemas hold the bulk. They lack what OpenAPI 3.0 adds and what openapi-gen derives from Go types:
zero values of fields without omitempty, and enums.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import resources
from typing import Any, Final

import orjson

from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.schema import Schema, Shape, TypeField, TypeNode
from mockkube.features.versions import Version

V2_PREFIX: Final = "#/definitions/"
V3_PREFIX: Final = "#/components/schemas/"
_INT_OR_STRING: Final = "io.k8s.apimachinery.pkg.util.intstr.IntOrString"
_QUANTITY: Final = "io.k8s.apimachinery.pkg.api.resource.Quantity"
_V3_UNION_TYPES: Final[Mapping[str, Object]] = {
    _INT_OR_STRING: {"format": "int-or-string", "oneOf": [{"type": "integer"}, {"type": "string"}]},
    _QUANTITY: {"oneOf": [{"type": "string"}, {"type": "number"}]},
}
_V2_UNION_TYPES: Final[Mapping[str, Object]] = {
    _INT_OR_STRING: {"format": "int-or-string", "type": "string"},
    _QUANTITY: {"type": "string"},
}
_LAST_WITH_ITEM_DEFAULTS: Final = Version(1, 36)
_ZERO_VALUES: Final[Mapping[Shape, object]] = {
    Shape.STRUCT: {},
    Shape.STRING: "",
    Shape.BOOL: False,
    Shape.INT32: 0,
    Shape.INT64: 0,
    Shape.FLOAT: 0,
}


@cache
def _load_enums() -> Any:
    return orjson.loads(resources.files("mockkube.api").joinpath("data/enums.json").read_bytes())


def enum_values(definition: str, field: str, version: Version) -> list[list[str]]:
    """Return the allowed values of a field with their descriptions; none if the field is no enum."""
    since = _load_enums()["fields"].get(definition, {}).get(field, {})
    index = _value_at_version(version, since)
    return [] if index is None else list(_load_enums()["sets"][index])


def _value_at_version(version: Version, since: Mapping[str, Any]) -> Any:
    """Return the value that holds at a version, from values by the version since which they hold."""
    known = [value for release, value in since.items() if Version.parse(release) <= version]
    return known[-1] if known else None


class Schemas:
    """Schemas of the types of one version, in the form of swagger 2.0 or OpenAPI 3.0."""

    def __init__(self, schema: Schema, prefix: str) -> None:
        self._schema = schema
        self._prefix = prefix
        self._built: dict[str, Object] = {}
        self._added: dict[str, Object] = {}

    @property
    def version(self) -> Version:
        """Version of the types."""
        return self._schema.version

    def add_custom(self, definition: str, schema: Object) -> None:
        """Add a type that upstream does not publish."""
        self._built[definition] = self._added[definition] = schema

    def get_schema(self, definition: str) -> Object:
        """Return the schema of a type."""
        built = self._built.get(definition)
        if built is None:
            built = self._built[definition] = self._build(definition)
        return built

    def reference(self, definition: str) -> Object:
        """Return a reference to the schema of a type."""
        return {"$ref": self._prefix + definition}

    def reference_with(self, definition: str, keywords: ReadOnlyObject) -> Object:
        """Return a reference to the schema of a type with further keywords."""
        target = self.reference(definition)
        return {"allOf": [target], **keywords} if self._prefix == V3_PREFIX and keywords else {**target, **keywords}

    def collect_reachable(self, definitions: Iterator[str]) -> dict[str, Object]:
        """Return the schemas of these types and of all types they refer to, by name."""
        todo, found = list(definitions), dict[str, Object]()
        while todo:
            definition = todo.pop()
            if definition not in found:
                found[definition] = self.get_schema(definition)
                todo += _find_references(self._added.get(definition) or self._schema.definitions[definition])
        return dict(sorted(found.items()))

    def _build(self, definition: str) -> Object:
        raw = self._schema.describe_definition(definition)
        schema = {key: value for key, value in raw.items() if key not in ("properties", "type", "oneOf", "enum")}
        # swagger 2.0 has no `oneOf`: a quantity or int-or-string is shown as a string.
        if definition in _V3_UNION_TYPES:
            return schema | (_V3_UNION_TYPES if self._prefix == V3_PREFIX else _V2_UNION_TYPES)[definition]
        if "type" in raw:
            schema["type"] = _type_without_null(raw)
        if properties := raw.get("properties"):
            fields = self._schema.get_type(definition).fields
            schema["properties"] = {
                name: self._build_property(definition, fields[name], properties[name]) for name in properties
            }
        return schema

    def _build_property(self, definition: str, field: TypeField, raw: Mapping[str, Any]) -> Object:
        if field.name in self._schema.added_fields(self._schema.get_type(definition)):
            return self._build_added_value(field.node, raw)
        shown = self._build_value(field.node, raw)
        # The published schemas restrict apiVersion and kind of each type to one value, which OpenAPI documents do not.
        if field.name not in ("apiVersion", "kind") or "enum" not in raw:
            self._add_enum(shown, definition, field.name)
        default = _value_at_version(
            self._schema.version, _load_enums()["defaults"].get(definition, {}).get(field.name, {})
        )
        if default is None:
            default = zero_default(field)
        return self._with_default(shown, default)

    def _add_enum(self, shown: Object, definition: str, field: str) -> None:
        """Add the values of an enum, and list them in the description of a field that is no list."""
        values = enum_values(definition, field, self._schema.version)
        if not values:
            return
        target = shown.get("items") or shown.get("additionalProperties") or shown
        target["enum"] = [value for value, _ in values]
        if target is shown:
            lines = [f' - `"{value}"` {text}'.rstrip() for value, text in values]
            description = shown.get("description", "")
            shown["description"] = "\n".join(
                [f"{description}\n\nPossible enum values:" if description else "Possible enum values:", *lines]
            )

    def _build_value(self, node: TypeNode, raw: Mapping[str, Any]) -> Object:
        shown = {key: value for key, value in raw.items() if key not in ("type", "enum", "items", "$ref")}
        if "$ref" in raw:
            return self.reference_with(raw["$ref"].rpartition("/")[2], shown)
        if "type" in raw:
            shown["type"] = _type_without_null(raw)
        if "items" in raw:
            assert node.item is not None
            shown["items"] = self._build_item(node.item, raw["items"], pointers=node.go.startswith("[]*"))
        if isinstance(raw.get("additionalProperties"), dict):
            assert node.item is not None
            pointers = node.go.partition("]")[2].startswith("*")
            shown["additionalProperties"] = self._build_item(node.item, raw["additionalProperties"], pointers=pointers)
        return shown

    def _build_added_value(self, node: TypeNode, raw: Mapping[str, Any]) -> Object:
        """Return the schema of a field that a proposal adds, with its enums and inner objects."""
        shown = {**self._build_value(node, raw), **({"enum": raw["enum"]} if "enum" in raw else {})}
        if "items" in raw and node.item is not None:
            shown["items"] = self._build_added_value(node.item, raw["items"])
        if isinstance(raw.get("additionalProperties"), dict) and node.item is not None:
            shown["additionalProperties"] = self._build_added_value(node.item, raw["additionalProperties"])
        if "properties" in raw:
            inner = raw["properties"]
            shown["properties"] = {name: self._build_added_value(node.fields[name].node, inner[name]) for name in inner}
        return shown

    def _build_item(self, node: TypeNode, raw: Mapping[str, Any], *, pointers: bool) -> Object:
        without = pointers or self._schema.version > _LAST_WITH_ITEM_DEFAULTS
        default = None if without else _ZERO_VALUES.get(node.shape)
        return self._with_default(self._build_value(node, raw), default)

    def _with_default(self, shown: Object, default: object) -> Object:
        """Add a default, which only OpenAPI 3.0 documents show."""
        if default is None or self._prefix != V3_PREFIX:
            return shown
        if "$ref" in shown:
            # OpenAPI 3.0 ignores keywords beside a `$ref`, so the reference is wrapped.
            shown = {"allOf": [{"$ref": shown.pop("$ref")}], **shown}
        return {**shown, "default": default}


def zero_default(field: TypeField) -> object:
    """Return the default implied by the Go type; None for a field that is absent when empty."""
    # upstream 1.36: kube-openapi/pkg/generators/openapi.go, mustEnforceDefault
    shape = field.node.shape
    if field.pointer or (shape is not Shape.STRUCT and (field.omit_empty or field.omit_zero)):
        return None
    return _ZERO_VALUES.get(shape)


def _type_without_null(raw: Mapping[str, Any]) -> Any:
    """Return the type without the `null` that the published schemas allow for validation of client input."""
    kind = raw["type"]
    return next(one for one in kind if one != "null") if isinstance(kind, list) else kind


def _find_references(raw: Any) -> Iterator[str]:
    if isinstance(raw, dict):
        for key, value in raw.items():
            if key == "$ref" and isinstance(value, str):
                yield value.rpartition("/")[2]
            else:
                yield from _find_references(value)
    elif isinstance(raw, list):
        for value in raw:
            yield from _find_references(value)
