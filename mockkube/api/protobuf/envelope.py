"""Whole objects: the magic, the envelope that names the kind, and the object's own message within.

upstream 1.36: staging/src/k8s.io/apimachinery/pkg/runtime/serializer/protobuf/protobuf.go
"""

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from mockkube.api.bounded_cache import BoundedCache
from mockkube.api.protobuf import wire
from mockkube.api.protobuf.decoding import Decoders
from mockkube.api.protobuf.encoding import Encoders
from mockkube.api.protobuf.layout import slots
from mockkube.api.protobuf.wire import Malformed
from mockkube.api.schema import Field, Node, Schema, Shape
from mockkube.api.types import Object, ReadOnlyObject

MEDIA: Final = "application/vnd.kubernetes.protobuf"
MAGIC: Final = b"k8s\0"
STREAM: Final = f"{MEDIA};stream=watch"
KEPT_MAX: Final = 8192
"""How many objects are kept as messages; the one unused for longest is forgotten."""
KEPT_BYTES_MAX: Final = 32 * 1024 * 1024
"""How large these messages may be together."""
_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1."
_META_KINDS: Final = ("APIResourceList", "DeleteOptions", "Status")
"""Kinds that stand in every group and version, and have one type."""
_FIRST: Final = wire.tag(1, wire.SIZED)
_SECOND: Final = wire.tag(2, wire.SIZED)
_NO_ENCODING_NOR_TYPE: Final = b"\x1a\x00\x22\x00"


class GroupVersionKind(NamedTuple):
    """A kind in full."""

    group: str
    version: str
    kind: str


class UnknownKind(Malformed):
    """No message is known for the kind."""

    def __init__(self, api_version: str, kind: str) -> None:
        super().__init__(f'no kind "{kind}" is registered for version "{api_version}"')
        self.api_version, self.kind = api_version, kind


class Message(NamedTuple):
    """An object read: what it says it is, and its JSON, `apiVersion` and `kind` included."""

    api_version: str
    kind: str
    value: Object


class Protobuf:
    """Reads and writes the objects of one version's schema."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._decoders = Decoders(schema)
        self._encoders = Encoders(schema)
        self._nodes: dict[tuple[str, str], Node] = {}
        self._spoken: dict[tuple[str, str], bool] = {}
        self._kept: BoundedCache[tuple[int, str], tuple[object, bytes]] = BoundedCache(
            KEPT_MAX, bytes_max=KEPT_BYTES_MAX, size_of=lambda kept: len(kept[1])
        )

    def read(self, data: bytes, expected: GroupVersionKind | None = None) -> Message:
        """Read an object; what it does not say of its kind is taken from `expected`. Malformed, UnknownKind.

        The value is what the codec takes: not yet pruned nor completed, but of the right types.
        """
        api_version = kind = ""
        try:
            envelope = _opened(data)
            api_version, kind = _kind(envelope.sized(1), expected)
            value: Object = {"kind": kind, "apiVersion": api_version}
            raw = envelope.sized(2)
            self._decoders.message(self._node(api_version, kind))(raw, 0, len(raw), value)
        except UnknownKind:
            raise
        except (IndexError, RecursionError, Malformed) as error:
            complaint = Malformed(_words(error))
            complaint.api_version, complaint.kind = api_version, kind
            raise complaint from error
        return Message(api_version, kind, value)

    def speaks(self, api_version: str, kind: str) -> bool:
        """Whether there is a message for a kind."""
        spoken = self._spoken.get((api_version, kind))
        if spoken is None:
            try:
                spoken = bool(slots(self._node(api_version, kind)))
            except UnknownKind:
                spoken = False
            self._spoken[api_version, kind] = spoken
        return spoken

    def write(self, obj: ReadOnlyObject) -> bytes:
        """Write an object as its `kind` and `apiVersion` say; UnknownKind when there is no message for it."""
        return enclose(obj.get("apiVersion", ""), obj["kind"], self.content(obj))

    def content(self, obj: ReadOnlyObject) -> bytes:
        """An object's own message, as it stands in a list and in its envelope."""
        return self._encoders.message(self._node(obj.get("apiVersion", ""), obj["kind"]))(obj)

    def kept(self, source: object, api_version: str, make: Callable[[], ReadOnlyObject]) -> bytes:
        """An object's own message, made once for a source that never changes."""
        key = (id(source), api_version)
        found = self._kept.get(key)
        if found is None or found[0] is not source:
            found = (source, self.content(make()))
            self._kept.put(key, found)
        return found[1]

    def around_list(
        self, api_version: str, kind: str, metadata: ReadOnlyObject, items_bytes: int
    ) -> tuple[bytes, bytes]:
        """What comes before and after the items of a list, which take so many bytes as `listed` makes them."""
        about = wire.sized(_FIRST, self._encoders.message(self._schema.node(f"{_META}ListMeta"))(metadata))
        size = wire.varint(len(about) + items_bytes)
        return b"".join((MAGIC, _type_meta(api_version, kind), _SECOND, size, about)), _NO_ENCODING_NOR_TYPE

    def _node(self, api_version: str, kind: str) -> Node:
        node = self._nodes.get((api_version, kind))
        if node is None:
            node = self._nodes[api_version, kind] = self._found(api_version, kind)
        return node

    def _found(self, api_version: str, kind: str) -> Node:
        group, _, version = api_version.rpartition("/")
        node = self._schema.kind(group, version, kind)
        if node is None and kind in _META_KINDS:
            node = self._schema.kind("", "v1", kind)
        if node is None and group == "meta.k8s.io" and version in ("v1", "v1beta1"):
            node = self._metadata_only(kind)
        if node is None or node.shape is not Shape.STRUCT:
            raise UnknownKind(api_version, kind)
        return node

    def _metadata_only(self, kind: str) -> Node | None:
        """The types of objects reduced to their metadata, which the schemas do not list."""
        one = _struct("PartialObjectMetadata", metadata=self._schema.node(f"{_META}ObjectMeta"))
        if kind == "PartialObjectMetadata":
            return one
        if kind == "PartialObjectMetadataList":
            items = Node(Shape.LIST, "[]v1.PartialObjectMetadata", item=one)
            return _struct(kind, metadata=self._schema.node(f"{_META}ListMeta"), items=items)
        return None


