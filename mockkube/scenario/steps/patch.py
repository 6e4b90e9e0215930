"""Step `patch`: change parts of objects."""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Final, Literal

from mockkube.api.errors import ApiError
from mockkube.api.types import Object, ReadOnlyObject
from mockkube.client.protocol import Client, PatchType
from mockkube.scenario.kinds import Named
from mockkube.scenario.outcomes import bind, judge
from mockkube.scenario.references import Ref, key_in
from mockkube.scenario.steps.writing import Writing
from mockkube.scenario.world import World

_MEDIA: Final = {"merge": PatchType.MERGE, "json": PatchType.JSON, "strategic": PatchType.STRATEGIC}


@dataclass(frozen=True)
class Patch(Writing):
    """Change objects: by a partial manifest, or by a patch of the objects of `ref`."""

    verb: ClassVar[str] = "patch"

    ref: Annotated[Ref | None, "which objects are changed"] = None
    patch: Annotated[Any, "how `ref` is changed: a partial object, or a list of operations"] = None
    type: Annotated[Literal["merge", "json", "strategic"], "which kind of patch it is"] = "merge"
    subresource: Annotated[str, "a part of the object: status, scale"] = ""

    def complaint(self) -> str:
        """Return an error unless either a manifest or `ref` with `patch` is given."""
        if self.ref is None:
            return super().complaint() or ("give a `ref` with `patch`" if self.patch is not None else "")
        return "" if self.patch is not None and self.resource is None else "give `patch` with `ref`, and no manifest"

    async def play(self, world: World) -> None:
        """Patch the objects of `ref`, or each manifest's object."""
        if self.ref is None:
            await super().play(world)
            return
        answer: ReadOnlyObject = {}
        error = None
        try:
            answer = await self.send(world)
        except ApiError as refused:
            error = refused
        judge(world, self.expect, answer, answer, error)
        bind(world, self.outputs, answer)

    async def send(self, world: World) -> ReadOnlyObject:
        """Patch the objects of `ref`; return the last response. Raises ApiError for a rejection."""
        assert self.ref is not None, "manifests are written one by one"
        client = world.client(self.who())
        named, keys = await self.ref.keys(world, client)
        answer: ReadOnlyObject = {}
        for key in keys:
            media, below = _MEDIA[self.type], self.subresource
            answer = await client.patch(named.name, key, self.patch, media=media, subresource=below)
        return answer

    async def write(self, client: Client, named: Named, obj: Object) -> ReadOnlyObject:
        """Merge a partial manifest into the existing object."""
        media = _MEDIA[self.type]
        return await client.patch(named.name, key_in(obj, named), obj, media=media, subresource=self.subresource)
