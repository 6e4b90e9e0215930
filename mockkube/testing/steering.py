"""Changing the components of a cluster over the network, and waiting until they have changed."""

from collections.abc import Mapping
from typing import Any, Final

from mockkube.api.types import ReadOnlyObject
from mockkube.client.protocol import Client, Key, PatchType, Selection

_KIND: Final = "Component.control.mockkube.dev"


async def change_component(client: Client, name: str, spec: Mapping[str, Any]) -> None:
    """Patch the spec of a component; return when it does what it is told. Raises Invalid when it is refused."""
    key = Key("", name)
    told = await client.patch(_KIND, key, {"spec": dict(spec)}, media=PatchType.MERGE)
    if _follows(told, told):
        return
    watch = await client.watch(_KIND, Selection(fields=f"metadata.name={name}"), told["metadata"]["resourceVersion"])
    try:
        while True:
            await watch.bell.wait()
            if watch.ready() and any(_follows(event.object, told) for event in watch.take()):
                return
    finally:
        await watch.close()


def _follows(obj: ReadOnlyObject, told: ReadOnlyObject) -> bool:
    return bool(obj.get("status", {}).get("observedGeneration", 0) >= told["metadata"]["generation"])
