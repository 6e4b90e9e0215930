"""Validate the OpenAPI schema of a CRD version."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from mockkube.api.fields import (
    FieldError,
    find_duplicate_indexes,
    forbidden,
    invalid,
    map_entry_path,
    not_supported,
    required,
)
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.kinds.apiextensions.schema_check import SchemaCheck
from mockkube.api.kinds.apiextensions.structural_schemas import EMBEDDED, PRESERVE, properties, validate_structural
from mockkube.api.strategy import StrategyContext
from mockkube.lazy_dataclasses import dataclass

_TYPES: Final = ("array", "boolean", "integer", "number", "object", "string")
_LIST_TYPES: Final = ("atomic", "set", "map")
_MAP_TYPES: Final = ("atomic", "granular")
_REASONS: Final = ("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")
_UNSUPPORTED: Final = ("id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref")
_META_FIELDS: Final = ("metadata", "kind", "apiVersion")
_LIST_TYPE: Final = "x-kubernetes-list-type"
_LIST_MAP_KEYS: Final = "x-kubernetes-list-map-keys"
_MAP_TYPE: Final = "x-kubernetes-map-type"
_RULES: Final = "x-kubernetes-validations"


@dataclass(frozen=True, slots=True)
class _SchemaPosition:
    """Position of a schema inside its CRD version, as far as it restricts the schema."""

    root: bool = False
    # Reason why a default is forbidden here; None where it is allowed.
    default_forbidden_reason: str | None = None
    in_metadata: bool = False


def validate_schema(
    schema: ReadOnlyObject, old: ReadOnlyObject | None, at: str, context: StrategyContext, check: SchemaCheck
) -> list[FieldError]:
    """Validate the schema of a custom resource."""
    # upstream 1.36: apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go
    errors = [forbidden(f"{at}.nullable", "nullable cannot be true at the root")] if schema.get("nullable") else []
    errors += validate_structural(schema, at)
    errors += _validate_node(schema, at, _SchemaPosition(root=True))
    # Rules and defaults are compiled only for a structural schema: anything else could not be pruned or type-checked.
    return errors or check(schema, old, at, context)


def _validate_node(schema: ReadOnlyObject, at: str, place: _SchemaPosition) -> Iterator[FieldError]:
    yield from _validate_supported(schema, at, place)
    if schema.get("uniqueItems"):
        detail = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        yield forbidden(f"{at}.uniqueItems", detail)
    if properties(schema) and schema.get("additionalProperties") not in (None, True):
        detail = "additionalProperties and properties are mutual exclusive"
        yield forbidden(f"{at}.additionalProperties", detail)
    yield from _validate_children(schema, at, place)
    if schema.get(PRESERVE) is False:
        yield invalid(f"{at}.{PRESERVE}", False, "must be true or undefined")
    yield from _validate_map_type(schema, at)
    yield from _validate_list_type(schema, at)
    yield from _validate_rules(schema, at)


def _validate_supported(schema: ReadOnlyObject, at: str, place: _SchemaPosition) -> Iterator[FieldError]:
    kind = schema.get("type", "")
    if kind and kind not in _TYPES:
        yield not_supported(f"{at}.type", kind, _TYPES)
    if "default" in schema and place.default_forbidden_reason is not None:
        yield forbidden(f"{at}.default", f"must not be set {place.default_forbidden_reason}")
    for name in _UNSUPPORTED:
        # `additionalItems: false` is a value, too.
        if schema.get(name) or (name == "additionalItems" and schema.get(name) is not None):
            yield forbidden(f"{at}.{name}", f"{name} is not supported")
    if kind == "null":
        yield forbidden(f"{at}.type", "type cannot be set to null, use nullable as an alternative")
    if isinstance(schema.get("items"), list) and schema["items"]:
        yield forbidden(f"{at}.items", "items must be a schema object and not an array")
    if place.in_metadata and schema.get(EMBEDDED):
        yield forbidden(f"{at}.{EMBEDDED}", "must not be used inside of resource meta")


def _validate_children(schema: ReadOnlyObject, at: str, here: _SchemaPosition) -> Iterator[FieldError]:
    place, is_object_root = replace(here, root=False), here.root or bool(schema.get(EMBEDDED))
    additional = schema.get("additionalProperties")
    if isinstance(additional, dict):
        reason = "inside additionalProperties applying to object metadata"
        inner = replace(place, default_forbidden_reason=reason) if place.in_metadata else place
        yield from _validate_node(additional, f"{at}.additionalProperties", inner)
    for name, each in properties(schema).items():
        inner = place
        # The server itself fills in kind, apiVersion and metadata, so a schema must not give them defaults at the root.
        if is_object_root and name in _META_FIELDS:
            inner = replace(
                place,
                in_metadata=True,
                default_forbidden_reason=f"in top-level {name}" if here.root else place.default_forbidden_reason,
            )
        yield from _validate_node(each, map_entry_path(f"{at}.properties", name), inner)
    if schema.get("not") is not None:
        yield from _validate_node(schema["not"], f"{at}.not", place)
    for kind in ("allOf", "oneOf", "anyOf"):
        for index, each in enumerate(schema.get(kind) or []):
            yield from _validate_node(each, f"{at}.{kind}[{index}]", place)
    items = schema.get("items")
    if isinstance(items, dict):
        yield from _validate_node(items, f"{at}.items", place)


def _validate_map_type(schema: ReadOnlyObject, at: str) -> Iterator[FieldError]:
    kind, map_type = schema.get("type", ""), schema.get(_MAP_TYPE)
    if map_type is None:
        return
    if kind != "object":
        detail = f"must be object if {_MAP_TYPE} is specified"
        yield invalid(f"{at}.type", kind, detail) if kind else required(f"{at}.type", detail)
    if map_type not in _MAP_TYPES:
        yield not_supported(f"{at}.{_MAP_TYPE}", map_type, _MAP_TYPES)


def _validate_list_type(schema: ReadOnlyObject, at: str) -> Iterator[FieldError]:
    kind, list_type, keys = schema.get("type", ""), schema.get(_LIST_TYPE), schema.get(_LIST_MAP_KEYS) or []
    items = schema["items"] if isinstance(schema.get("items"), dict) else None
    if list_type is not None and kind != "array":
        detail = f"must be array if {_LIST_TYPE} is specified"
        yield invalid(f"{at}.type", kind, detail) if kind else required(f"{at}.type", detail)
    elif list_type == "set" and items is not None:
        yield from _validate_set_items(items, f"{at}.items")
    if list_type is not None and list_type not in _LIST_TYPES:
        yield not_supported(f"{at}.{_LIST_TYPE}", list_type, _LIST_TYPES)
    if keys and list_type != "map":
        detail = f"must be map if {_LIST_MAP_KEYS} is non-empty"
        yield (
            required(f"{at}.{_LIST_TYPE}", detail)
            if list_type is None
            else invalid(f"{at}.{_LIST_TYPE}", list_type, detail)
        )
    if list_type == "map":
        yield from _validate_map_keys(schema, items, keys, at)
    if list_type in ("set", "map") and items is not None:
        yield from _validate_required_keys(items, list_type, keys, f"{at}.items")


def _validate_set_items(items: ReadOnlyObject, at: str) -> Iterator[FieldError]:
    detail = f"must be atomic as item of a list with {_LIST_TYPE}=set"
    kind = items.get("type")
    if kind == "array" and items.get(_LIST_TYPE) not in (None, "atomic"):
        yield invalid(f"{at}.{_LIST_TYPE}", items.get(_LIST_TYPE), detail)
    if kind == "object" and items.get(_MAP_TYPE) != "atomic":
        yield invalid(f"{at}.{_MAP_TYPE}", items.get(_LIST_TYPE), detail)


def _validate_map_keys(
    schema: ReadOnlyObject, items: ReadOnlyObject | None, keys: list[str], at: str
) -> Iterator[FieldError]:
    if not keys:
        yield required(f"{at}.{_LIST_MAP_KEYS}", f"must not be empty if {_LIST_TYPE} is map")
    if schema.get("items") is None:
        yield required(f"{at}.items", f"must have a schema if {_LIST_TYPE} is map")
    if items is None:
        return
    if items.get("type", "") != "object":
        yield invalid(
            f"{at}.items.type", items.get("type", ""), f"must be object if parent array's {_LIST_TYPE} is map"
        )
        return
    repeated = find_duplicate_indexes(keys)
    for index, key in enumerate(keys):
        field = properties(items).get(key)
        if field is None:
            yield invalid(f"{at}.{_LIST_MAP_KEYS}", keys, "entries must all be names of item properties")
        elif field.get("type") in ("array", "object"):
            here = f"{map_entry_path(f'{at}.items.properties', key)}.type"
            # Upstream prints the type of the items here, not that of the key's field.
            yield invalid(here, items["type"], f"must be a scalar type if parent array's {_LIST_TYPE} is map")
        if index in repeated:
            yield invalid(f"{at}.{_LIST_MAP_KEYS}", keys, "must not contain duplicate entries")


def _validate_required_keys(items: ReadOnlyObject, list_type: str, keys: list[str], at: str) -> Iterator[FieldError]:
    if items.get("nullable"):
        yield forbidden(f"{at}.nullable", f"cannot be nullable when {_LIST_TYPE} is {list_type}")
    for key in keys if list_type == "map" else ():
        field, here = properties(items).get(key), map_entry_path(f"{at}.properties", key)
        if field is None:
            continue
        prefix = f"this property is in {_LIST_MAP_KEYS}, so it"
        if key not in (items.get("required") or []) and "default" not in field:
            yield required(f"{here}.default", f"{prefix} must have a default or be a required property")
        if field.get("nullable"):
            yield forbidden(f"{here}.nullable", f"{prefix} cannot be nullable")


def _validate_rules(schema: ReadOnlyObject, at: str) -> Iterator[FieldError]:
    for index, rule in enumerate(schema.get(_RULES) or []):
        here, text, message = f"{at}.{_RULES}[{index}]", rule.get("rule", "").strip(), rule.get("message", "")
        # The checks of rule and message form one chain: upstream reports only the first that fails.
        if not text:
            yield required(f"{here}.rule", "rule is not specified")
        elif message and not message.strip():
            yield invalid(f"{here}.message", message, "must be non-empty if specified")
        elif _has_line_break(message.strip()):
            yield invalid(f"{here}.message", message, "must not contain line breaks")
        elif _has_line_break(text) and not message:
            yield required(f"{here}.message", "message must be specified if rule contains line breaks")
        computed, path = rule.get("messageExpression", ""), rule.get("fieldPath", "")
        if computed and not computed.strip():
            yield required(f"{here}.messageExpression", "messageExpression must be non-empty if specified")
        reason = rule.get("reason")
        if reason is not None and reason not in _REASONS:
            yield not_supported(f"{here}.reason", reason, _REASONS)
        if path and not path.strip():
            yield invalid(f"{here}.fieldPath", path, "must be non-empty if specified")
        if _has_line_break(path):
            yield invalid(f"{here}.fieldPath", path, "must not contain line breaks")


def _has_line_break(text: Any) -> bool:
    return "\n" in text or "\r" in text
