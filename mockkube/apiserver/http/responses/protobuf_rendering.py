"""Render stored objects and lists as protobuf.

upstream 1.36: staging/src/k8s.io/apimachinery/pkg/runtime/serializer/protobuf/protobuf.go
"""

from collections.abc import Sequence

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.protobuf.envelope import encode_list_items, wrap_in_envelope
from mockkube.apiserver.registry.cached_object import CachedObject
from mockkube.apiserver.registry.compressible_bytes import CompressibleBytes, join_chunks
from mockkube.apiserver.registry.resource import Resource
from mockkube.apiserver.registry.watch_cache import ListRange


def render_message(resource: Resource, cached: CachedObject) -> bytes:
    """Return one object in the version of the resource."""
    return wrap_in_envelope(resource.api_version, resource.kind.kind, _encode_object(resource, cached))


def render_list_message(
    resource: Resource, cached_objects: Sequence[CachedObject], metadata: ReadOnlyObject
) -> Sequence[CompressibleBytes]:
    """Return a list as parts: the bytes before the items, the items, the bytes after them."""
    items = _get_joined_items(resource, cached_objects)
    protobuf, kind = resource.dependencies.protobuf, resource.kind.list_kind
    before, after = protobuf.encode_list_frame(
        resource.api_version, kind, metadata, sum(len(one.data) for one in items)
    )
    return CompressibleBytes(before), *items, CompressibleBytes(after)


def _encode_object(resource: Resource, cached: CachedObject) -> bytes:
    # The encoded message is kept with the object, so that watchers and lists share one encoding.
    return resource.dependencies.protobuf.encode_content_cached(
        cached, resource.api_version, lambda: resource.to_served_version(cached.load())
    )


def _get_joined_items(resource: Resource, cached_objects: Sequence[CachedObject]) -> Sequence[CompressibleBytes]:
    """Return the joined items, shared by all requests for the same span until it changes."""
    if not isinstance(cached_objects, ListRange):
        return join_chunks(encode_list_items(_encode_object(resource, cached) for cached in cached_objects))
    form = f"{resource.api_version} protobuf"
    known = cached_objects.encoded_items.get(form)
    if known is None:
        known = cached_objects.encoded_items[form] = join_chunks(
            encode_list_items(_encode_object(resource, cached) for cached in cached_objects)
        )
    return known
