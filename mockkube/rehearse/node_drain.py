"""Drain of a node as `kubectl drain` does it: all pods at once, refused evictions again every five seconds.

upstream 1.36: kubectl/pkg/cmd/drain/drain.go, kubectl/pkg/drain/drain.go
"""

from http import HTTPStatus
from typing import Final

from mockkube.api.errors import ApiError, NotFound
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.patching.patch_type import PatchType
from mockkube.client.protocol import Client, Key, Selection, key_of
from mockkube.cluster.simulated_cluster import SimulatedCluster
from mockkube.rehearse.drain_checks import is_evicted_by_drain
from mockkube.rehearse.findings import name_object

# How long a drain is retried; `--timeout` in the runbook.
DRAIN_SECONDS: Final = 300.0
_RETRY_SECONDS: Final = 5.0
# Longest time that pods take to terminate, beyond which they count as stuck.
_TERMINATION_SECONDS: Final = 120.0


async def drain_node(cluster: SimulatedCluster, node: str) -> list[str]:
    """Cordon a node and evict its pods; return the pods that stay, each with the reason."""
    client = cluster.client()
    await client.patch("Node", Key("", node), {"spec": {"unschedulable": True}}, patch_type=PatchType.MERGE)
    waited = 0.0
    while True:
        refusals = {}
        for pod in await _list_pods(client, node):
            if not pod["metadata"].get("deletionTimestamp") and (refusal := await evict_pod(client, pod)):
                refusals[name_object(pod)] = refusal
        await cluster.advance(_RETRY_SECONDS)
        waited += _RETRY_SECONDS
        left = await _list_pods(client, node)
        if not left:
            return []
        # Pods that terminate need no further eviction, only time.
        if waited >= (DRAIN_SECONDS if refusals else _TERMINATION_SECONDS):
            return [
                f"{name_object(pod)} on {node}: {refusals.get(name_object(pod), 'still terminating')}" for pod in left
            ]


async def uncordon_node(cluster: SimulatedCluster, node: str) -> None:
    """Let a node take pods again."""
    await cluster.client().patch("Node", Key("", node), {"spec": {"unschedulable": None}}, patch_type=PatchType.MERGE)


async def _list_pods(client: Client, node: str) -> list[ReadOnlyObject]:
    pods = (await client.list("Pod", Selection(fields=f"spec.nodeName={node}"))).items
    return [pod for pod in pods if is_evicted_by_drain(pod)]


async def evict_pod(client: Client, pod: ReadOnlyObject) -> str:
    """Evict a pod; return why that is refused, or nothing."""
    key = key_of(pod)
    metadata = {"name": key.name, "namespace": key.namespace}
    body: Object = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": metadata}
    try:
        await client.create("Pod", body, subresource="eviction", name=key.name)
    except NotFound:
        return ""
    except ApiError as error:
        # 429 means that a budget forbids the eviction at present; anything else will not change.
        details = (error.details or {}).get("causes") or () if error.code == HTTPStatus.TOO_MANY_REQUESTS else ()
        return " ".join(dict.fromkeys([error.message, *(str(one.get("message", "")) for one in details)]))
    return ""
