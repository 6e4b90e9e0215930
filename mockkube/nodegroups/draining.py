"""Writes by which nodes are drained: change their taints, evict their pods."""

from collections.abc import Callable, Sequence

from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.client.protocol import Client, Key, key_of

PodsOfNode = Callable[[str], Sequence[ReadOnlyObject]]
ChangeTaints = Callable[[Sequence[ReadOnlyObject]], Sequence[ReadOnlyObject]]


async def change_taints(client: Client, name: str, change: ChangeTaints) -> None:
    """Replace the taints of a node."""
    node = await client.get("Node", Key("", name))
    spec = node.get("spec") or {}
    await client.update("Node", {**node, "spec": {**spec, "taints": change(spec.get("taints") or ())}})


async def evict(client: Client, pod: ReadOnlyObject, grace_seconds: int | None = None) -> None:
    """Evict a pod within its PodDisruptionBudgets; raise ApiError if that is refused."""
    key = key_of(pod)
    body: Object = {"metadata": {"name": key.name, "namespace": key.namespace}}
    if grace_seconds is not None:
        body["deleteOptions"] = {"gracePeriodSeconds": grace_seconds}
    await client.create("Pod", body, subresource="eviction", name=key.name)
