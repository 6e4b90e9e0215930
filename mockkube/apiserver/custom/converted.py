"""A custom resource whose versions a webhook converts: each version judges its own objects, and what is stored stays as
it was written until somebody asks for it in another version.
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

_KNOWN_MAX: Final = 16_384
"""How many converted records are remembered."""
_DECIDED_MAX: Final = 256
"""How many objects that were converted for a decision are remembered."""


class Unconverted(ApiError):
    """An object is needed in another version, and nobody has been asked for it yet."""

    def __init__(self, obj: Object, target: str) -> None:
        super().__init__(f"{obj['apiVersion']}, Kind={obj['kind']} has not been converted to {target}")
        self.obj, self.target = obj, target


class Conversions:
    """What the webhook of a definition made of objects."""

    def __init__(self, converter: Converter, codec: CustomCodec) -> None:
        self._converter = converter
        self._codec = codec
        self._records: BoundedCache[tuple[str, str, int], Record] = BoundedCache(
            _KNOWN_MAX, size_of=lambda record: len(record.tail)
        )
        self._objects: BoundedCache[tuple[str, bytes], bytes] = BoundedCache(_DECIDED_MAX, size_of=len)

    async def convert(self, objects: Sequence[Object], target: str) -> list[Object]:
        """The objects in another version, as far as that knows them."""
        return [self._codec.read(one, []) for one in await self._converter.convert(objects, target)]

    def record(self, record: Record, target: str) -> Record | None:
        """What a stored record became."""
        return self._records.get((target, record.key, record.revision)) if record.revision else None

    def remember(self, record: Record, target: str) -> None:
        """Keep what a stored record became."""
        if record.revision:
            self._records.put((target, record.key, record.revision), record)

    def moved(self, obj: Object, target: str) -> Object:
        """An object in another version; Unconverted if that is to be asked for."""
        if obj["apiVersion"] == target:
            return obj
        known = self._objects.get((target, orjson.dumps(obj)))
        if known is None:
            raise Unconverted(obj, target)
        return encoding.loads(known)

    async def decided(self, decide: Callable[[], Awaitable[T]]) -> T:
        """What is decided once everything it converts is known."""
        while True:
            try:
                return await decide()
            except Unconverted as asked:
                (converted,) = await self.convert([asked.obj], asked.target)
                self._objects.put((asked.target, orjson.dumps(asked.obj)), encoding.dumps(converted))


class ConvertedTrackers(CustomTrackers):
    """Tracks who manages fields; the webhook converts what was managed in another version."""

    def __init__(self, definition: Definition, codec: CustomCodec, conversions: Conversions) -> None:
        super().__init__(definition, codec)
        self._conversions = conversions

    def moved(self, obj: Object, origin: str, target: str) -> Object:
        """The object in another version; what has no name yet has nothing to convert."""
        if not (obj.get("metadata") or {}).get("name"):
            return {**obj, "apiVersion": target}
        return self._conversions.moved({**obj, "apiVersion": origin}, target)


class ConvertedResource(CustomResource):
    """One version of such a definition. Its records are of the version they were stored in."""

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
        return Record(key, name, namespace, revision, head, body[len(head) :], self.index, foreign=True)

    def revise(self, obj: Object) -> Object:
        """What the definition makes of an object that was stored under another one: it stays in its version."""
        known = self.definition.of_api_version(obj["apiVersion"])
        return self.revised(obj, known or self.custom_version)

    def stored(self, obj: Object) -> Object:
        """An object of this version, which judges it before it is stored in another."""
        return obj

    def served(self, obj: Object) -> Object:
        """The object in this version."""
        return self._conversions.moved(obj, self.api_version)

    def judged(self, obj: Object) -> Object:
        """The object in this version."""
        return self._conversions.moved(obj, self.api_version)

    def tail(self, record: Record) -> bytes:
        """The JSON of a record in this version, without kind and apiVersion."""
        return record.tail if record.head == self.head else super().tail(record)

    async def seen(self, record: Record) -> Record:
        """The record in this version, as the webhook converts it now."""
        return record if record.head == self.head else (await self._asked([record]))[record]

    async def all_seen(self, records: Sequence[Record], *, anew: bool = False) -> Sequence[Record]:
        """The records in this version: the webhook is asked for all at once that it has to be asked for."""
        foreign = [one for one in records if one.head != self.head]
        if not foreign:
            return records
        known = {one: None if anew else self._conversions.record(one, self.api_version) for one in foreign}
        found = {one: converted for one, converted in known.items() if converted is not None}
        found |= await self._asked([one for one in foreign if one not in found])
        return [found.get(one, one) for one in records]

    async def _asked(self, records: Sequence[Record]) -> dict[Record, Record]:
        """What the records become."""
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
        """The object in the version in which it is stored."""
        if obj["apiVersion"] == self.home.api_version:
            return obj
        (converted,) = await self._conversions.convert([obj], self.home.api_version)
        self.codec.default(converted)
        return converted

    async def decided(self, decide: Callable[[], T], size: int = 0) -> T:
        """What is decided once everything it converts is known."""
        return await self._conversions.decided(lambda: self.services.heavy.run(size, decide))
