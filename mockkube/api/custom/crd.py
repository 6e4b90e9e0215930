"""Crd: names and versions of a CustomResourceDefinition, for serving its objects.

What a version declares is compiled when first used: most versions of most CRDs never are.
"""

from collections.abc import Iterator, Mapping
from functools import cached_property
from hashlib import sha256
from typing import Any, Final

import orjson

from mockkube.api.catalogue import SCALE, STATUS, KindInfo, Subresource
from mockkube.api.custom.crd_kind import CrdKind
from mockkube.api.custom.pruning import prune_value
from mockkube.api.custom.structural import Structural, parse_structural
from mockkube.api.custom.validation_schema import ValidationSchema, ValidationSchemaParser
from mockkube.api.custom.version_order import rank_version, sort_by_preference
from mockkube.api.json_objects import ReadOnlyObject

# In the order in which discovery lists them.
VERBS: Final = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
# Verbs in discovery while the CRD is being deleted: objects cannot be created or changed any more.
TERMINATING_VERBS: Final = ("delete", "deletecollection", "get", "list", "watch")


class CrdVersion:
    """One version of a CRD."""

    def __init__(self, group: str, raw: ReadOnlyObject, parser: ValidationSchemaParser) -> None:
        self.raw = raw
        self.name: str = raw["name"]
        self.api_version = f"{group}/{self.name}"
        self.is_served = bool(raw.get("served"))
        self.is_storage = bool(raw.get("storage"))
        self._parser = parser

    @cached_property
    def schema(self) -> ReadOnlyObject:
        """OpenAPI schema as in the CRD."""
        found: ReadOnlyObject = (self.raw.get("schema") or {}).get("openAPIV3Schema") or {}
        return found

    @cached_property
    def schema_bytes(self) -> int:
        """Bytes of the schema as JSON."""
        return len(orjson.dumps(self.schema))

    @cached_property
    def structural(self) -> Structural:
        """Schema for pruning and defaulting; its defaults are pruned themselves."""
        root = parse_structural(self.schema)
        _prune_defaults(root)
        return root

    @cached_property
    def validation_schema(self) -> ValidationSchema:
        """Schema for validation."""
        return self._parser.parse(self.schema)

    @property
    def status_validation_schema(self) -> ValidationSchema | None:
        """Schema for validating a status alone."""
        return self.validation_schema.properties.get("status")

    @cached_property
    def subresources(self) -> tuple[Subresource, ...]:
        """Subresources of the version, in the order in which discovery lists them."""
        given = self.raw.get("subresources") or {}
        return (STATUS,) * (given.get("status") is not None) + (SCALE,) * (given.get("scale") is not None)

    @property
    def has_status(self) -> bool:
        """True if the status is a subresource."""
        return STATUS in self.subresources

    @property
    def scale_paths(self) -> Mapping[str, str] | None:
        """Paths of the values in a Scale; None without the subresource."""
        paths: Mapping[str, str] | None = (self.raw.get("subresources") or {}).get("scale")
        return paths

    @property
    def columns(self) -> list[ReadOnlyObject]:
        """Printer columns besides the name."""
        return list(self.raw.get("additionalPrinterColumns") or ())

    @property
    def selectable_paths(self) -> tuple[str, ...]:
        """Paths of selectable fields, with a leading dot."""
        return tuple(one["jsonPath"] for one in self.raw.get("selectableFields") or ())


def _prune_defaults(schema: Structural) -> None:
    if schema.default is not None:
        schema.default = prune_value(schema.default, schema)
    within = (*schema.properties.values(), schema.additional_properties, schema.items)
    for each in within:
        if each is not None:
            _prune_defaults(each)


class Crd:
    """CRD whose names have been accepted."""

    def __init__(self, obj: ReadOnlyObject, parser: ValidationSchemaParser) -> None:
        spec, status = obj["spec"], obj.get("status") or {}
        self.name: str = obj["metadata"]["name"]
        self.names: Mapping[str, Any] = status.get("acceptedNames") or {}
        self.group: str = spec["group"]
        self.plural: str = self.names.get("plural", "")
        self.kind: str = self.names.get("kind", "")
        self.is_namespaced: bool = spec.get("scope") == "Namespaced"
        self.conversion: ReadOnlyObject = spec.get("conversion") or {}
        # Whether a webhook converts between the versions, instead of only changing the apiVersion.
        self.uses_conversion_webhook: bool = self.conversion.get("strategy") == "Webhook"
        self.versions = {raw["name"]: CrdVersion(self.group, raw, parser) for raw in spec["versions"]}
        written = orjson.dumps([spec, dict(self.names)], option=orjson.OPT_SORT_KEYS)
        # Identifies what the CRD declares: objects stored under another digest are decoded again.
        self.digest = sha256(written).hexdigest()[:16]

    @cached_property
    def storage_version(self) -> CrdVersion:
        """Storage version."""
        return next(one for one in self.versions.values() if one.is_storage)

    def served_versions(self) -> list[CrdVersion]:
        """Return the served versions, the preferred one first."""
        return [self.versions[name] for name in sort_by_preference(self.versions) if self.versions[name].is_served]

    def get_version(self, api_version: Any) -> CrdVersion | None:
        """Return the version of an apiVersion, served or not."""
        group, _, name = str(api_version or "").rpartition("/")
        return self.versions.get(name) if group == self.group else None

    def to_kind_info(self, version: CrdVersion, *, is_terminating: bool = False) -> KindInfo:
        """Return the kind at a version, for discovery and routing."""
        return CrdKind(
            self.group,
            self.kind,
            self.plural,
            self.is_namespaced,
            self.names.get("singular", ""),
            tuple(self.names.get("shortNames") or ()),
            tuple(self.names.get("categories") or ()),
            VERBS,
            (version.name,),
            version.subresources,
            self.deprecation_warning(version),
            custom_list_kind=self.names.get("listKind", ""),
            listed_verbs=TERMINATING_VERBS if is_terminating else VERBS,
        )

    def deprecation_warning(self, version: CrdVersion) -> str:
        """Return the warning header for requests to a version; empty if it is not deprecated."""
        if not version.raw.get("deprecated"):
            return ""
        warning: str | None = version.raw.get("deprecationWarning")
        if warning is not None:
            return warning
        newer = [one.name for one in self._newer_versions(version)]
        instead = f"; use {self.group}/{newer[0]} {self.kind}" if newer else ""
        return f"{version.api_version} {self.kind} is deprecated{instead}"

    def _newer_versions(self, version: CrdVersion) -> Iterator[CrdVersion]:
        for one in self.served_versions():
            if not one.raw.get("deprecated") and rank_version(one.name) > rank_version(version.name):
                yield one
