"""Objects of `etcdctl get --prefix /registry -w json`: keys and values of the real API server in etcd, in base64."""

from base64 import b64decode
from collections.abc import Iterator
from typing import Final

import orjson

from mockkube.api.json_objects import Object
from mockkube.api.protobuf.envelope import MAGIC, ProtobufSerializer
from mockkube.features.versions import NEWEST
from mockkube.importing.errors import UnreadableDumpError
from mockkube.proposals.component_extensions import make_schema
from mockkube.proposals.loading import default_trains

_KEY_VALUES: Final = b'"kvs"'
_HEAD_BYTES: Final = 4096
_ENCRYPTED: Final = b"k8s:enc:"


def is_etcd_dump(content: bytes) -> bool:
    """Return whether a JSON text is the output of etcdctl."""
    head = content[:_HEAD_BYTES]
    return _KEY_VALUES in head and b'"header"' in head


def read_etcd_dump(content: bytes) -> Iterator[Object]:
    """Yield the objects; values that are no objects, such as allocation ranges, are left out."""
    serializer = ProtobufSerializer(make_schema(NEWEST, default_trains()))
    for row in orjson.loads(content)["kvs"]:
        key, value = b64decode(row["key"]).decode(), b64decode(row.get("value", ""))
        if value.startswith(_ENCRYPTED):
            raise UnreadableDumpError(f"{key}: encrypted at rest: dump the objects with kubectl instead")
        obj = _decode(serializer, value)
        if obj is not None and obj.get("kind") and (obj.get("metadata") or {}).get("name"):
            yield obj


def _decode(serializer: ProtobufSerializer, value: bytes) -> Object | None:
    if value.startswith(MAGIC):
        try:
            decoded: Object = serializer.decode(value).value
        except ValueError:  # a kind without a schema, such as RangeAllocation
            return None
        return decoded
    if not value.startswith(b"{"):
        return None
    loaded: Object = orjson.loads(value)
    return loaded
