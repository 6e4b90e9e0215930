"""Nodes that go during a variant: drained and deleted, or broken."""

from collections.abc import Sequence
from typing import Final

from mockkube.api.errors import ApiError, NotFound
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.patching.patch_type import PatchType
from mockkube.client.protocol import Client, Key, Selection
from mockkube.cluster.simulated_cluster import SimulatedCluster
from mockkube.kubelet.nodes.node_status import KUBELET_ANNOTATION
from mockkube.rehearse.drain_checks import is_evicted_by_drain
from mockkube.rehearse.findings import name_object
from mockkube.rehearse.node_drain import evict_pod
from mockkube.whatif.changes import Loss

# A cloud deletes the node of a machine that is gone once it is not ready.
CLOUD_SECONDS: Final = 60.0


class NodeLosses:
    """Nodes that are on their way out; `continue_` is called in short intervals."""

    def __init__(self, cluster: SimulatedCluster) -> None:
        self._cluster, self._client = cluster, cluster.client()
        self._draining: dict[str, dict[str, str]] = {}
        self._deleted_at: dict[str, float] = {}

    async def begin(self, nodes: Sequence[str], loss: Loss) -> None:
        """Let nodes go."""
        for node in nodes:
            if loss is Loss.DRAINED:
                await _patch(self._client, node, {"spec": {"unschedulable": True}})
                self._draining[node] = {}
                continue
            # No simulated kubelet works on such a node: it is silent, and so are its pods.
            await _patch(self._client, node, {"metadata": {"annotations": {KUBELET_ANNOTATION: "none"}}})
            if loss is Loss.GONE:
                self._deleted_at[node] = self._cluster.clock.monotonic() + CLOUD_SECONDS

    async def continue_(self) -> None:
        """Evict pods of nodes that are drained; delete nodes that are empty or gone."""
        now = self._cluster.clock.monotonic()
        for node in list(self._draining):
            await self._drain(node)
        for node, at in list(self._deleted_at.items()):
            if at <= now:
                del self._deleted_at[node]
                await _delete(self._client, node)

    async def _drain(self, node: str) -> None:
        left = await _list_pods(self._client, node)
        refusals = {}
        for pod in left:
            if not pod["metadata"].get("deletionTimestamp") and (refusal := await evict_pod(self._client, pod)):
                refusals[name_object(pod)] = refusal
        self._draining[node] = refusals
        if not left:
            del self._draining[node]
            await _delete(self._client, node)

    def list_notes(self) -> list[str]:
        """Return the pods that keep nodes from being removed, with the reason."""
        return [
            f"node {node} cannot be drained: {pod}: {reason}"
            for node, refusals in self._draining.items()
            for pod, reason in (refusals or {"pods": "still terminating"}).items()
        ]


async def _patch(client: Client, node: str, patch: object) -> None:
    await client.patch("Node", Key("", node), patch, patch_type=PatchType.MERGE)


async def _delete(client: Client, node: str) -> None:
    try:
        await client.delete("Node", Key("", node))
    except NotFound:
        return


async def _list_pods(client: Client, node: str) -> list[ReadOnlyObject]:
    try:
        pods = (await client.list("Pod", Selection(fields=f"spec.nodeName={node}"))).items
    except ApiError:
        return []
    return [pod for pod in pods if is_evicted_by_drain(pod)]
