"""Step `create`: create objects."""

from typing import ClassVar

from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.client.protocol import Client
from mockkube.lazy_dataclasses import dataclass
from mockkube.scenario.kinds import ResourceKind
from mockkube.scenario.steps.write import WriteStep


@dataclass(frozen=True)
class CreateStep(WriteStep):
    """Create objects; fail if one exists."""

    verb: ClassVar[str] = "create"

    async def write_object(self, client: Client, named: ResourceKind, obj: Object) -> ReadOnlyObject:
        """Create the object."""
        return await client.create(named.name, obj)
