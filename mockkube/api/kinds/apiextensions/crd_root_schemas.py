"""What may stand at the root of a schema that also says what a status looks like; and how a server prints a schema."""

# upstream 1.36: apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go, types_jsonschema.go

from collections.abc import Callable, Mapping
from typing import Any, Final

from mockkube.api.fields import FieldError, invalid
from mockkube.api.kinds.apiextensions.structural_schemas import EMBEDDED, PRESERVE
from mockkube.api.types import ReadOnlyObject

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
"""Go's name, JSON's name, and what is printed of a field that is not there."""
_ALLOWED: Final = (
    *("Description", "Type", "Format", "Title", "Maximum", "ExclusiveMaximum", "Minimum", "ExclusiveMinimum"),
    *("MaxLength", "MinLength", "Pattern", "MaxItems", "MinItems", "UniqueItems", "MultipleOf", "Required", "Items"),
    *("Properties", "ExternalDocs", "Example", "XPreserveUnknownFields", "XValidations"),
)
_ONLY: Final = "fields are allowed at the root of the schema if the status subresource is enabled"
_OBJECTS: Final = 'only "object" is allowed as the type at the root of the schema if the status subresource is enabled'


def validate_root(schema: ReadOnlyObject, at: str) -> list[FieldError]:
    """Refuse the first field that would get lost when the status is judged by its part of the schema alone."""
    for go, name, empty in _FIELDS:
        value = schema.get(name, empty)
        if value == empty and value.__class__ is empty.__class__:
            continue
        if go == "Type":
            if value != "object":
                return [invalid(f"{at}.type", value, _OBJECTS)]
        elif go not in _ALLOWED:
            return [invalid(at, schema_form(schema), f"only [{' '.join(_ALLOWED)}] {_ONLY}")]
    return []


def schema_form(schema: ReadOnlyObject) -> dict[str, Any]:
    """Return a schema as a server prints it in an error: every field, under Go's names."""
    return {go: _shown(name, schema.get(name), empty) for go, name, empty in _FIELDS}


def _shown(name: str, value: Any, empty: Any) -> Any:
    return empty if value is None else _FORMS.get(name, _same)(value)


def _same(value: Any) -> Any:
    return value


def _each(schemas: list[ReadOnlyObject]) -> list[dict[str, Any]]:
    return [schema_form(schema) for schema in schemas]


def _named(schemas: Mapping[str, ReadOnlyObject]) -> dict[str, Any]:
    return {name: schema_form(schema) for name, schema in sorted(schemas.items())}


def _or_list(value: Any, many: str = "JSONSchemas") -> dict[str, Any]:
    if isinstance(value, list):
        return {"Schema": None, many: _each(value) if many == "JSONSchemas" else value}
    return {"Schema": schema_form(value), many: None}


def _or_bool(value: Any) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"Allows": value, "Schema": None}
    return {"Allows": True, "Schema": schema_form(value)}


def _rules(rules: list[ReadOnlyObject]) -> list[dict[str, Any]]:
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


_FORMS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "items": _or_list,
    **dict.fromkeys(("allOf", "oneOf", "anyOf"), _each),
    "not": schema_form,
    **dict.fromkeys(("properties", "patternProperties", "definitions"), _named),
    **dict.fromkeys(("additionalProperties", "additionalItems"), _or_bool),
    "dependencies": lambda value: {name: _or_list(one, "Property") for name, one in sorted(value.items())},
    "externalDocs": lambda value: {"Description": value.get("description", ""), "URL": value.get("url", "")},
    "x-kubernetes-validations": _rules,
}
