"""OpenAPI documents of the served kinds, each built on first request and kept as bytes."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Final

import orjson

from mockkube.api.catalogue import STATUS, KindInfo
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.protobuf.envelope import GroupVersionKind
from mockkube.api.schema import Schema
from mockkube.apiserver.http.openapi import builder, custom_resources, non_resource_operations, operations, protobuf
from mockkube.apiserver.http.openapi.operations import OpenApiOperation
from mockkube.apiserver.http.openapi.schemas import V2_PREFIX, V3_PREFIX, Schemas
from mockkube.features.versions import Version

ServedKinds = Sequence[tuple[KindInfo, tuple[str, ...]]]
CustomSchemaMap = Mapping[GroupVersionKind, ReadOnlyObject]
"""Schemas of custom resources by kind."""
# Since this version a v3 document omits kinds of other groups from types that all groups share.
_RESTRICTED_SINCE: Final = Version(1, 36)
_PARAMETERS_SINCE: Final = {"shardSelector": Version(1, 36)}
_NON_RESOURCE_PATHS: Final = {
    ".well-known/openid-configuration": non_resource_operations.ISSUER,
    "api": non_resource_operations.CORE_VERSIONS,
    "apis": non_resource_operations.GROUP_LIST,
    "openid/v1/jwks": non_resource_operations.KEYS,
    "version": non_resource_operations.VERSION,
}


class OpenApiDocument:
    """Encoded document and the hash of its content."""

    def __init__(self, body: bytes) -> None:
        self.body = body
        self.hash = hashlib.sha512(body).hexdigest().upper()

    def url(self, path: str) -> str:
        """Return the server-relative URL of this content for a v3 path."""
        return f"/openapi/v3/{path}?hash={self.hash}"


class OpenApiDocuments:
    """OpenAPI documents of a set of kinds and versions."""

    def __init__(self, served: ServedKinds, schema: Schema, definitions: CustomSchemaMap) -> None:
        self.served = served
        self.custom_schemas = definitions
        self._schema = schema
        self._v3_documents: dict[str, OpenApiDocument] = {}

    @cached_property
    def v3_paths(self) -> dict[str, tuple[str, str]]:
        """Group and version of each v3 document by its path; both empty for paths that are no resources."""
        found: dict[str, tuple[str, str]] = dict.fromkeys(_NON_RESOURCE_PATHS, ("", ""))
        for kind, versions in self.served:
            if kind.group:
                found[operations.root_path(kind.group)[1:]] = (kind.group, "")
            for version in versions:
                found[operations.root_path(kind.group, version)[1:]] = (kind.group, version)
        return dict(sorted(found.items()))

    def index(self) -> bytes:
        """Return the list of v3 documents with their URLs."""
        # All v3 documents are built for the index, as their URLs contain the hash of their content.
        paths = {place: {"serverRelativeURL": self.get_v3(place).url(place)} for place in self.v3_paths}
        return orjson.dumps({"paths": paths})

    def get_v3(self, path: str) -> OpenApiDocument:
        """Return the v3 document of a path."""
        document = self._v3_documents.get(path)
        if document is None:
            about = self.v3_paths[path] if self._schema.version >= _RESTRICTED_SINCE else None
            content = builder.build_v3(self._operations_of_path(path), self._collect_schemas(V3_PREFIX), about)
            document = self._v3_documents[path] = OpenApiDocument(orjson.dumps(content))
        return document

    @cached_property
    def v2(self) -> OpenApiDocument:
        """The v2 document."""
        chosen = [operation for place in self.v3_paths for operation in self._operations_of_path(place)]
        return OpenApiDocument(orjson.dumps(builder.build_v2(chosen, self._collect_schemas(V2_PREFIX))))

    @cached_property
    def v2_protobuf(self) -> bytes:
        """The v2 document as a protobuf message."""
        return protobuf.encode(orjson.loads(self.v2.body))

    def _operations_of_path(self, path: str) -> Iterator[OpenApiOperation]:
        if path in _NON_RESOURCE_PATHS:
            yield _NON_RESOURCE_PATHS[path]
            return
        group, version = self.v3_paths[path]
        if not version:
            yield non_resource_operations.group_operation(group)
            return
        yield non_resource_operations.version_operation(group, version)
        for kind, versions in self.served:
            if kind.group == group and version in versions:
                for operation in self._operations_of_kind(kind, version):
                    yield self._without_later_parameters(operation)

    def _without_later_parameters(self, operation: OpenApiOperation) -> OpenApiOperation:
        """Return the operation without parameters that later versions added."""
        later = [name for name, since in _PARAMETERS_SINCE.items() if since > self._schema.version]
        if not later:
            return operation
        return replace(operation, query=tuple(name for name in operation.query if name not in later))

    def _operations_of_kind(self, kind: KindInfo, version: str) -> Iterator[OpenApiOperation]:
        node = self._schema.find_kind_type(kind.group, version, kind.kind)
        if node is None:
            return custom_resources.custom_operations(kind, version, self._find_schema_name)
        if "status" not in node.fields:
            # The table of kinds holds for all versions; in this one the kind has no status yet.
            kind = replace(kind, subresources=tuple(sub for sub in kind.subresources if sub != STATUS))
        return operations.kind_operations(kind, version, self._find_schema_name)

    def _find_schema_name(self, group: str, version: str, kind: str) -> str:
        published = self._schema.find_definition(group, version, kind)
        return published or custom_resources.schema_name(GroupVersionKind(group, version, kind))

    def _collect_schemas(self, prefix: str) -> Schemas:
        schemas = Schemas(self._schema, prefix)
        more = custom_resources.CustomSchemas(schemas, prefix)
        for kind, versions in self.served:
            for version in versions:
                if self._schema.find_definition(kind.group, version, kind.kind) is None:
                    subject = GroupVersionKind(kind.group, version, kind.kind)
                    more.add(kind, version, self.custom_schemas.get(subject))
        return schemas
