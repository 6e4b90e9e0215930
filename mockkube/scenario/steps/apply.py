"""`apply`: objects as they should be, created or merged into what is there, as chainsaw does it."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from mockkube.api.errors import NotFound
from mockkube.api.types import Object, ReadOnlyObject
from mockkube.client.protocol import Client, PatchType
from mockkube.scenario.kinds import Named
from mockkube.scenario.references import key_in
from mockkube.scenario.steps.writing import Writing


@dataclass(frozen=True)
class Apply(Writing):
    """Creates objects, or merges them into those that are there."""

    verb: ClassVar[str] = "apply"

    server_side: Annotated[bool, "let the server merge, and own the fields; conflicts are forced"] = False

    async def write(self, client: Client, named: Named, obj: Object) -> ReadOnlyObject:
        """Create it or patch what is there; one with a generated name is always new."""
        if "name" not in obj["metadata"]:
            return await client.create(named.name, obj)
        key = key_in(obj, named)
        if self.server_side:
            return await client.patch(named.name, key, obj, media=PatchType.APPLY)
        try:
            await client.get(named.name, key)
        except NotFound:
            return await client.create(named.name, obj)
        return await client.patch(named.name, key, obj, media=PatchType.MERGE)
