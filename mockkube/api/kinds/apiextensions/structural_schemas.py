"""Validate structural schemas, the subset of OpenAPI that allows pruning and defaulting."""

from collections.abc import Iterator
from enum import Enum
from typing import Any, Final

from mockkube_cel.golang.goregexp import RegexError, compile_pattern

from mockkube.api.fields import FieldError, forbidden, invalid, map_entry_path, required
from mockkube.api.json_objects import ReadOnlyObject

PRESERVE: Final = "x-kubernetes-preserve-unknown-fields"
EMBEDDED: Final = "x-kubernetes-embedded-resource"
INT_OR_STRING: Final = "x-kubernetes-int-or-string"
_INT_OR_STRING_ANY_OF: Final = [{"type": "integer"}, {"type": "string"}]
_METADATA_FIELDS: Final = frozenset(("name", "generateName"))
# Fields that a schema inside anyOf, allOf, oneOf and not must not have, and what they must be instead: the structure of
# an object is defined outside of them.
_FORBIDDEN_IN_VALUES: Final = {
    "type": "empty",
    "additionalProperties": "undefined",
    "default": "undefined",
    "title": "empty",
    "description": "empty",
    "nullable": "false",
    PRESERVE: "false",
    EMBEDDED: "false",
    INT_OR_STRING: "false",
    "x-kubernetes-list-map-keys": "empty",
    "x-kubernetes-list-type": "undefined",
    "x-kubernetes-map-type": "undefined",
    "x-kubernetes-validations": "empty",
}


class SchemaLevel(Enum):
    """Position of a schema, with upstream's message for a missing type there."""

    ROOT = "must not be empty at the root"
    ITEM = "must not be empty for specified array items"
    FIELD = "must not be empty for specified object fields"


def validate_structural(schema: ReadOnlyObject, at: str) -> list[FieldError]:
    """Return the errors of a schema, sorted by text."""
    # upstream 1.36: apiextensions-apiserver/pkg/apiserver/schema/{validation,complete}.go
    errors = [*_validate_node(schema, SchemaLevel.ROOT, at), *_validate_completeness(schema, schema, at)]
    # Upstream walks Go maps, whose order is random, and sorts the errors afterwards.
    return sorted(errors, key=str)


def properties(schema: ReadOnlyObject) -> dict[str, Any]:
    """Return the schemas of the properties, by name."""
    return {name: each or {} for name, each in (schema.get("properties") or {}).items()}


def _additional_properties(schema: ReadOnlyObject) -> ReadOnlyObject | None:
    more = schema.get("additionalProperties")
    return more if isinstance(more, dict) else None


def _validate_node(schema: ReadOnlyObject, level: SchemaLevel, at: str) -> Iterator[FieldError]:
    items = schema.get("items")
    if schema.get("type") == "array" and items is None:
        yield required(f"{at}.items", "must be specified")
    if isinstance(items, dict):
        yield from _validate_node(items, SchemaLevel.ITEM, f"{at}.items")
    for name, each in properties(schema).items():
        yield from _validate_node(each, SchemaLevel.FIELD, map_entry_path(f"{at}.properties", name))
    if "additionalProperties" in schema and level is SchemaLevel.ROOT:
        yield forbidden(f"{at}.additionalProperties", "must not be used at the root")
    more = _additional_properties(schema)
    if more is not None:
        yield from _validate_node(more, SchemaLevel.FIELD, f"{at}.additionalProperties")
    if schema.get(INT_OR_STRING):
        given = [name for name in (PRESERVE, EMBEDDED) if schema.get(name)]
        yield from (invalid(f"{at}.{name}", True, f"must be false if {INT_OR_STRING} is true") for name in given)
    yield from _validate_value_validation(schema, at, outermost=True)
    yield from _validate_type(schema, level, at)
    yield from _validate_meta_fields(schema, level, at)


def _validate_type(schema: ReadOnlyObject, level: SchemaLevel, at: str) -> Iterator[FieldError]:
    kind, at = schema.get("type", ""), f"{at}.type"
    if schema.get(EMBEDDED) and kind != "object":
        detail = f"must be object if {EMBEDDED} is true"
        yield invalid(at, kind, detail) if kind else required(at, detail)
    elif not kind and not schema.get(INT_OR_STRING) and not schema.get(PRESERVE):
        yield required(at, level.value)
    if level is SchemaLevel.ROOT and kind not in ("", "object"):
        yield invalid(at, kind, "must be object at the root")


