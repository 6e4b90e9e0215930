"""Change a component of a running cluster and wait until the change has taken effect."""

from collections.abc import Mapping
from typing import Any, Final

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.patching.patch_type import PatchType
from mockkube.client.protocol import Client, Key, Selection

_KIND: Final = "Component.control.mockkube.dev"


async def patch_and_wait(client: Client, name: str, spec: Mapping[str, Any]) -> None:
    """Patch the spec of a component and return when its status has observed it; raise Invalid if it is refused."""
    key = Key("", name)
    patched = await client.patch(_KIND, key, {"spec": dict(spec)}, patch_type=PatchType.MERGE)
    if _has_observed(patched, patched):
        return
    watch = await client.watch(_KIND, Selection(fields=f"metadata.name={name}"), patched["metadata"]["resourceVersion"])
    try:
        while True:
            await watch.signal.wait()
            if watch.is_ready() and any(_has_observed(event.object, patched) for event in watch.take()):
                return
    finally:
        await watch.close()


def _has_observed(obj: ReadOnlyObject, patched: ReadOnlyObject) -> bool:
    return bool(obj.get("status", {}).get("observedGeneration", 0) >= patched["metadata"]["generation"])
