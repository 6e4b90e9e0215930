"""Render stored objects and lists as protobuf.

upstream 1.36: staging/src/k8s.io/apimachinery/pkg/runtime/serializer/protobuf/protobuf.go
"""

from collections.abc import Sequence

from mockkube.api.protobuf.envelope import encode_list_items, wrap_in_envelope
from mockkube.api.types import ReadOnlyObject
from mockkube.apiserver.registry.bulk import Bulk, in_parts
from mockkube.apiserver.registry.cache import Record, Span
from mockkube.apiserver.registry.resource import Resource


def message(resource: Resource, record: Record) -> bytes:
    """Return one object in the version of the resource."""
    return wrap_in_envelope(resource.api_version, resource.kind.kind, _content(resource, record))


def message_list(resource: Resource, records: Sequence[Record], metadata: ReadOnlyObject) -> Sequence[Bulk]:
    """Return a list as parts: the bytes before the items, the items, the bytes after them."""
    items = _items(resource, records)
    protobuf, kind = resource.services.protobuf, resource.kind.list_kind
    before, after = protobuf.encode_list_frame(
        resource.api_version, kind, metadata, sum(len(one.plain) for one in items)
    )
    return Bulk(before), *items, Bulk(after)


def _content(resource: Resource, record: Record) -> bytes:
    # The encoded message is kept with the object, so that watchers and lists share one encoding.
    return resource.services.protobuf.encode_content_cached(
        record, resource.api_version, lambda: resource.served(record.load())
    )


def _items(resource: Resource, records: Sequence[Record]) -> Sequence[Bulk]:
    """Return the joined items, shared by all requests for the same span until it changes."""
    if not isinstance(records, Span):
        return in_parts(encode_list_items(_content(resource, record) for record in records))
    form = f"{resource.api_version} protobuf"
    known = records.joined.get(form)
    if known is None:
        known = records.joined[form] = in_parts(encode_list_items(_content(resource, record) for record in records))
    return known
