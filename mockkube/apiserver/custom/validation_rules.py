"""Compile the CEL rules of a structural schema (x-kubernetes-validations), and resolve their `fieldPath`."""

# upstream 1.36: apiextensions-apiserver/pkg/apiserver/schema/cel/compilation.go
import re
from dataclasses import field
from typing import Any, Final

from mockkube_cel import types
from mockkube_cel.environment import Compiled, Environment
from mockkube_cel.schema import Schema

from mockkube.api.custom.structural import Structural
from mockkube.api.fields import map_entry_path
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.apiserver.custom.cel_types import (
    REQUEST_BYTES_MAX,
    RESERVED_WORDS,
    DeclType,
    DeclTypeBuilder,
    SizeLimits,
)
from mockkube.lazy_dataclasses import dataclass
from mockkube.matching.cel.environment import kubernetes_environment

SELF: Final = "self"
OLD_SELF: Final = "oldSelf"
_TYPE_NAME: Final = "selfType"
_PATH_STEP: Final = re.compile(r"\.([^.\[\]]+)|\['((?:\\.|[^'\\])*)'\]")
_ESCAPES: Final = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "'": "'", "\\": "\\"}


@dataclass(frozen=True, slots=True)
class ValidationRule:
    """Compiled rule, with its message expression and the field that its error is reported at."""

    raw: ReadOnlyObject
    compiled: Compiled
    message: Compiled | None = None
    field: str = ""

    @property
    def error(self) -> str:
        """Compilation error; empty if there is none."""
        if self.compiled.error is not None:
            return self.compiled.error
        return "" if self.compiled.type == types.BOOL else "cel expression must evaluate to a bool"

    @property
    def message_error(self) -> str:
        """Compilation error of the message expression; empty if there is none."""
        if self.message is None:
            return ""
        if self.message.error is not None:
            return f"messageExpression {self.message.error}"
        return "" if self.message.type == types.STRING else "messageExpression must evaluate to a string"

    @property
    def uses_old_self(self) -> bool:
        """True if the rule is a transition rule, which compares with the old value."""
        return OLD_SELF in self.compiled.names

    @property
    def has_optional_old_self(self) -> bool:
        """True if a transition rule is also evaluated without an old value."""
        return bool(self.raw.get("optionalOldSelf"))

    @property
    def display_text(self) -> str:
        """Text of the rule in errors."""
        return str(self.raw.get("message") or self.raw["rule"]).strip()


@dataclass(slots=True, eq=False)
class SchemaRules:
    """Compiled rules of a schema and of the schemas within it. `declared` is None if it has no CEL type."""

    schema: Structural
    is_resource_root: bool
    declared: DeclType | None
    own: list[ValidationRule] = field(default_factory=list)
    items: "SchemaRules | None" = None
    properties: "dict[str, SchemaRules]" = field(default_factory=dict)
    additional: "SchemaRules | None" = None
    all_of: "list[SchemaRules]" = field(default_factory=list)

    @property
    def has_any(self) -> bool:
        """True if there is a rule in the schema or within it."""
        return bool(self.own or self.items or self.properties or self.additional or self.all_of)

    @property
    def cardinality_max(self) -> int:
        """Maximum number of values of this schema in one request."""
        assert self.declared is not None, "rules were compiled for a declared type"
        return REQUEST_BYTES_MAX // (self.declared.bytes_min + 1)


def has_rules(raw: Any) -> bool:
    """Return whether a schema has rules at any depth."""
    match raw:
        case dict():
            return bool(raw.get("x-kubernetes-validations")) or any(map(has_rules, raw.values()))
        case list():
            return any(map(has_rules, raw))
    return False


def compile_rules(schema: Structural, *, is_resource_root: bool) -> SchemaRules | None:
    """Compile the rules of a schema; None if it has none. `is_resource_root`: the schema describes a whole object."""
    # Most schemas have no rules; this search is much cheaper than declaring their types.
    if not has_rules(schema.raw):
        return None
    return _compile(schema, schema.raw, is_resource_root=is_resource_root)


