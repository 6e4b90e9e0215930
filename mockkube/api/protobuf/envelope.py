"""Protobuf serializer of whole objects: magic number, envelope with the kind, and the object's message.

upstream 1.36: staging/src/k8s.io/apimachinery/pkg/runtime/serializer/protobuf/protobuf.go
"""

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from mockkube.api.bounded_cache import BoundedCache
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.protobuf import wire
from mockkube.api.protobuf.decoding import Decoders
from mockkube.api.protobuf.encoding import Encoders
from mockkube.api.protobuf.layout import wire_fields
from mockkube.api.protobuf.wire import Malformed
from mockkube.api.schema import Schema, Shape, TypeField, TypeNode

MEDIA_TYPE: Final = "application/vnd.kubernetes.protobuf"
MAGIC: Final = b"k8s\0"
STREAM_MEDIA_TYPE: Final = f"{MEDIA_TYPE};stream=watch"
# Number of objects whose messages are cached; the least recently used one is dropped.
CACHED_MESSAGES_MAX: Final = 8192
# Total size of the cached messages.
CACHED_BYTES_MAX: Final = 32 * 1024 * 1024
_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1."
# Kinds that exist in every group and version with one type.
_META_KINDS: Final = ("APIResourceList", "DeleteOptions", "Status")
_FIRST: Final = wire.encode_tag(1, wire.LENGTH_DELIMITED)
_SECOND: Final = wire.encode_tag(2, wire.LENGTH_DELIMITED)
_NO_ENCODING_NOR_TYPE: Final = b"\x1a\x00\x22\x00"


class GroupVersionKind(NamedTuple):
    """Group, version and kind."""

    group: str
    version: str
    kind: str


class UnknownKind(Malformed):
    """Kind without a message type."""

    def __init__(self, api_version: str, kind: str) -> None:
        super().__init__(f'no kind "{kind}" is registered for version "{api_version}"')
        self.api_version, self.kind = api_version, kind


class DecodedMessage(NamedTuple):
    """A decoded object: its kind, and its JSON with `apiVersion` and `kind`."""

    api_version: str
    kind: str
    value: Object


class ProtobufSerializer:
    """Protobuf serializer of the objects of one version."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._decoders = Decoders(schema)
        self._encoders = Encoders(schema)
        self._nodes: dict[tuple[str, str], TypeNode] = {}
        self._supported: dict[tuple[str, str], bool] = {}
        self._cache: BoundedCache[tuple[int, str], tuple[object, bytes]] = BoundedCache(
            CACHED_MESSAGES_MAX, bytes_max=CACHED_BYTES_MAX, size_of=lambda kept: len(kept[1])
        )

    def decode(self, data: bytes, expected: GroupVersionKind | None = None) -> DecodedMessage:
        """Decode an object; `expected` fills in missing parts of its kind. Raises Malformed, UnknownKind.

        The value is input for the codec: of the right types, but neither pruned nor defaulted.
        """
        api_version = kind = ""
        try:
            envelope = _open_envelope(data)
            api_version, kind = _decode_kind(envelope.get_bytes(1), expected)
            value: Object = {"kind": kind, "apiVersion": api_version}
            raw = envelope.get_bytes(2)
            self._decoders.get_decoder(self._get_type(api_version, kind))(raw, 0, len(raw), value)
        except UnknownKind:
            raise
        except (IndexError, RecursionError, Malformed) as error:
            failure = Malformed(_error_text(error))
            failure.api_version, failure.kind = api_version, kind
            raise failure from error
        return DecodedMessage(api_version, kind, value)

    def supports(self, api_version: str, kind: str) -> bool:
        """Return whether there is a message type for a kind."""
        spoken = self._supported.get((api_version, kind))
        if spoken is None:
            try:
                spoken = bool(wire_fields(self._get_type(api_version, kind)))
            except UnknownKind:
                spoken = False
            self._supported[api_version, kind] = spoken
        return spoken

    def encode(self, obj: ReadOnlyObject) -> bytes:
        """Encode an object by its `kind` and `apiVersion`; raise UnknownKind if there is no message type."""
        return wrap_in_envelope(obj.get("apiVersion", ""), obj["kind"], self.encode_content(obj))

    def encode_content(self, obj: ReadOnlyObject) -> bytes:
        """Encode an object's own message, the form it has in a list and in its envelope."""
        return self._encoders.get_encoder(self._get_type(obj.get("apiVersion", ""), obj["kind"]))(obj)

    def encode_content_cached(self, source: object, api_version: str, make: Callable[[], ReadOnlyObject]) -> bytes:
        """Encode an object's own message; cached by `source`, which must never change."""
        key = (id(source), api_version)
        found = self._cache.get(key)
        if found is None or found[0] is not source:
            # The source is kept as well as its id: a freed object's id may be given to another one.
            found = (source, self.encode_content(make()))
            self._cache.put(key, found)
        return found[1]

    def encode_list_frame(
        self, api_version: str, kind: str, metadata: ReadOnlyObject, items_bytes: int
    ) -> tuple[bytes, bytes]:
        """Return the bytes before and after the items of a list, whose total size is given."""
        about = wire.encode_length_delimited(
            _FIRST, self._encoders.get_encoder(self._schema.get_type(f"{_META}ListMeta"))(metadata)
        )
        size = wire.encode_varint(len(about) + items_bytes)
        return b"".join((MAGIC, _encode_type_meta(api_version, kind), _SECOND, size, about)), _NO_ENCODING_NOR_TYPE

    def _get_type(self, api_version: str, kind: str) -> TypeNode:
        node = self._nodes.get((api_version, kind))
        if node is None:
            node = self._nodes[api_version, kind] = self._find_type(api_version, kind)
        return node

    def _find_type(self, api_version: str, kind: str) -> TypeNode:
        group, _, version = api_version.rpartition("/")
        node = self._schema.find_kind_type(group, version, kind)
        if node is None and kind in _META_KINDS:
            node = self._schema.find_kind_type("", "v1", kind)
        if node is None and group == "meta.k8s.io" and version in ("v1", "v1beta1"):
            node = self._find_metadata_only_type(kind)
        if node is None or node.shape is not Shape.STRUCT:
            raise UnknownKind(api_version, kind)
        return node

    def _find_metadata_only_type(self, kind: str) -> TypeNode | None:
        """Return the types of metadata-only objects, which the published schemas do not have."""
        one = _make_struct_node("PartialObjectMetadata", metadata=self._schema.get_type(f"{_META}ObjectMeta"))
        if kind == "PartialObjectMetadata":
            return one
        if kind == "PartialObjectMetadataList":
            items = TypeNode(Shape.LIST, "[]v1.PartialObjectMetadata", item=one)
            return _make_struct_node(kind, metadata=self._schema.get_type(f"{_META}ListMeta"), items=items)
        return None


