"""Root schemas of CRDs with a status subresource, and schemas as error messages print them."""

# upstream 1.36: apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go, types_jsonschema.go

from collections.abc import Callable, Mapping
from typing import Any, Final

from mockkube.api.fields import FieldError, invalid
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.kinds.apiextensions.structural_schemas import EMBEDDED, PRESERVE

# Name in Go, name in JSON, and the value that is printed for a missing field. The order is that of the Go struct: the
# first unsupported field is reported.
_FIELDS: Final[tuple[tuple[str, str, Any], ...]] = (
    ("ID", "id", ""),
    ("Schema", "$schema", ""),
    ("Ref", "$ref", None),
    ("Description", "description", ""),
    ("Type", "type", ""),
    ("Nullable", "nullable", False),
    ("Format", "format", ""),
    ("Title", "title", ""),
    ("Default", "default", None),
    ("Maximum", "maximum", None),
    ("ExclusiveMaximum", "exclusiveMaximum", False),
    ("Minimum", "minimum", None),
    ("ExclusiveMinimum", "exclusiveMinimum", False),
    ("MaxLength", "maxLength", None),
    ("MinLength", "minLength", None),
    ("Pattern", "pattern", ""),
    ("MaxItems", "maxItems", None),
    ("MinItems", "minItems", None),
    ("UniqueItems", "uniqueItems", False),
    ("MultipleOf", "multipleOf", None),
    ("Enum", "enum", None),
    ("MaxProperties", "maxProperties", None),
    ("MinProperties", "minProperties", None),
    ("Required", "required", None),
    ("Items", "items", None),
    ("AllOf", "allOf", None),
    ("OneOf", "oneOf", None),
    ("AnyOf", "anyOf", None),
    ("Not", "not", None),
    ("Properties", "properties", None),
    ("AdditionalProperties", "additionalProperties", None),
    ("PatternProperties", "patternProperties", None),
    ("Dependencies", "dependencies", None),
    ("AdditionalItems", "additionalItems", None),
    ("Definitions", "definitions", None),
    ("ExternalDocs", "externalDocs", None),
    ("Example", "example", None),
    ("XPreserveUnknownFields", PRESERVE, None),
    ("XEmbeddedResource", EMBEDDED, False),
    ("XIntOrString", "x-kubernetes-int-or-string", False),
    ("XListMapKeys", "x-kubernetes-list-map-keys", None),
    ("XListType", "x-kubernetes-list-type", None),
    ("XMapType", "x-kubernetes-map-type", None),
    ("XValidations", "x-kubernetes-validations", None),
)
_ALLOWED_AT_ROOT: Final = (
    *("Description", "Type", "Format", "Title", "Maximum", "ExclusiveMaximum", "Minimum", "ExclusiveMinimum"),
    *("MaxLength", "MinLength", "Pattern", "MaxItems", "MinItems", "UniqueItems", "MultipleOf", "Required", "Items"),
    *("Properties", "ExternalDocs", "Example", "XPreserveUnknownFields", "XValidations"),
)
_ONLY_FIELDS_DETAIL: Final = "fields are allowed at the root of the schema if the status subresource is enabled"
_ONLY_OBJECT_DETAIL: Final = (
    'only "object" is allowed as the type at the root of the schema if the status subresource is enabled'
)


def validate_root(schema: ReadOnlyObject, at: str) -> list[FieldError]:
    """Reject the first field that must not stand at the root of a schema with a status."""
    # The status subresource is validated with the `status` property alone, which loses constraints at the root.
    for go, name, empty in _FIELDS:
        value = schema.get(name, empty)
        # The class is compared, too: in Python 0 equals False, but only one of them is Go's zero value.
        if value == empty and value.__class__ is empty.__class__:
            continue
        if go == "Type":
            if value != "object":
                return [invalid(f"{at}.type", value, _ONLY_OBJECT_DETAIL)]
        elif go not in _ALLOWED_AT_ROOT:
            return [
                invalid(at, to_internal_schema(schema), f"only [{' '.join(_ALLOWED_AT_ROOT)}] {_ONLY_FIELDS_DETAIL}")
            ]
    return []


def to_internal_schema(schema: ReadOnlyObject) -> dict[str, Any]:
    """Return a schema as error messages print it: every field, under its Go name."""
    return {go: _convert_field(name, schema.get(name), empty) for go, name, empty in _FIELDS}


def _convert_field(name: str, value: Any, empty: Any) -> Any:
    return empty if value is None else _CONVERTERS.get(name, _identity)(value)


def _identity(value: Any) -> Any:
    return value


def _convert_list(schemas: list[ReadOnlyObject]) -> list[dict[str, Any]]:
    return [to_internal_schema(schema) for schema in schemas]


def _convert_map(schemas: Mapping[str, ReadOnlyObject]) -> dict[str, Any]:
    return {name: to_internal_schema(schema) for name, schema in sorted(schemas.items())}


def _convert_schema_or_array(value: Any, many: str = "JSONSchemas") -> dict[str, Any]:
    if isinstance(value, list):
        return {"Schema": None, many: _convert_list(value) if many == "JSONSchemas" else value}
    return {"Schema": to_internal_schema(value), many: None}


def _convert_schema_or_bool(value: Any) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"Allows": value, "Schema": None}
    return {"Allows": True, "Schema": to_internal_schema(value)}


def _convert_rules(rules: list[ReadOnlyObject]) -> list[dict[str, Any]]:
    return [
        {
            "Rule": rule.get("rule", ""),
            "Message": rule.get("message", ""),
            "MessageExpression": rule.get("messageExpression", ""),
            "Reason": rule.get("reason"),
            "FieldPath": rule.get("fieldPath", ""),
            "OptionalOldSelf": rule.get("optionalOldSelf"),
        }
        for rule in rules
    ]


_CONVERTERS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "items": _convert_schema_or_array,
    **dict.fromkeys(("allOf", "oneOf", "anyOf"), _convert_list),
    "not": to_internal_schema,
    **dict.fromkeys(("properties", "patternProperties", "definitions"), _convert_map),
    **dict.fromkeys(("additionalProperties", "additionalItems"), _convert_schema_or_bool),
    "dependencies": lambda value: {
        name: _convert_schema_or_array(one, "Property") for name, one in sorted(value.items())
    },
    "externalDocs": lambda value: {"Description": value.get("description", ""), "URL": value.get("url", "")},
    "x-kubernetes-validations": _convert_rules,
}
