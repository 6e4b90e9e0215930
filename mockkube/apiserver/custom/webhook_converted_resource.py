"""Custom resource with a conversion webhook.

Each version validates its own objects. Stored objects stay in the version in which they were written until they are
read in another one.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Final

import orjson

from mockkube.api.bounded_cache import BoundedCache
from mockkube.api.custom.codec import CustomResourceCodec
from mockkube.api.custom.crd import Crd, CrdVersion
from mockkube.api.json_objects import Object
from mockkube.apiserver.custom.conversion_webhook import ConversionWebhook
from mockkube.apiserver.custom.resource import CrdFieldsUpdaters, CustomResource
from mockkube.apiserver.registry import encoding
from mockkube.apiserver.registry.cached_object import CachedObject
from mockkube.apiserver.registry.resource import RegistryDependencies, T

# Converted objects that are cached, so that lists and watches do not call the webhook again for each client.
_CACHED_RECORDS_MAX: Final = 16_384
# Objects converted for a decision that are cached, until the decision is repeated with them.
_CACHED_OBJECTS_MAX: Final = 256


class ConversionNeeded(Exception):
    """Signal that an object is needed in another version, and must be converted first."""

    def __init__(self, obj: Object, target: str) -> None:
        super().__init__(f"{obj['apiVersion']}, Kind={obj['kind']} has not been converted to {target}")
        self.obj, self.target = obj, target


class ConversionCache:
    """Cache of objects converted by the webhook of a CRD."""

    def __init__(self, converter: ConversionWebhook, codec: CustomResourceCodec) -> None:
        self._webhook = converter
        self._codec = codec
        self._converted: BoundedCache[tuple[str, str, int], CachedObject] = BoundedCache(
            _CACHED_RECORDS_MAX, size_of=lambda cached: cached.size
        )
        self._objects: BoundedCache[tuple[str, bytes], bytes] = BoundedCache(_CACHED_OBJECTS_MAX, size_of=len)

    async def convert(self, objects: Sequence[Object], target: str) -> list[Object]:
        """Convert objects to another version, and drop fields that it does not have."""
        return [self._codec.prune(one, []) for one in await self._webhook.convert(objects, target)]

    def get_cached(self, cached: CachedObject, target: str) -> CachedObject | None:
        """Return the known conversion of a cached object."""
        return self._converted.get((target, cached.key, cached.revision)) if cached.revision else None

    def put(self, cached: CachedObject, target: str) -> None:
        """Remember the conversion of a cached object."""
        # Results of dry runs have no revision that would identify their state.
        if cached.revision:
            self._converted.put((target, cached.key, cached.revision), cached)

    def convert_cached(self, obj: Object, target: str) -> Object:
        """Return the object in another version; raise ConversionNeeded if it must be converted first."""
        if obj["apiVersion"] == target:
            return obj
        known = self._objects.get((target, orjson.dumps(obj)))
        if known is None:
            raise ConversionNeeded(obj, target)
        return encoding.loads(known)

    async def run_with_conversions(self, decide: Callable[[], Awaitable[T]]) -> T:
        """Repeat the decision until everything it converts is cached, and return its result."""
        while True:
            try:
                return await decide()
            except ConversionNeeded as needed:
                (converted,) = await self.convert([needed.obj], needed.target)
                self._objects.put((needed.target, orjson.dumps(needed.obj)), encoding.dumps(converted))


class WebhookFieldsUpdaters(CrdFieldsUpdaters):
    """Managed-fields updaters that convert by the webhook."""

    def __init__(self, crd: Crd, codec: CustomResourceCodec, conversions: ConversionCache) -> None:
        super().__init__(crd, codec)
        self._conversions = conversions

    def convert(self, obj: Object, origin: str, target: str) -> Object:
        """Convert the object; one without a name is only relabelled."""
        # The empty object that a creation is compared with has no name and no fields to convert.
        if not (obj.get("metadata") or {}).get("name"):
            return {**obj, "apiVersion": target}
        return self._conversions.convert_cached({**obj, "apiVersion": origin}, target)


class WebhookConvertedResource(CustomResource):
    """One version of a CRD with a conversion webhook; cached objects are in the version in which they were stored."""

    uses_conversion_webhook = True

    def __init__(
        self,
        crd: Crd,
        version: CrdVersion,
        codec: CustomResourceCodec,
        dependencies: RegistryDependencies,
        *,
        is_terminating: bool,
        conversions: ConversionCache,
    ) -> None:
        super().__init__(crd, version, codec, dependencies, is_terminating=is_terminating)
        self._conversions = conversions
        self._heads = [encoding.encode_head(crd.kind, one.api_version) for one in crd.versions.values()]

    def _to_cached_object(self, key: str, revision: int, body: bytes, *, foreign: bool = False) -> CachedObject:
        head = next((one for one in self._heads if body.startswith(one)), None)
        if head in (None, self.head):
            return super()._to_cached_object(key, revision, body, foreign=foreign)
        namespace, _, name = key[len(self.collection.prefix) :].rpartition("/")
        # Keeps the stored version; the object counts as foreign, so that the next write migrates it.
        return CachedObject(key, name, namespace, revision, head, body[len(head) :], self.get_attributes, foreign=True)

    def decode_foreign(self, obj: Object) -> Object:
        """Decode an object that was stored under an older state of the CRD; it stays in its version."""
        known = self.crd.get_version(obj["apiVersion"])
        return self.decode_as(obj, known or self.custom_version)

    def to_storage_version(self, obj: Object) -> Object:
        """Return the object unchanged: this version validates it before it is converted for storing."""
        return obj

    def to_served_version(self, obj: Object) -> Object:
        """Return the object in this version, from the cache of conversions."""
        return self._conversions.convert_cached(obj, self.api_version)

    def convert_for_validation(self, obj: Object) -> Object:
        """Return the object in this version, from the cache of conversions."""
        return self._conversions.convert_cached(obj, self.api_version)

    def tail(self, cached: CachedObject) -> bytes:
        """Return the JSON of a cached object in this version, without kind and apiVersion."""
        return cached.tail if cached.head == self.head else super().tail(cached)

    async def convert_for_reading(self, cached: CachedObject) -> CachedObject:
        """Convert the object with the webhook, without the cache of conversions."""
        return cached if cached.head == self.head else (await self._convert_objects([cached]))[cached]

    async def convert_all_for_reading(
        self, cached_objects: Sequence[CachedObject], *, reconvert: bool = False
    ) -> Sequence[CachedObject]:
        """Convert the objects: all whose conversion is not known with a single call."""
        foreign = [one for one in cached_objects if one.head != self.head]
        if not foreign:
            return cached_objects
        known = {one: None if reconvert else self._conversions.get_cached(one, self.api_version) for one in foreign}
        found = {one: converted for one, converted in known.items() if converted is not None}
        found |= await self._convert_objects([one for one in foreign if one not in found])
        return [found.get(one, one) for one in cached_objects]

    async def _convert_objects(self, cached_objects: Sequence[CachedObject]) -> dict[CachedObject, CachedObject]:
        """Convert the objects with the webhook, and remember the results."""
        objects = await self._conversions.convert([one.load() for one in cached_objects], self.api_version)
        converted = {one: self._with_converted(one, obj) for one, obj in zip(cached_objects, objects, strict=True)}
        for cached in converted.values():
            self._conversions.put(cached, self.api_version)
        return converted

    def _with_converted(self, cached: CachedObject, obj: Object) -> CachedObject:
        tail = encoding.dumps(encoding.order_fields(obj))[len(self.head) :]
        index, foreign = self.get_attributes, cached.needs_rewrite
        return CachedObject(
            cached.key, cached.name, cached.namespace, cached.revision, self.head, tail, index, foreign=foreign
        )

    async def convert_for_storing(self, obj: Object) -> Object:
        """Convert the object to the storage version with the webhook."""
        if obj["apiVersion"] == self.storage_resource.api_version:
            return obj
        (converted,) = await self._conversions.convert([obj], self.storage_resource.api_version)
        self.codec.set_defaults(converted)
        return converted

    async def run_with_conversions(self, decide: Callable[[], T], size: int = 0) -> T:
        """Return the result of `decide`, repeated until all conversions it needs are cached."""
        return await self._conversions.run_with_conversions(lambda: self.dependencies.heavy_work.run(size, decide))
