"""`update`: objects replaced as a whole, by whoever has read them just before."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from mockkube.api.types import Object, ReadOnlyObject
from mockkube.client.protocol import Client
from mockkube.scenario.kinds import Named
from mockkube.scenario.references import key_in
from mockkube.scenario.steps.writing import Writing


@dataclass(frozen=True)
class Update(Writing):
    """Replaces objects; what the manifest does not say is gone."""

    verb: ClassVar[str] = "update"

    subresource: Annotated[str, "a part of the object: status, scale"] = ""

    async def write(self, client: Client, named: Named, obj: Object) -> ReadOnlyObject:
        """Send it with the resourceVersion and uid of what is there."""
        present = (await client.get(named.name, key_in(obj, named)))["metadata"]
        known = {name: present[name] for name in ("resourceVersion", "uid")}
        return await client.update(
            named.name, {**obj, "metadata": {**known, **obj["metadata"]}}, subresource=self.subresource
        )
