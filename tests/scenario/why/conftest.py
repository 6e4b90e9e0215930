"""A whole cluster in virtual time, and what it says of its pods."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, Protocol

import pytest

from mockkube.api.patching.patch_type import PatchType
from mockkube.client.protocol import DeleteOptions, Key
from mockkube.cluster.configuration.cluster_configuration import ClusterConfiguration
from mockkube.cluster.simulated_cluster import SimulatedCluster, SimulatedClusterConfig
from mockkube.explain.explanation import PodExplanation

GT = "TaintTolerationComparisonOperators"


class World:
    """One cluster, and an administrator."""

    def __init__(self, lab: SimulatedCluster) -> None:
        self.lab = lab
        self.client = lab.client()

    async def create(self, kind: str, name: str, *, namespace: str = "default", **fields: Any) -> Any:
        """Create an object, and let everybody react."""
        metadata = {"name": name, **({"namespace": namespace} if namespace else {}), **fields.pop("metadata", {})}
        made = await self.client.create(kind, {"metadata": metadata, **fields})
        await self.lab.settle()
        return made

    async def pod(self, name: str, *, cpu: str = "", metadata: Any = None, **spec: Any) -> Any:
        """Create a pod."""
        container = {"name": "c", "image": "i", **({"resources": {"requests": {"cpu": cpu}}} if cpu else {})}
        spec = {"containers": [container], "terminationGracePeriodSeconds": 1, **spec}
        return await self.create("Pod", name, metadata=metadata or {}, spec=spec)

    async def gt(self, name: str = "p", **metadata: Any) -> Any:
        """Create a pod that tolerates values greater than 900."""
        return await self.pod(name, metadata=metadata, tolerations=[{"key": "sla", "operator": "Gt", "value": "900"}])

    async def taint(self, *nodes: str, effect: str, value: str = "950") -> None:
        """Give nodes the taint `sla`."""
        for node in nodes:
            taints = [{"key": "sla", "value": value, "effect": effect}]
            await self.client.patch("Node", Key("", node), {"spec": {"taints": taints}}, patch_type=PatchType.MERGE)
        await self.lab.settle()

    async def delete(self, kind: str, name: str, namespace: str = "default") -> None:
        """Delete an object, and let everybody react."""
        await self.client.delete(kind, Key(namespace, name), DeleteOptions(grace_seconds=0))
        await self.lab.settle()

    async def why(self, name: str = "p", namespace: str = "default") -> PodExplanation:
        """Return what is said of a pod."""
        return await self.lab.explain_pod(Key(namespace, name))


class Open(Protocol):
    """Opens worlds, which end with the test."""

    async def __call__(self, *, off: str = "", **configuration: Any) -> World:
        """Return a world at rest, with the gate of Gt on everywhere but at one component."""
        ...


@asynccontextmanager
async def _opener() -> AsyncIterator[Open]:
    async with AsyncExitStack() as stack:

        async def start(*, off: str = "", **configuration: Any) -> World:
            said: dict[str, Any] = {"nodes": 2, "feature_gates": {GT: True}, **configuration}
            lab = await stack.enter_async_context(
                SimulatedCluster(SimulatedClusterConfig(ClusterConfiguration(**said), seed=1))
            )
            if off:
                await lab.change_component(off, gates={GT: False})
            return World(lab)

        yield start


@pytest.fixture
async def begin() -> AsyncIterator[Open]:
    async with _opener() as opener:
        yield opener
