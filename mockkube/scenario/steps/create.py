"""Step `create`: create objects."""

from dataclasses import dataclass
from typing import ClassVar

from mockkube.api.types import Object, ReadOnlyObject
from mockkube.client.protocol import Client
from mockkube.scenario.kinds import Named
from mockkube.scenario.steps.writing import Writing


@dataclass(frozen=True)
class Create(Writing):
    """Create objects; fail if one exists."""

    verb: ClassVar[str] = "create"

    async def write(self, client: Client, named: Named, obj: Object) -> ReadOnlyObject:
        """Create the object."""
        return await client.create(named.name, obj)
