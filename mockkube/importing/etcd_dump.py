"""Objects of the real API server in etcd: output of `etcdctl get --prefix /registry -w json` and `snapshot save`."""

from base64 import b64decode
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from typing import Final

import orjson

from mockkube.api.json_objects import Object
from mockkube.api.protobuf.envelope import MAGIC, ProtobufSerializer
from mockkube.apiserver.registry.upstream_values import decode_upstream_value
from mockkube.features.versions import NEWEST, OLDEST, Version
from mockkube.importing.errors import UnreadableDumpError
from mockkube.importing.etcd_database import read_etcd_database
from mockkube.proposals.component_extensions import make_schema
from mockkube.proposals.loading import default_trains

_KEY_VALUES: Final = b'"kvs"'
_HEAD_BYTES: Final = 4096
# CustomResourceDefinitions are stored in a version that is not served any more.
_OLD_CRD: Final = ("apiextensions.k8s.io/v1beta1", "CustomResourceDefinition")
_CRD_VERSION: Final = "apiextensions.k8s.io/v1"
_ENCRYPTED: Final = b"k8s:enc:"


def is_etcd_dump(content: bytes) -> bool:
    """Return whether a JSON text is the output of etcdctl."""
    head = content[:_HEAD_BYTES]
    return _KEY_VALUES in head and b'"header"' in head


def read_etcd_dump(content: bytes) -> Iterator[Object]:
    """Yield the objects of the output of etcdctl."""
    rows = orjson.loads(content)["kvs"]
    return _decode_values((b64decode(row["key"]), b64decode(row.get("value", ""))) for row in rows)


def read_etcd_snapshot(content: bytes, file: str) -> Iterator[Object]:
    """Yield the objects of a snapshot, a database file of etcd."""
    return _decode_values(read_etcd_database(content, file).items())


def _decode_values(entries: Iterable[tuple[bytes, bytes]]) -> Iterator[Object]:
    """Yield the objects; values that are no objects, such as allocation ranges, are left out."""
    decoder = _ValueDecoder()
    for key, value in entries:
        name = key.decode(errors="replace")
        if value.startswith(_ENCRYPTED):
            raise UnreadableDumpError(f"{name}: encrypted at rest: dump the objects with kubectl instead")
        try:
            obj = decoder.decode(value)
        except ValueError as error:
            raise UnreadableDumpError(f"{name}: damaged value: {error}: dump the objects again") from None
        if obj is not None and obj.get("kind") and (obj.get("metadata") or {}).get("name"):
            yield obj


class _ValueDecoder:
    """Decoder of values that an API server of any supported version has stored."""

    def __init__(self) -> None:
        minors = range(NEWEST.minor, OLDEST.minor - 1, -1)
        self._versions = [Version(NEWEST.major, minor) for minor in minors]

    def decode(self, value: bytes) -> Object | None:
        """Return the object of a value; None if it is none, or of a kind without a schema, such as RangeAllocation."""
        if value.startswith(b"{"):
            loaded: Object = orjson.loads(value)
            is_old_crd = (loaded.get("apiVersion"), loaded.get("kind")) == _OLD_CRD
            return decode_upstream_value(value, _get_serializer(NEWEST), _CRD_VERSION) if is_old_crd else loaded
        if not value.startswith(MAGIC):
            return None
        for version in self._versions:
            # Later versions do not have all that earlier ones have stored.
            with suppress(ValueError):
                decoded: Object = _get_serializer(version).decode(value).value
                return decoded
        return None


@cache
def _get_serializer(version: Version) -> ProtobufSerializer:
    return ProtobufSerializer(make_schema(version, default_trains()))