def listed(items: Iterable[bytes]) -> list[bytes]:
    """Messages as they stand in a list."""
    return [wire.sized(_SECOND, item) for item in items]


def enclose(api_version: str, kind: str, content: bytes) -> bytes:
    """An object's message in its envelope."""
    return b"".join((MAGIC, _type_meta(api_version, kind), wire.sized(_SECOND, content), _NO_ENCODING_NOR_TYPE))


def _type_meta(api_version: str, kind: str) -> bytes:
    return wire.sized(_FIRST, wire.sized(_FIRST, api_version.encode()) + wire.sized(_SECOND, kind.encode()))


def watch_frame(event_type: str, enclosed: bytes) -> bytes:
    """One event of a watch: its length in four bytes, and a WatchEvent around an object in its envelope."""
    # upstream 1.36: staging/src/k8s.io/apiserver/pkg/endpoints/handlers/watch.go
    event = wire.sized(_FIRST, event_type.encode()) + wire.sized(_SECOND, wire.sized(_FIRST, enclosed))
    return len(event).to_bytes(4, "big") + event


def _struct(name: str, **fields: Node) -> Node:
    known = {key: Field(key, node, pointer=False, omit_empty=True, omit_zero=False) for key, node in fields.items()}
    return Node(Shape.STRUCT, f"v1.{name}", f"{_META}{name}", fields=known)


def _words(error: Exception) -> str:
    match error:
        case IndexError():
            return "unexpected EOF"
        case RecursionError():
            return "exceeded max depth"
        case _:
            return str(error)


def _opened(data: bytes) -> wire.Parts:
    if not data:
        raise Malformed("empty data")
    if not data.startswith(MAGIC):
        raise Malformed(f"provided data does not appear to be a protobuf message, expected prefix {_go(MAGIC)}")
    if len(data) == len(MAGIC):
        raise Malformed("empty body")
    return wire.parts(data, len(MAGIC), len(data))


def _go(data: bytes) -> str:
    return f"[{' '.join(map(str, data))}]"


def _kind(type_meta: bytes, expected: GroupVersionKind | None) -> tuple[str, str]:
    """The `apiVersion` and `kind` of an object: what it says, else what is expected."""
    said = wire.parts(type_meta, 0, len(type_meta))
    api_version, kind = (said.sized(number).decode("utf-8", "replace") for number in (1, 2))
    if expected is not None:
        kind = kind or expected.kind
        api_version = api_version or f"{expected.group}/{expected.version}".removeprefix("/")
    if not kind:
        raise Malformed("Object 'Kind' is missing")
    if not api_version:
        raise Malformed("Object 'apiVersion' is missing")
    return api_version, kind