def encode_list_items(items: Iterable[bytes]) -> list[bytes]:
    """Encode messages as the items of a list."""
    return [wire.encode_length_delimited(_SECOND, item) for item in items]


def wrap_in_envelope(api_version: str, kind: str, content: bytes) -> bytes:
    """Wrap an object's message in its envelope."""
    return b"".join(
        (
            MAGIC,
            _encode_type_meta(api_version, kind),
            wire.encode_length_delimited(_SECOND, content),
            _NO_ENCODING_NOR_TYPE,
        )
    )


def _encode_type_meta(api_version: str, kind: str) -> bytes:
    return wire.encode_length_delimited(
        _FIRST,
        wire.encode_length_delimited(_FIRST, api_version.encode())
        + wire.encode_length_delimited(_SECOND, kind.encode()),
    )


def encode_watch_frame(event_type: str, enclosed: bytes) -> bytes:
    """Encode one watch event: its length in four bytes, and a WatchEvent with the object's envelope."""
    # upstream 1.36: staging/src/k8s.io/apiserver/pkg/endpoints/handlers/watch.go
    event = wire.encode_length_delimited(_FIRST, event_type.encode()) + wire.encode_length_delimited(
        _SECOND, wire.encode_length_delimited(_FIRST, enclosed)
    )
    return len(event).to_bytes(4, "big") + event


def _make_struct_node(name: str, **fields: TypeNode) -> TypeNode:
    known = {key: TypeField(key, node, pointer=False, omit_empty=True, omit_zero=False) for key, node in fields.items()}
    return TypeNode(Shape.STRUCT, f"v1.{name}", f"{_META}{name}", fields=known)


def _error_text(error: Exception) -> str:
    match error:
        case IndexError():
            return "unexpected EOF"
        case RecursionError():
            return "exceeded max depth"
        case _:
            return str(error)


def _open_envelope(data: bytes) -> wire.MessageFields:
    if not data:
        raise Malformed("empty data")
    if not data.startswith(MAGIC):
        raise Malformed(
            f"provided data does not appear to be a protobuf message, expected prefix {_format_go_bytes(MAGIC)}"
        )
    if len(data) == len(MAGIC):
        raise Malformed("empty body")
    return wire.read_fields(data, len(MAGIC), len(data))


def _format_go_bytes(data: bytes) -> str:
    return f"[{' '.join(map(str, data))}]"


def _decode_kind(type_meta: bytes, expected: GroupVersionKind | None) -> tuple[str, str]:
    """Return the `apiVersion` and `kind` of an object, or the expected ones."""
    type_fields = wire.read_fields(type_meta, 0, len(type_meta))
    api_version, kind = (type_fields.get_bytes(number).decode("utf-8", "replace") for number in (1, 2))
    if expected is not None:
        kind = kind or expected.kind
        api_version = api_version or f"{expected.group}/{expected.version}".removeprefix("/")
    if not kind:
        raise Malformed("Object 'Kind' is missing")
    if not api_version:
        raise Malformed("Object 'apiVersion' is missing")
    return api_version, kind
