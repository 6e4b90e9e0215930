"""Step `patch`: change parts of objects."""

from typing import Annotated, Any, ClassVar, Final, Literal

from mockkube.api.errors import ApiError
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.patching.patch_type import PatchType
from mockkube.client.protocol import Client
from mockkube.lazy_dataclasses import dataclass
from mockkube.scenario.kinds import ResourceKind
from mockkube.scenario.references import TargetReference, key_of_kind
from mockkube.scenario.responses import bind_outputs, check_response
from mockkube.scenario.steps.write import WriteStep
from mockkube.scenario.world import World

_PATCH_TYPES: Final = {"merge": PatchType.MERGE, "json": PatchType.JSON, "strategic": PatchType.STRATEGIC}


@dataclass(frozen=True)
class PatchStep(WriteStep):
    """Change objects: by a partial manifest, or by a patch of the objects of `ref`."""

    verb: ClassVar[str] = "patch"

    ref: Annotated[TargetReference | None, "which objects are changed"] = None
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
            answer = await self.send_patch(world)
        except ApiError as refused:
            error = refused
        check_response(world, self.expect, answer, answer, error)
        bind_outputs(world, self.outputs, answer)

    async def send_patch(self, world: World) -> ReadOnlyObject:
        """Patch the objects of `ref`; return the last response. Raises ApiError for a rejection."""
        assert self.ref is not None, "manifests are written one by one"
        client = world.client(self.request_options())
        named, keys = await self.ref.find_keys(world, client)
        answer: ReadOnlyObject = {}
        for key in keys:
            patch_type, below = _PATCH_TYPES[self.type], self.subresource
            answer = await client.patch(named.name, key, self.patch, patch_type=patch_type, subresource=below)
        return answer

    async def write_object(self, client: Client, named: ResourceKind, obj: Object) -> ReadOnlyObject:
        """Merge a partial manifest into the existing object."""
        patch_type = _PATCH_TYPES[self.type]
        return await client.patch(
            named.name, key_of_kind(obj, named), obj, patch_type=patch_type, subresource=self.subresource
        )
