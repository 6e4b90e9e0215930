"""Codec of custom resources: prune by the schema of the object's version, and decode metadata as Go does.

Nothing else is checked or dropped: empty values stay, and values of a wrong type are left to validation.
"""

# upstream 1.36: apiextensions-apiserver/pkg/apiserver/customresource_handler.go, unstructuredSchemaCoercer

from functools import cached_property
from typing import Any

from mockkube.api.custom.crd import Crd, CrdVersion
from mockkube.api.custom.defaulting import set_defaults
from mockkube.api.custom.metadata import MetadataDecoder, MetadataTypeError
from mockkube.api.custom.pruning import drop_nulls, prune_object
from mockkube.api.custom.schema_nodes import make_object_node
from mockkube.api.decoding.codec import Codec, Decoder, DecodingError, DecodingState
from mockkube.api.json_objects import Object
from mockkube.api.schema import TypeNode


class CustomResourceCodec(Codec):
    """Codec of one CRD; other types are decoded by the server's codec."""

    def __init__(self, crd: Crd, plain: Codec) -> None:
        super().__init__(plain.schema)
        self.crd = crd
        self._server_codec = plain
        self._nodes: dict[str, TypeNode] = {}

    @cached_property
    def metadata(self) -> MetadataDecoder:
        """Reader of metadata."""
        return MetadataDecoder(self._server_codec)

    def get_node(self, version: CrdVersion) -> TypeNode:
        """Return the type of a version's objects."""
        node = self._nodes.get(version.name)
        if node is None:
            node = self._nodes[version.name] = make_object_node(version.structural, self.metadata.node)
        return node

    def decode_change(self, node: TypeNode, value: Any, state: DecodingState, before: Object) -> Object:
        """Decode a value as a whole: what it shares with another one is pruned again."""
        return self.decode(node, value, state)

    def get_decoder(self, node: TypeNode) -> Decoder:
        """Return the decoder of a type."""
        return (
            self._decode_custom
            if any(node is own for own in self._nodes.values())
            else self._server_codec.get_decoder(node)
        )

    def _decode_custom(self, value: Any, state: DecodingState) -> Any:
        if not isinstance(value, dict):
            raise DecodingError
        unknown: list[str] = []
        try:
            obj = self.prune(value, unknown)
        except MetadataTypeError as error:
            raise DecodingError from error
        state.has_unknown_fields = state.has_unknown_fields or bool(unknown)
        return obj

    def prune(self, value: Object, unknown: list[str]) -> Object:
        """Return a pruned copy of the object; add the paths of dropped fields to `unknown`."""
        metadata = self.metadata.decode(value.get("metadata"), unknown=unknown)
        # An object of another kind is not pruned: validation rejects it with its own text.
        if value.get("kind") != self.crd.kind or not self._is_of_group(value):
            return {**value, "metadata": metadata}
        version = self.crd.get_version(value["apiVersion"])
        structural = version.structural if version is not None else None
        obj = prune_object(value, structural, unknown)
        if structural is not None:
            drop_nulls(obj, structural)
            self.metadata.decode_embedded(obj, structural, unknown)
        return {**obj, "metadata": metadata}

    def _is_of_group(self, value: Object) -> bool:
        return str(value.get("apiVersion") or "").rpartition("/")[0] == self.crd.group

    def set_defaults(self, obj: Object) -> None:
        """Set the defaults of the object's version."""
        version = self.crd.get_version(obj.get("apiVersion"))
        if version is not None and obj.get("kind") == self.crd.kind:
            set_defaults(obj, version.structural)

    def to_version(self, obj: Object, target: CrdVersion) -> Object:
        """Return the object in another version, without fields that it does not have."""
        if obj["apiVersion"] == target.api_version:
            return obj
        return self.prune({**obj, "apiVersion": target.api_version}, [])
