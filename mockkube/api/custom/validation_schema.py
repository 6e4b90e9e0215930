"""Schemas for validation: types, formats, bounds and other keywords."""

# upstream 1.36: apiextensions-apiserver/pkg/apiserver/validation/validation.go (ConvertJSONSchemaProps)

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any

from mockkube.api.custom import formats
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.features.versions import Version
from mockkube.lazy_dataclasses import dataclass

# Returns whether a pattern, in Go's dialect of regular expressions, matches a part of a text.
PatternMatcher = Callable[[str, str], bool]


@dataclass(slots=True, eq=False)
class ValidationSchema:
    """Keywords of one schema, and the schemas within it."""

    raw: ReadOnlyObject
    matches_pattern: PatternMatcher
    types: tuple[str, ...] = ()
    format: str = ""
    is_nullable: bool = False
    enum: list[Any] = field(default_factory=list)
    # Strings of the enum, for a fast look-up in long enums.
    enum_strings: frozenset[str] = frozenset()
    required: tuple[str, ...] = ()
    properties: "dict[str, ValidationSchema]" = field(default_factory=dict)
    additional: "ValidationSchema | None" = None
    # Whether other properties are forbidden.
    forbids_additional: bool = False
    items: "ValidationSchema | None" = None
    all_of: "tuple[ValidationSchema, ...]" = ()
    any_of: "tuple[ValidationSchema, ...]" = ()
    one_of: "tuple[ValidationSchema, ...]" = ()
    not_schema: "ValidationSchema | None" = None

    @property
    def single_type(self) -> str:
        """Type of the schema, if it has exactly one."""
        return self.types[0] if len(self.types) == 1 else ""


@dataclass(frozen=True, slots=True)
class ValidationSchemaParser:
    """Parser of schemas, with the formats of one version and a pattern matcher."""

    version: Version
    matches_pattern: PatternMatcher

    def parse(self, raw: ReadOnlyObject | None) -> ValidationSchema:
        """Return the validation schema of an OpenAPI schema."""
        raw = raw or {}
        kind = raw.get("type", "")
        types = ("integer", "string") if raw.get("x-kubernetes-int-or-string") else (kind,) if kind else ()
        form = formats.get_checked_format(types[0] if len(types) == 1 else "", raw.get("format") or "", self.version)
        additional = raw.get("additionalProperties")
        return ValidationSchema(
            raw,
            self.matches_pattern,
            types,
            form,
            bool(raw.get("nullable")),
            enum=list(raw.get("enum") or ()),
            enum_strings=frozenset(one for one in raw.get("enum") or () if isinstance(one, str)),
            required=tuple(raw.get("required") or ()),
            properties={name: self.parse(each) for name, each in (raw.get("properties") or {}).items()},
            additional=self.parse(additional) if isinstance(additional, Mapping) else None,
            forbids_additional=additional is False,
            items=self.parse(raw["items"]) if isinstance(raw.get("items"), Mapping) else None,
            all_of=self._read_all(raw.get("allOf")),
            any_of=self._read_all(raw.get("anyOf")),
            one_of=self._read_all(raw.get("oneOf")),
            not_schema=self.parse(raw["not"]) if raw.get("not") is not None else None,
        )

    def _read_all(self, schemas: Sequence[ReadOnlyObject] | None) -> tuple[ValidationSchema, ...]:
        return tuple(self.parse(one) for one in schemas or ())