def _compile(schema: Structural, validations: ReadOnlyObject, *, is_resource_root: bool) -> SchemaRules | None:
    """Compile the rules in `validations`, which is the schema itself or part of its allOf."""
    found = SchemaRules(schema, is_resource_root, None)
    texts = validations.get("x-kubernetes-validations") or ()
    if texts:
        found.declared, environments = _make_environments(schema, is_resource_root=is_resource_root)
        if found.declared is not None:
            found.own = [_compile_rule(raw, schema, environments[bool(raw.get("optionalOldSelf"))]) for raw in texts]
    _compile_members(found, schema, validations)
    for each in validations.get("allOf") or ():
        if has_rules(each) and (inner := _compile(schema, each, is_resource_root=is_resource_root)):
            found.all_of.append(inner)
    return found if found.has_any else None


def _compile_members(found: SchemaRules, schema: Structural, validations: ReadOnlyObject) -> None:
    items, more = validations.get("items") or {}, validations.get("additionalProperties") or {}
    if schema.items is not None and has_rules(items):
        found.items = _compile(schema.items, items, is_resource_root=schema.items.is_embedded_resource)
    if schema.additional_properties is not None and has_rules(more):
        found.additional = _compile(
            schema.additional_properties, more, is_resource_root=schema.additional_properties.is_embedded_resource
        )
    for name, each in (validations.get("properties") or {}).items():
        own = schema.properties.get(name)
        if (
            own is not None
            and has_rules(each)
            and (inner := _compile(own, each, is_resource_root=own.is_embedded_resource))
        ):
            found.properties[name] = inner


def _make_environments(
    schema: Structural, *, is_resource_root: bool
) -> tuple[DeclType | None, tuple[Environment, ...]]:
    """Return the type of the schema, and environments without and with an optional `oldSelf`."""
    declarer = DeclTypeBuilder()
    declared = declarer.build(schema, _TYPE_NAME, is_resource_root=is_resource_root)
    if declared is None:
        return None, ()
    old = (declared.type, types.optional_of(declared.type))
    sizes = SizeLimits(declared).estimate_size
    schemas = (
        Schema({SELF: declared.type, OLD_SELF: one}, declarer.messages, escaped_words=RESERVED_WORDS) for one in old
    )
    return declared, tuple(kubernetes_environment(one, sizes) for one in schemas)


def _compile_rule(raw: ReadOnlyObject, schema: Structural, environment: Environment) -> ValidationRule:
    text = raw.get("messageExpression", "")
    message = environment.compile(text, boolean=False) if text else None
    return ValidationRule(raw, environment.compile(raw["rule"], boolean=False), message, _resolve_field(raw, schema))


def _resolve_field(raw: ReadOnlyObject, schema: Structural) -> str:
    try:
        return resolve_field_path(raw.get("fieldPath", ""), schema)
    except FieldPathError:
        return ""


class FieldPathError(ValueError):
    """Error for a path that cannot be parsed or does not exist in the schema."""


def resolve_field_path(path: str, schema: Structural) -> str:
    """Return the path as field errors write it; raise FieldPathError."""
    # upstream 1.36: apiextensions-apiserver/pkg/apiserver/schema/cel/validation.go, ValidFieldPath
    at, start = "", 0
    while start < len(path):
        step = _PATH_STEP.match(path, start)
        if step is None:
            raise FieldPathError(path)
        name = step[1] if step[1] is not None else _unescape(step[2])
        if schema.properties:
            at = f"{at}.{name}" if at else name
            child = schema.properties.get(name)
        else:
            at, child = map_entry_path(at, name), schema.additional_properties
        if child is None:
            raise FieldPathError(path)
        schema, start = child, step.end()
    return at


def _unescape(text: str) -> str:
    def replace(found: re.Match[str]) -> str:
        letter = found[1]
        if letter not in _ESCAPES:
            raise FieldPathError(text)
        return _ESCAPES[letter]

    return re.sub(r"\\(.)", replace, text)
