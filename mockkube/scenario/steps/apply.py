"""Step `apply`: create objects, or merge manifests into existing ones, as chainsaw does."""

from dataclasses import replace
from typing import Annotated, ClassVar

from mockkube.api.errors import NotFound
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.patching.patch_type import PatchType
from mockkube.client.protocol import Client
from mockkube.lazy_dataclasses import dataclass
from mockkube.scenario.kinds import ResourceKind
from mockkube.scenario.references import key_of_kind
from mockkube.scenario.steps.write import WriteStep
from mockkube.scenario.world import RequestOptions


@dataclass(frozen=True)
class ApplyStep(WriteStep):
    """Create objects, or merge manifests into existing ones."""

    verb: ClassVar[str] = "apply"

    server_side: Annotated[bool, "let the server merge, and own the fields; conflicts are forced"] = False
    field_manager: Annotated[str, "who owns the fields; mockkube-apply by default"] = ""
    subresource: Annotated[str, "with serverSide: a part of the object, like status"] = ""

    def complaint(self) -> str:
        """Return an error if a subresource is applied by the client."""
        return super().complaint() or ("" if self.server_side or not self.subresource else "give serverSide: true")

    def request_options(self) -> RequestOptions:
        """Return identity and options of the requests."""
        options = super().request_options()
        return replace(options, field_manager=self.field_manager) if self.field_manager else options

    async def write_object(self, client: Client, named: ResourceKind, obj: Object) -> ReadOnlyObject:
        """Create the object, or patch the existing one; with generateName always create."""
        if "name" not in obj["metadata"]:
            return await client.create(named.name, obj)
        key = key_of_kind(obj, named)
        if self.server_side:
            return await client.patch(named.name, key, obj, patch_type=PatchType.APPLY, subresource=self.subresource)
        try:
            await client.get(named.name, key)
        except NotFound:
            return await client.create(named.name, obj)
        # A merge patch keeps fields that the manifest omits, as chainsaw's apply does; kubectl would remove those
        # applied before.
        return await client.patch(named.name, key, obj, patch_type=PatchType.MERGE)
