"""Reading custom objects: pruned by the schema of the version they name, their metadata read as Go reads it.

Nothing else is checked or dropped here: an empty value stays, and what has a wrong type is for validation to say.
"""

# upstream 1.36: apiextensions-apiserver/pkg/apiserver/customresource_handler.go, unstructuredSchemaCoercer

from functools import cached_property
from typing import Any

from mockkube.api.codec import Codec, Decoder, DecodingError, Found
from mockkube.api.custom.defaulting import fill_in
from mockkube.api.custom.definition import CustomVersion, Definition
from mockkube.api.custom.metadata import MetadataReader, Misread
from mockkube.api.custom.nodes import object_node
from mockkube.api.custom.pruning import drop_nulls, prune_object
from mockkube.api.schema import Node
from mockkube.api.types import Object


class CustomCodec(Codec):
    """Decodes the objects of one definition; any other type as the codec of the server does."""

    def __init__(self, definition: Definition, plain: Codec) -> None:
        super().__init__(plain.schema)
        self.definition = definition
        self._plain = plain
        self._nodes: dict[str, Node] = {}

    @cached_property
    def metadata(self) -> MetadataReader:
        """Reads metadata."""
        return MetadataReader(self._plain)

    def node_of(self, version: CustomVersion) -> Node:
        """The type of the objects of a version."""
        node = self._nodes.get(version.name)
        if node is None:
            node = self._nodes[version.name] = object_node(version.structural, self.metadata.node)
        return node

    def decoder(self, node: Node) -> Decoder:
        """The decoder of a type."""
        return self._decode_own if any(node is own for own in self._nodes.values()) else self._plain.decoder(node)

    def _decode_own(self, value: Any, found: Found) -> Any:
        if not isinstance(value, dict):
            raise DecodingError
        unknown: list[str] = []
        try:
            obj = self.read(value, unknown)
        except Misread as error:
            raise DecodingError from error
        found.unknown = found.unknown or bool(unknown)
        return obj

    def read(self, value: Object, unknown: list[str]) -> Object:
        """Return a fresh object of what its version knows; paths of what is left out are added to `unknown`."""
        metadata = self.metadata.read(value.get("metadata"), unknown=unknown)
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
        """Fill in the defaults of the version the object is of."""
        version = self.definition.of_api_version(obj.get("apiVersion"))
        if version is not None and obj.get("kind") == self.definition.kind:
            fill_in(obj, version.structural)

    def converted(self, obj: Object, target: CustomVersion) -> Object:
        """The object in another version, as far as that knows it."""
        if obj["apiVersion"] == target.api_version:
            return obj
        return self.read({**obj, "apiVersion": target.api_version}, [])
