"""Encoding of objects in the store: a line with the writer's codec tag, then JSON without the resourceVersion.

The resourceVersion is only known once the write is committed, so it is inserted into the bytes when they are read.
The result is what GET returns, LIST joins and every watcher gets: an object is encoded once.
"""

import re
from typing import Any, Final

import orjson

from mockkube.api.fields import escape_html
from mockkube.api.json_objects import Object, ReadOnlyObject

_EMPTY_VERSION: Final = b'"resourceVersion":""'
_MANAGED_FIELDS: Final = b',"managedFields":['
# End of metadata whose last field is a list of objects. A quote before a letter begins a string, so none precedes it.
_END_OF_MANAGED_FIELDS: Final = re.compile(rb'\}\]\},"[A-Za-z]')
_META_ORDER: Final = (
    "name",
    "generateName",
    "namespace",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "labels",
    "annotations",
    "ownerReferences",
    "finalizers",
    "managedFields",
)


def dumps(value: Any) -> bytes:
    """Encode as compact JSON."""
    return orjson.dumps(value)


def order_fields(obj: ReadOnlyObject, **metadata: Any) -> Object:
    """Return the object with kind, apiVersion and metadata first, and its metadata in Go's order.

    `metadata` holds changes of the metadata.
    """
    given = {**obj["metadata"], **metadata}
    # A key keeps the place where it was first.
    ordered = {"kind": obj["kind"], "apiVersion": obj["apiVersion"], "metadata": None, **obj}
    ordered["metadata"] = {key: given[key] for key in _META_ORDER if key in given}
    return ordered


def encode_stored(obj: ReadOnlyObject, tag: bytes) -> bytes:
    """Encode an object for the store, with an empty resourceVersion."""
    # Characters of HTML are escaped, because clients compare the bytes of raw JSON within objects.
    return tag + b"\n" + escape_html(orjson.dumps(order_fields(obj, resourceVersion="")))


def decode_stored(value: bytes, revision: int) -> tuple[bytes, bytes]:
    """Return the tag of the codec that wrote the value, and the object's JSON with its resourceVersion."""
    tag, _, body = value.partition(b"\n")
    filled = body.replace(_EMPTY_VERSION, b'"resourceVersion":"%d"' % revision, 1)
    return tag, filled if len(filled) > len(body) else _set_version(body, revision)


def find_version(value: bytes, start: int) -> int:  # hot: every write
    """Return where in a stored value the resourceVersion is to be inserted; 0 if it has no place for it."""
    at = value.find(_EMPTY_VERSION, start)
    return at + len(_EMPTY_VERSION) - 1 if at >= 0 else 0


def _set_version(body: bytes, revision: int) -> bytes:
    """Return JSON that another program stored, with its resourceVersion; unchanged if it is no object."""
    try:
        obj = orjson.loads(body)
    except orjson.JSONDecodeError:
        return body
    metadata = obj.get("metadata", {}) if isinstance(obj, dict) else None
    if not isinstance(metadata, dict):
        return body
    return orjson.dumps({**obj, "metadata": {**metadata, "resourceVersion": str(revision)}})


def encode_head(kind: str, api_version: str) -> bytes:
    """Return the beginning of the JSON of this kind's objects, which list items leave out."""
    return b'{"kind":%b,"apiVersion":%b,' % (orjson.dumps(kind), orjson.dumps(api_version))


def loads(body: bytes) -> Object:
    """Decode an object from JSON."""
    obj: Object = orjson.loads(body)
    return obj


def loads_without_managed_fields(body: bytes) -> Object:  # hot: every object that a component reads
    """Decode an object from JSON, except for the managedFields in its metadata."""
    start = body.find(_MANAGED_FIELDS)
    if start < 0:
        return loads(body)
    end = _END_OF_MANAGED_FIELDS.search(body, start)
    # A template within the object has metadata, too, which is kept as it is.
    if end is not None and body.count(b'"metadata":{', 0, start) == 1:
        try:
            return loads(body[:start] + body[end.start() + 2 :])
        except orjson.JSONDecodeError:  # what ended was a list within the managedFields
            pass
    obj = loads(body)
    obj["metadata"].pop("managedFields", None)
    return obj
