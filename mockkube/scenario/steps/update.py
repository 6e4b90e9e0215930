"""Step `update`: replace whole objects, with the resourceVersion read just before."""

from typing import Annotated, ClassVar

from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.client.protocol import Client
from mockkube.lazy_dataclasses import dataclass
from mockkube.scenario.kinds import ResourceKind
from mockkube.scenario.references import key_of_kind
from mockkube.scenario.steps.write import WriteStep


@dataclass(frozen=True)
class UpdateStep(WriteStep):
    """Replace objects; fields that the manifest lacks are removed."""

    verb: ClassVar[str] = "update"

    subresource: Annotated[str, "a part of the object: status, scale"] = ""

    async def write_object(self, client: Client, named: ResourceKind, obj: Object) -> ReadOnlyObject:
        """Replace the object, with the resourceVersion and uid of the present one."""
        present = (await client.get(named.name, key_of_kind(obj, named)))["metadata"]
        known = {name: present[name] for name in ("resourceVersion", "uid")}
        return await client.update(
            named.name, {**obj, "metadata": {**known, **obj["metadata"]}}, subresource=self.subresource
        )
