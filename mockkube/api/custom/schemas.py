"""Schemas for validation: types, formats, bounds and other keywords."""

# upstream 1.36: apiextensions-apiserver/pkg/apiserver/validation/validation.go (ConvertJSONSchemaProps)

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mockkube.api.custom import formats
from mockkube.api.types import ReadOnlyObject
from mockkube.features.versions import Version

# Returns whether a pattern, in Go's dialect of regular expressions, matches a part of a text.
Matcher = Callable[[str, str], bool]


@dataclass(slots=True, eq=False)
class Schema:
    """Keywords of one schema, and the schemas within it."""

    raw: ReadOnlyObject
    matches: Matcher
    types: tuple[str, ...] = ()
    format: str = ""
    nullable: bool = False
    enum: list[Any] = field(default_factory=list)
    # Strings of the enum, for a fast look-up in long enums.
    texts: frozenset[str] = frozenset()
    required: tuple[str, ...] = ()
    properties: "dict[str, Schema]" = field(default_factory=dict)
    additional: "Schema | None" = None
    # Whether other properties are forbidden.
    closed: bool = False
    items: "Schema | None" = None
    all_of: "tuple[Schema, ...]" = ()
    any_of: "tuple[Schema, ...]" = ()
    one_of: "tuple[Schema, ...]" = ()
    none: "Schema | None" = None

    @property
    def single_type(self) -> str:
        """Type of the schema, if it has exactly one."""
        return self.types[0] if len(self.types) == 1 else ""


@dataclass(frozen=True, slots=True)
class SchemaReader:
    """Reader of schemas, with the formats of one version and a pattern matcher."""

    version: Version
    matches: Matcher

    def read(self, raw: ReadOnlyObject | None) -> Schema:
        """Return the validation schema of an OpenAPI schema."""
        raw = raw or {}
        kind = raw.get("type", "")
        types = ("integer", "string") if raw.get("x-kubernetes-int-or-string") else (kind,) if kind else ()
        form = formats.enforced(types[0] if len(types) == 1 else "", raw.get("format") or "", self.version)
        additional = raw.get("additionalProperties")
        return Schema(
            raw,
            self.matches,
            types,
            form,
            bool(raw.get("nullable")),
            enum=list(raw.get("enum") or ()),
            texts=frozenset(one for one in raw.get("enum") or () if isinstance(one, str)),
            required=tuple(raw.get("required") or ()),
            properties={name: self.read(each) for name, each in (raw.get("properties") or {}).items()},
            additional=self.read(additional) if isinstance(additional, Mapping) else None,
            closed=additional is False,
            items=self.read(raw["items"]) if isinstance(raw.get("items"), Mapping) else None,
            all_of=self._each(raw.get("allOf")),
            any_of=self._each(raw.get("anyOf")),
            one_of=self._each(raw.get("oneOf")),
            none=self.read(raw["not"]) if raw.get("not") is not None else None,
        )

    def _each(self, schemas: Sequence[ReadOnlyObject] | None) -> tuple[Schema, ...]:
        return tuple(self.read(one) for one in schemas or ())
