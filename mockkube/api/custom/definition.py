"""A CustomResourceDefinition as serving reads it: names, and what each version says of its objects.

What a version says is compiled when first asked for: of most versions of most definitions nobody asks.
"""

from collections.abc import Iterator, Mapping
from functools import cached_property
from hashlib import sha256
from typing import Any, Final

import orjson

from mockkube.api.catalogue import SCALE, STATUS, KindInfo, Subresource
from mockkube.api.custom.kind import CustomKind
from mockkube.api.custom.pruning import prune_value
from mockkube.api.custom.schemas import Schema, SchemaReader
from mockkube.api.custom.structural import Structural, read
from mockkube.api.custom.versions import preferred_first, rank
from mockkube.api.types import ReadOnlyObject

VERBS: Final = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
"""In the order discovery lists them."""
VERBS_ENDING: Final = ("delete", "deletecollection", "get", "list", "watch")
"""What is listed while the definition is being deleted."""


class CustomVersion:
    """What a definition says of one version."""

    def __init__(self, group: str, raw: ReadOnlyObject, reader: SchemaReader) -> None:
        self.raw = raw
        self.name: str = raw["name"]
        self.api_version = f"{group}/{self.name}"
        self.served = bool(raw.get("served"))
        self.storage = bool(raw.get("storage"))
        self._reader = reader

    @cached_property
    def schema(self) -> ReadOnlyObject:
        """The schema as it was given."""
        found: ReadOnlyObject = (self.raw.get("schema") or {}).get("openAPIV3Schema") or {}
        return found

    @cached_property
    def size(self) -> int:
        """How many bytes of JSON the schema has."""
        return len(orjson.dumps(self.schema))

    @cached_property
    def structural(self) -> Structural:
        """The schema for pruning and defaults; its defaults are pruned themselves."""
        root = read(self.schema)
        _prune_defaults(root)
        return root

    @cached_property
    def checks(self) -> Schema:
        """The schema for validation."""
        return self._reader.read(self.schema)

    @property
    def status_checks(self) -> Schema | None:
        """The schema for the validation of a status alone."""
        return self.checks.properties.get("status")

    @cached_property
    def subresources(self) -> tuple[Subresource, ...]:
        """The subresources it has, in the order discovery lists them."""
        given = self.raw.get("subresources") or {}
        return (STATUS,) * (given.get("status") is not None) + (SCALE,) * (given.get("scale") is not None)

    @property
    def has_status(self) -> bool:
        """Whether the status is written through a subresource of its own."""
        return STATUS in self.subresources

    @property
    def scale(self) -> Mapping[str, str] | None:
        """Where a scale finds what it shows; None without the subresource."""
        paths: Mapping[str, str] | None = (self.raw.get("subresources") or {}).get("scale")
        return paths

    @property
    def columns(self) -> list[ReadOnlyObject]:
        """The columns besides the name."""
        return list(self.raw.get("additionalPrinterColumns") or ())

    @property
    def selectable(self) -> tuple[str, ...]:
        """The paths, with their leading dot, that field selectors know."""
        return tuple(one["jsonPath"] for one in self.raw.get("selectableFields") or ())


def _prune_defaults(schema: Structural) -> None:
    if schema.default is not None:
        schema.default = prune_value(schema.default, schema)
    within = (*schema.properties.values(), schema.additional, schema.items)
    for each in within:
        if each is not None:
            _prune_defaults(each)


class Definition:
    """A definition whose names were accepted."""

    def __init__(self, obj: ReadOnlyObject, reader: SchemaReader) -> None:
        spec, status = obj["spec"], obj.get("status") or {}
        self.name: str = obj["metadata"]["name"]
        self.names: Mapping[str, Any] = status.get("acceptedNames") or {}
        self.group: str = spec["group"]
        self.plural: str = self.names.get("plural", "")
        self.kind: str = self.names.get("kind", "")
        self.namespaced: bool = spec.get("scope") == "Namespaced"
        self.conversion: ReadOnlyObject = spec.get("conversion") or {}
        self.converts: bool = self.conversion.get("strategy") == "Webhook"
        """Whether versions are converted by a webhook instead of by name."""
        self.versions = {raw["name"]: CustomVersion(self.group, raw, reader) for raw in spec["versions"]}
        written = orjson.dumps([spec, dict(self.names)], option=orjson.OPT_SORT_KEYS)
        self.digest = sha256(written).hexdigest()[:16]
        """Names what the definition says: another one, other objects."""

    @cached_property
    def home(self) -> CustomVersion:
        """The version objects are stored in."""
        return next(one for one in self.versions.values() if one.storage)

    def served(self) -> list[CustomVersion]:
        """The versions that are served, the preferred one first."""
        return [self.versions[name] for name in preferred_first(self.versions) if self.versions[name].served]

    def of_api_version(self, api_version: Any) -> CustomVersion | None:
        """The version an object is of, served or not."""
        group, _, name = str(api_version or "").rpartition("/")
        return self.versions.get(name) if group == self.group else None

    def kind_of(self, version: CustomVersion, *, ending: bool = False) -> KindInfo:
        """The kind at a version, for discovery and routing."""
        return CustomKind(
            self.group,
            self.kind,
            self.plural,
            self.namespaced,
            self.names.get("singular", ""),
            tuple(self.names.get("shortNames") or ()),
            tuple(self.names.get("categories") or ()),
            VERBS,
            (version.name,),
            version.subresources,
            self.deprecation(version),
            named_list=self.names.get("listKind", ""),
            listed_verbs=VERBS_ENDING if ending else VERBS,
        )

    def deprecation(self, version: CustomVersion) -> str:
        """The warning that comes with every answer of a version; empty for most."""
        if not version.raw.get("deprecated"):
            return ""
        told: str | None = version.raw.get("deprecationWarning")
        if told is not None:
            return told
        newer = [one.name for one in self._better(version)]
        instead = f"; use {self.group}/{newer[0]} {self.kind}" if newer else ""
        return f"{version.api_version} {self.kind} is deprecated{instead}"

    def _better(self, version: CustomVersion) -> Iterator[CustomVersion]:
        for one in self.served():
            if not one.raw.get("deprecated") and rank(one.name) > rank(version.name):
                yield one
