"""Custom resource with a conversion webhook.

Each version validates its own objects. Stored objects stay in the version in which they were written until they are
read in another one.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Final

import orjson

from mockkube.api.bounded_cache import BoundedCache
from mockkube.api.custom.codec import CustomCodec
from mockkube.api.custom.definition import CustomVersion, Definition
from mockkube.api.errors import ApiError
from mockkube.api.types import Object
from mockkube.apiserver.custom.conversion import Converter
from mockkube.apiserver.custom.resource import CustomResource, CustomTrackers
from mockkube.apiserver.registry import encoding
from mockkube.apiserver.registry.cache import Record
from mockkube.apiserver.registry.resource import Services, T

# Converted records that are cached, so that lists and watches do not call the webhook again for each client.
_KNOWN_MAX: Final = 16_384
# Objects converted for a decision that are cached, until the decision is repeated with them.
_DECIDED_MAX: Final = 256


class Unconverted(ApiError):
    """Signal that an object is needed in another version, and must be converted first."""

    def __init__(self, obj: Object, target: str) -> None:
        super().__init__(f"{obj['apiVersion']}, Kind={obj['kind']} has not been converted to {target}")
        self.obj, self.target = obj, target


class Conversions:
    """Cache of objects converted by the webhook of a CRD."""

    def __init__(self, converter: Converter, codec: CustomCodec) -> None:
        self._converter = converter
        self._codec = codec
        self._records: BoundedCache[tuple[str, str, int], Record] = BoundedCache(
            _KNOWN_MAX, size_of=lambda record: len(record.tail)
        )
        self._objects: BoundedCache[tuple[str, bytes], bytes] = BoundedCache(_DECIDED_MAX, size_of=len)

    async def convert(self, objects: Sequence[Object], target: str) -> list[Object]:
        """Convert objects to another version, and drop fields that it does not have."""
        return [self._codec.read(one, []) for one in await self._converter.convert(objects, target)]

    def record(self, record: Record, target: str) -> Record | None:
        """Return the cached conversion of a stored record."""
        return self._records.get((target, record.key, record.revision)) if record.revision else None

    def remember(self, record: Record, target: str) -> None:
        """Cache the conversion of a stored record."""
        # Results of dry runs have no revision that would identify their state.
        if record.revision:
            self._records.put((target, record.key, record.revision), record)

    def moved(self, obj: Object, target: str) -> Object:
        """Return the object in another version; raise ConversionNeeded if it must be converted first."""
        if obj["apiVersion"] == target:
            return obj
        known = self._objects.get((target, orjson.dumps(obj)))
        if known is None:
            raise Unconverted(obj, target)
        return encoding.loads(known)

    async def decided(self, decide: Callable[[], Awaitable[T]]) -> T:
        """Repeat the decision until everything it converts is cached, and return its result."""
        while True:
            try:
                return await decide()
            except Unconverted as asked:
                (converted,) = await self.convert([asked.obj], asked.target)
                self._objects.put((asked.target, orjson.dumps(asked.obj)), encoding.dumps(converted))


class ConvertedTrackers(CustomTrackers):
    """Managed-fields updaters that convert by the webhook."""

    def __init__(self, definition: Definition, codec: CustomCodec, conversions: Conversions) -> None:
        super().__init__(definition, codec)
        self._conversions = conversions

    def moved(self, obj: Object, origin: str, target: str) -> Object:
        """Convert the object; one without a name is only relabelled."""
        # The empty object that a creation is compared with has no name and no fields to convert.
        if not (obj.get("metadata") or {}).get("name"):
            return {**obj, "apiVersion": target}
        return self._conversions.moved({**obj, "apiVersion": origin}, target)


class ConvertedResource(CustomResource):
    """One version of a CRD with a conversion webhook. Its records are in the version in which they were stored."""

    converted = True

    def __init__(
        self,
        definition: Definition,
        version: CustomVersion,
        codec: CustomCodec,
        services: Services,
        *,
        ending: bool,
        conversions: Conversions,
    ) -> None:
        super().__init__(definition, version, codec, services, ending=ending)
        self._conversions = conversions
        self._heads = [encoding.head(definition.kind, one.api_version) for one in definition.versions.values()]

    def _record(self, key: str, revision: int, body: bytes, *, foreign: bool = False) -> Record:
        head = next((one for one in self._heads if body.startswith(one)), None)
        if head in (None, self.head):
            return super()._record(key, revision, body, foreign=foreign)
        namespace, _, name = key[len(self.collection.prefix) :].rpartition("/")
        # Keeps the stored version; the record counts as foreign, so that the next write migrates it.
        return Record(key, name, namespace, revision, head, body[len(head) :], self.index, foreign=True)

    def revise(self, obj: Object) -> Object:
        """Decode an object that was stored under an older state of the CRD; it stays in its version."""
        known = self.definition.of_api_version(obj["apiVersion"])
        return self.revised(obj, known or self.custom_version)

    def stored(self, obj: Object) -> Object:
        """Return the object unchanged: this version validates it before it is converted for storing."""
        return obj

    def served(self, obj: Object) -> Object:
        """Return the object in this version, from the cache of conversions."""
        return self._conversions.moved(obj, self.api_version)

    def judged(self, obj: Object) -> Object:
        """Return the object in this version, from the cache of conversions."""
        return self._conversions.moved(obj, self.api_version)

    def tail(self, record: Record) -> bytes:
        """Return the JSON of a record in this version, without kind and apiVersion."""
        return record.tail if record.head == self.head else super().tail(record)

    async def seen(self, record: Record) -> Record:
        """Convert the record with the webhook, without the cache."""
        return record if record.head == self.head else (await self._asked([record]))[record]

    async def all_seen(self, records: Sequence[Record], *, anew: bool = False) -> Sequence[Record]:
        """Convert the records, all that are not cached with a single call."""
        foreign = [one for one in records if one.head != self.head]
        if not foreign:
            return records
        known = {one: None if anew else self._conversions.record(one, self.api_version) for one in foreign}
        found = {one: converted for one, converted in known.items() if converted is not None}
        found |= await self._asked([one for one in foreign if one not in found])
        return [found.get(one, one) for one in records]

    async def _asked(self, records: Sequence[Record]) -> dict[Record, Record]:
        """Convert the records with the webhook, and cache the results."""
        objects = await self._conversions.convert([one.load() for one in records], self.api_version)
        made = {one: self._made(one, obj) for one, obj in zip(records, objects, strict=True)}
        for record in made.values():
            self._conversions.remember(record, self.api_version)
        return made

    def _made(self, record: Record, obj: Object) -> Record:
        tail = encoding.dumps(encoding.ordered(obj))[len(self.head) :]
        index, foreign = self.index, record.foreign
        return Record(
            record.key, record.name, record.namespace, record.revision, self.head, tail, index, foreign=foreign
        )

    async def laid_down(self, obj: Object) -> Object:
        """Convert the object to the storage version with the webhook."""
        if obj["apiVersion"] == self.home.api_version:
            return obj
        (converted,) = await self._conversions.convert([obj], self.home.api_version)
        self.codec.default(converted)
        return converted

    async def decided(self, decide: Callable[[], T], size: int = 0) -> T:
        """Return the result of `decide`, repeated until all conversions it needs are cached."""
        return await self._conversions.decided(lambda: self.services.heavy.run(size, decide))
