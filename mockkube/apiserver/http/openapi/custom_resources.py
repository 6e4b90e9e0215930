"""OpenAPI operations and schemas of custom resources."""

# upstream 1.36: apiextensions-apiserver/pkg/controller/openapi/builder/builder.go, ../v2/conversion.go
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from mockkube.api.catalogue import KindInfo
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.protobuf.envelope import GroupVersionKind
from mockkube.apiserver.http.openapi import operations
from mockkube.apiserver.http.openapi.operations import META, FindSchemaName, OpenApiOperation
from mockkube.apiserver.http.openapi.schemas import V2_PREFIX, Schemas

_MEDIA: Final = ("application/json", "application/yaml")
_PATCHES: Final = ("application/json-patch+json", "application/merge-patch+json", "application/apply-patch+yaml")
_CONVENTIONS: Final = "More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md"
_LOGICAL_KEYWORDS: Final = ("allOf", "anyOf", "oneOf", "not")
_PRESERVE: Final = "x-kubernetes-preserve-unknown-fields"
_EMBEDDED: Final = "x-kubernetes-embedded-resource"


def schema_name(group_version_kind: GroupVersionKind) -> str:
    """Return the full name of a kind's schema: group backwards, version, kind."""
    return ".".join(
        (*reversed(group_version_kind.group.split(".")), group_version_kind.version, group_version_kind.kind)
    )


def custom_operations(kind: KindInfo, version: str, find: FindSchemaName) -> Iterator[OpenApiOperation]:
    """Yield the operations on a custom resource: fewer media types, no paths below `/watch`."""
    for one in operations.kind_operations(kind, version, find):
        if one.action not in ("watch", "watchlist"):
            consumes = _PATCHES if one.method == "patch" else _MEDIA
            yield replace(one, consumes=consumes, produces=_MEDIA)


class CustomSchemas:
    """Adds the schemas of custom resources to those of built-in kinds, in the form of swagger 2.0 or OpenAPI 3.0."""

    def __init__(self, schemas: Schemas, prefix: str) -> None:
        self._schemas = schemas
        self._is_v2 = prefix == V2_PREFIX

    def add(self, kind: KindInfo, version: str, schema: ReadOnlyObject | None) -> None:
        """Add the schemas of a kind and its list."""
        subject = GroupVersionKind(kind.group, version, kind.kind)
        of_list = subject._replace(kind=kind.list_kind)
        self._schemas.add_custom(schema_name(subject), {**self._object_schema(schema), **_kind_extension(subject)})
        self._schemas.add_custom(
            schema_name(of_list), {**self._list_schema(kind, schema_name(subject)), **_kind_extension(of_list)}
        )

    def _object_schema(self, schema: ReadOnlyObject | None) -> Object:
        if schema is None or (self._is_v2 and schema.get(_PRESERVE)):
            # kubectl refuses fields that a v2 schema does not list, so a schema that preserves unknown fields lists
            # none at all.
            return {"type": "object"}
        shown = self._with_embedded_metadata(_to_v2(schema) if self._is_v2 else schema)
        shown["properties"] = {**shown.get("properties", {}), **self._common_properties("ObjectMeta", "metadata")}
        return shown

    def _list_schema(self, kind: KindInfo, item: str) -> Object:
        items = {
            "type": "array",
            "description": f"List of {kind.plural}. {_CONVENTIONS}",
            "items": self._schemas.reference(item),
        }
        return {
            "type": "object",
            "description": f"{kind.list_kind} is a list of {kind.kind}",
            "required": ["items"],
            "properties": {"items": items, **self._common_properties("ListMeta", "types-kinds")},
        }

    def _common_properties(self, definition: str, chapter: str) -> Object:
        """Return the properties apiVersion, kind and metadata."""
        common = self._schemas.get_schema(META + "Status")["properties"]
        what = "object's" if definition == "ObjectMeta" else "list"
        said = {"description": f"Standard {what} metadata. {_CONVENTIONS}#{chapter}"}
        metadata = self._schemas.reference_with(META + definition, said)
        return {"apiVersion": common["apiVersion"], "kind": common["kind"], "metadata": metadata}

    def _with_embedded_metadata(self, schema: ReadOnlyObject) -> Object:
        """Return the schema with apiVersion, kind and metadata in its embedded resources."""
        shown = _map_subschemas(schema, self._with_embedded_metadata)
        if shown.get(_EMBEDDED) and not (self._is_v2 and shown.get(_PRESERVE)):
            shown["properties"] = {**shown.get("properties", {}), **self._common_properties("ObjectMeta", "metadata")}
            shown["required"] = [*shown.get("required", ()), *_missing_required(shown)]
        return shown


def _missing_required(schema: ReadOnlyObject) -> list[str]:
    return [name for name in ("kind", "apiVersion") if name not in schema.get("required", ())]


def _kind_extension(subject: GroupVersionKind) -> Object:
    return {"x-kubernetes-group-version-kind": [subject._asdict()]}


def _map_subschemas(schema: ReadOnlyObject, change: Any) -> Object:
    """Return a copy of the schema whose direct subschemas are changed."""
    shown = dict(schema)
    if properties := shown.get("properties"):
        shown["properties"] = {name: change(value) for name, value in properties.items()}
    for key in ("items", "additionalProperties"):
        if isinstance(shown.get(key), Mapping):
            shown[key] = change(shown[key])
    return shown


def _to_v2(schema: ReadOnlyObject) -> Object:
    """Return the schema without what swagger 2.0 lacks and what kubectl cannot read."""
    shown = {key: value for key, value in schema.items() if key not in _LOGICAL_KEYWORDS}
    nullable = shown.pop("nullable", False)
    # swagger 2.0 has no `nullable`: a null of a required field would fail kubectl's validation.
    if optional := {name for name, value in shown.get("properties", {}).items() if value.get("nullable")}:
        shown["required"] = [name for name in shown.get("required", ()) if name not in optional]
    untyped = nullable or shown.get(_PRESERVE)
    if untyped:
        shown.pop("items", None)
        shown.pop("properties", None)
    if nullable or (untyped and shown.get("type") in ("array", "object")):
        shown.pop("type", None)
    if not shown.get("required", True):
        del shown["required"]
    return _map_subschemas(shown, _to_v2)