def _validate_meta_fields(schema: ReadOnlyObject, level: SchemaLevel, at: str) -> Iterator[FieldError]:
    """Validate the fields that every object has: kind, apiVersion, metadata."""
    embedded, is_object_root = schema.get(EMBEDDED), level is SchemaLevel.ROOT or bool(schema.get(EMBEDDED))
    if embedded and "additionalProperties" in schema:
        yield forbidden(f"{at}.additionalProperties", f"must not be used if {EMBEDDED} is set")
    fields = properties(schema)
    for name, kind in (("kind", "string"), ("apiVersion", "string"), ("metadata", "object")):
        if is_object_root and name in fields and fields[name].get("type", "") != kind:
            yield invalid(
                f"{map_entry_path(f'{at}.properties', name)}.type", fields[name].get("type", ""), f"must be {kind}"
            )
    if level is SchemaLevel.ROOT and "metadata" in fields:
        # `default` is tolerated here because validate_schema reports it with a message of its own.
        rest = {name for name in fields["metadata"] if name not in ("type", "default", "properties")}
        if rest or not properties(fields["metadata"]).keys() <= _METADATA_FIELDS:
            detail = "must not specify anything other than name and generateName, but metadata is implicitly specified"
            yield forbidden(f"{at}.properties[metadata]", detail)
    if embedded and not schema.get(PRESERVE) and not fields:
        detail = f"must not be empty if {EMBEDDED} is true without {PRESERVE}"
        yield required(f"{at}.properties", detail)


def _validate_value_validation(schema: ReadOnlyObject, at: str, *, outermost: bool = False) -> Iterator[FieldError]:
    any_of, all_of = schema.get("anyOf") or [], schema.get("allOf") or []
    # `anyOf: [integer, string]` may repeat x-kubernetes-int-or-string; only there are types allowed inside anyOf.
    if not (outermost and any_of == _INT_OR_STRING_ANY_OF):
        yield from _validate_nested_list(any_of, f"{at}.anyOf")
    for index, each in enumerate(all_of):
        skip = outermost and index == 0 and each.get("anyOf") == _INT_OR_STRING_ANY_OF
        inner = {name: value for name, value in each.items() if name != "anyOf"} if skip else each
        yield from _validate_nested_value_validation(inner, f"{at}.allOf[{index}]")
    yield from _validate_nested_list(schema.get("oneOf") or [], f"{at}.oneOf")
    if schema.get("not") is not None:
        yield from _validate_nested_value_validation(schema["not"], f"{at}.not")
    pattern = schema.get("pattern")
    if pattern:
        try:
            compile_pattern(pattern)
        except RegexError as error:
            yield invalid(f"{at}.pattern", pattern, f"must be a valid regular expression, but isn't: {error}")


def _validate_nested_list(schemas: list[ReadOnlyObject], at: str) -> Iterator[FieldError]:
    for index, each in enumerate(schemas):
        yield from _validate_nested_value_validation(each, f"{at}[{index}]")


def _validate_nested_value_validation(schema: ReadOnlyObject, at: str) -> Iterator[FieldError]:
    yield from _validate_value_validation(schema, at)
    if isinstance(schema.get("items"), dict):
        yield from _validate_nested_value_validation(schema["items"], f"{at}.items")
    for name, each in properties(schema).items():
        yield from _validate_nested_value_validation(each, map_entry_path(f"{at}.properties", name))
    for name, state in _FORBIDDEN_IN_VALUES.items():
        if schema.get(name) not in (None, "", False, []):
            yield forbidden(f"{at}.{name}", f"must be {state} to be structural")
    if "metadata" in properties(schema):
        yield forbidden(f"{at}.properties[metadata]", "must not be specified in a nested context")


def _validate_completeness(values: ReadOnlyObject, schema: ReadOnlyObject, at: str) -> Iterator[FieldError]:
    """Report fields that only anyOf, allOf, oneOf or not mention."""
    for name in ("allOf", "anyOf", "oneOf"):
        for index, each in enumerate(values.get(name) or []):
            yield from _validate_defined(each, schema, f"{at}.{name}[{index}]", at)
    if values.get("not") is not None:
        yield from _validate_defined(values["not"], schema, f"{at}.not", at)
    if values is not schema:
        return
    for name, each in properties(schema).items():
        yield from _validate_completeness(each, each, map_entry_path(f"{at}.properties", name))
    for name in ("items", "additionalProperties"):
        each = schema.get(name)
        if isinstance(each, dict):
            yield from _validate_completeness(each, each, f"{at}.{name}")


def _validate_defined(
    values: ReadOnlyObject, schema: ReadOnlyObject, at: str, structure_at: str
) -> Iterator[FieldError]:
    because = "because it is defined in"
    if isinstance(values.get("items"), dict):
        if not isinstance(schema.get("items"), dict):
            yield required(f"{structure_at}.items", f"{because} {at}.items")
        else:
            yield from _validate_defined(values["items"], schema["items"], f"{at}.items", f"{structure_at}.items")
    for name, each in properties(values).items():
        here, there = map_entry_path(f"{at}.properties", name), map_entry_path(f"{structure_at}.properties", name)
        if name not in properties(schema):
            yield required(there, f"{because} {here}")
        else:
            yield from _validate_defined(each, properties(schema)[name], here, there)
    yield from _validate_completeness(values, schema, at)
