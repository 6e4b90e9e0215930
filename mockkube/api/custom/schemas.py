"""A schema as validation reads it: types, bounds and what else its keywords ask of a value."""

# upstream 1.36: apiextensions-apiserver/pkg/apiserver/validation/validation.go (ConvertJSONSchemaProps)

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mockkube.api.custom import formats
from mockkube.api.types import ReadOnlyObject
from mockkube.features.versions import Version

Matcher = Callable[[str, str], bool]
"""Whether a pattern, in Go's dialect, is found in a text."""


@dataclass(slots=True, eq=False)
class Schema:
    """The checks of one schema, and those of the schemas within it."""

    raw: ReadOnlyObject
    matches: Matcher
    types: tuple[str, ...] = ()
    format: str = ""
    nullable: bool = False
    enum: list[Any] = field(default_factory=list)
    texts: frozenset[str] = frozenset()
    """Those of the enum that are texts."""
    required: tuple[str, ...] = ()
    properties: "dict[str, Schema]" = field(default_factory=dict)
    additional: "Schema | None" = None
    closed: bool = False
    """Whether there may be no other properties."""
    items: "Schema | None" = None
    all_of: "tuple[Schema, ...]" = ()
    any_of: "tuple[Schema, ...]" = ()
    one_of: "tuple[Schema, ...]" = ()
    none: "Schema | None" = None

    @property
    def single_type(self) -> str:
        """The type, if it is but one."""
        return self.types[0] if len(self.types) == 1 else ""


@dataclass(frozen=True, slots=True)
class SchemaReader:
    """Reads schemas for the formats of one version, with an engine for patterns."""

    version: Version
    matches: Matcher

    def read(self, raw: ReadOnlyObject | None) -> Schema:
        """Return the checks of a schema."""
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
