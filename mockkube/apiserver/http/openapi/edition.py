"""OpenAPI documents of the served kinds, each built on first request and kept as bytes."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Final

import orjson

from mockkube.api.catalogue import STATUS, KindInfo
from mockkube.api.protobuf.envelope import GroupVersionKind
from mockkube.api.schema import Schema
from mockkube.api.types import ReadOnlyObject
from mockkube.apiserver.http.openapi import custom, documents, fixed, operations, protobuf
from mockkube.apiserver.http.openapi.operations import Operation
from mockkube.apiserver.http.openapi.schemas import V2, V3, Schemas
from mockkube.features.versions import Version

Served = Sequence[tuple[KindInfo, tuple[str, ...]]]
Custom = Mapping[GroupVersionKind, ReadOnlyObject]
"""Schemas of custom resources by kind."""
# Since this version a v3 document omits kinds of other groups from types that all groups share.
_NARROWED_SINCE: Final = Version(1, 36)
_PARAMETERS_SINCE: Final = {"shardSelector": Version(1, 36)}
_ROOTS: Final = {
    ".well-known/openid-configuration": fixed.ISSUER,
    "api": fixed.CORE,
    "apis": fixed.GROUPS,
    "openid/v1/jwks": fixed.KEYS,
    "version": fixed.VERSION,
}


class Document:
    """Encoded document and the hash of its content."""

    def __init__(self, body: bytes) -> None:
        self.body = body
        self.tag = hashlib.sha512(body).hexdigest().upper()

    def url(self, place: str) -> str:
        """Return the server-relative URL of this content for a v3 path."""
        return f"/openapi/v3/{place}?hash={self.tag}"


class Edition:
    """OpenAPI documents of a set of kinds and versions."""

    def __init__(self, served: Served, schema: Schema, definitions: Custom) -> None:
        self.served = served
        self.definitions = definitions
        self._schema = schema
        self._third: dict[str, Document] = {}

    @cached_property
    def places(self) -> dict[str, tuple[str, str]]:
        """Group and version of each v3 document by its path; both empty for paths that are no resources."""
        found: dict[str, tuple[str, str]] = dict.fromkeys(_ROOTS, ("", ""))
        for kind, versions in self.served:
            if kind.group:
                found[operations.root(kind.group)[1:]] = (kind.group, "")
            for version in versions:
                found[operations.root(kind.group, version)[1:]] = (kind.group, version)
        return dict(sorted(found.items()))

    def index(self) -> bytes:
        """Return the list of v3 documents with their URLs."""
        # All v3 documents are built for the index, as their URLs contain the hash of their content.
        paths = {place: {"serverRelativeURL": self.third(place).url(place)} for place in self.places}
        return orjson.dumps({"paths": paths})

    def third(self, place: str) -> Document:
        """Return the v3 document of a path."""
        document = self._third.get(place)
        if document is None:
            about = self.places[place] if self._schema.version >= _NARROWED_SINCE else None
            whole = documents.third(self._of_place(place), self._schemas(V3), about)
            document = self._third[place] = Document(orjson.dumps(whole))
        return document

    @cached_property
    def second(self) -> Document:
        """The v2 document."""
        chosen = [operation for place in self.places for operation in self._of_place(place)]
        return Document(orjson.dumps(documents.second(chosen, self._schemas(V2))))

    @cached_property
    def second_as_protobuf(self) -> bytes:
        """The v2 document as a protobuf message."""
        return protobuf.encode(orjson.loads(self.second.body))

    def _of_place(self, place: str) -> Iterator[Operation]:
        if place in _ROOTS:
            yield _ROOTS[place]
            return
        group, version = self.places[place]
        if not version:
            yield fixed.of_group(group)
            return
        yield fixed.of_version(group, version)
        for kind, versions in self.served:
            if kind.group == group and version in versions:
                for operation in self._of_kind(kind, version):
                    yield self._at_version(operation)

    def _at_version(self, operation: Operation) -> Operation:
        """Return the operation without parameters that later versions added."""
        later = [name for name, since in _PARAMETERS_SINCE.items() if since > self._schema.version]
        if not later:
            return operation
        return replace(operation, query=tuple(name for name in operation.query if name not in later))

    def _of_kind(self, kind: KindInfo, version: str) -> Iterator[Operation]:
        node = self._schema.find_kind_type(kind.group, version, kind.kind)
        if node is None:
            return custom.operations_of(kind, version, self._find)
        if "status" not in node.fields:
            # The table of kinds holds for all versions; in this one the kind has no status yet.
            kind = replace(kind, subresources=tuple(sub for sub in kind.subresources if sub != STATUS))
        return operations.of_kind(kind, version, self._find)

    def _find(self, group: str, version: str, kind: str) -> str:
        published = self._schema.find_definition(group, version, kind)
        return published or custom.name_of(GroupVersionKind(group, version, kind))

    def _schemas(self, prefix: str) -> Schemas:
        schemas = Schemas(self._schema, prefix)
        more = custom.CustomSchemas(schemas, prefix)
        for kind, versions in self.served:
            for version in versions:
                if self._schema.find_definition(kind.group, version, kind.kind) is None:
                    subject = GroupVersionKind(kind.group, version, kind.kind)
                    more.add(kind, version, self.definitions.get(subject))
        return schemas
