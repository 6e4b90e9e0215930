"""Codec of custom resources: prune by the schema of the object's version, and decode metadata as Go does.

Nothing else is checked or dropped: empty values stay, and values of a wrong type are left to validation.
"""

# upstream 1.36: apiextensions-apiserver/pkg/apiserver/customresource_handler.go, unstructuredSchemaCoercer

from functools import cached_property
from typing import Any

from mockkube.api.codec import Codec, Decoder, DecodingError, DecodingState
from mockkube.api.custom.defaulting import fill_in
from mockkube.api.custom.definition import CustomVersion, Definition
from mockkube.api.custom.metadata import MetadataReader, Misread
from mockkube.api.custom.nodes import object_node
from mockkube.api.custom.pruning import drop_nulls, prune_object
from mockkube.api.schema import TypeNode
from mockkube.api.types import Object


class CustomCodec(Codec):
    """Codec of one CRD; other types are decoded by the server's codec."""

    def __init__(self, definition: Definition, plain: Codec) -> None:
        super().__init__(plain.schema)
        self.definition = definition
        self._plain = plain
        self._nodes: dict[str, TypeNode] = {}

    @cached_property
    def metadata(self) -> MetadataReader:
        """Reader of metadata."""
        return MetadataReader(self._plain)

    def node_of(self, version: CustomVersion) -> TypeNode:
        """Return the type of a version's objects."""
        node = self._nodes.get(version.name)
        if node is None:
            node = self._nodes[version.name] = object_node(version.structural, self.metadata.node)
        return node

    def get_decoder(self, node: TypeNode) -> Decoder:
        """Return the decoder of a type."""
        return self._decode_own if any(node is own for own in self._nodes.values()) else self._plain.get_decoder(node)

    def _decode_own(self, value: Any, found: DecodingState) -> Any:
        if not isinstance(value, dict):
            raise DecodingError
        unknown: list[str] = []
        try:
            obj = self.read(value, unknown)
        except Misread as error:
            raise DecodingError from error
        found.has_unknown_fields = found.has_unknown_fields or bool(unknown)
        return obj

    def read(self, value: Object, unknown: list[str]) -> Object:
        """Return a pruned copy of the object; add the paths of dropped fields to `unknown`."""
        metadata = self.metadata.read(value.get("metadata"), unknown=unknown)
        # An object of another kind is not pruned: validation rejects it with its own text.
        if value.get("kind") != self.definition.kind or not self._is_of_group(value):
            return {**value, "metadata": metadata}
        version = self.definition.of_api_version(value["apiVersion"])
        structural = version.structural if version is not None else None
        obj = prune_object(value, structural, unknown)
        if structural is not None:
            drop_nulls(obj, structural)
            self.metadata.read_embedded(obj, structural, unknown)
        return {**obj, "metadata": metadata}

    def _is_of_group(self, value: Object) -> bool:
        return str(value.get("apiVersion") or "").rpartition("/")[0] == self.definition.group

    def default(self, obj: Object) -> None:
        """Set the defaults of the object's version."""
        version = self.definition.of_api_version(obj.get("apiVersion"))
        if version is not None and obj.get("kind") == self.definition.kind:
            fill_in(obj, version.structural)

    def converted(self, obj: Object, target: CustomVersion) -> Object:
        """Return the object in another version, without fields that it does not have."""
        if obj["apiVersion"] == target.api_version:
            return obj
        return self.read({**obj, "apiVersion": target.api_version}, [])
