"""A whole cluster in virtual time, looked at through its kubelets."""

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, Protocol

import pytest

from mockkube.api.errors import NotFound
from mockkube.api.patching.patch_type import PatchType
from mockkube.apiserver.identity.user import User
from mockkube.apiserver.registry.resource import RequestScope
from mockkube.apiserver.registry.subresources import logs
from mockkube.client.protocol import DeleteOptions, Key
from mockkube.cluster.configuration.cluster_configuration import ClusterConfiguration
from mockkube.cluster.simulated_cluster import SimulatedCluster, SimulatedClusterConfig
from mockkube.features.components import API_SERVER


class World:
    """One cluster, and an administrator with a clock."""

    def __init__(self, lab: SimulatedCluster) -> None:
        self.lab = lab
        self.client = lab.client()

    async def create(self, kind: str, name: str, *, namespace: str = "default", **fields: Any) -> Any:
        """Create an object, and let everybody react."""
        metadata = {"name": name, **({"namespace": namespace} if namespace else {}), **fields.pop("metadata", {})}
        made = await self.client.create(kind, {"metadata": metadata, **fields})
        await self.lab.settle()
        return made

    async def pod(self, name: str, on: str = "", *, annotations: dict[str, str] | None = None, **spec: Any) -> Any:
        """Create a pod, bound if a node is named."""
        spec.setdefault("containers", [{"name": "main", "image": "nginx"}])
        placed = {"nodeName": on} if on else {}
        return await self.create("Pod", name, metadata={"annotations": annotations or {}}, spec={**spec, **placed})

    async def node(self, name: str, annotations: dict[str, str] | None = None) -> Any:
        """Create a node that leaves all to its kubelet."""
        return await self.create("Node", name, namespace="", metadata={"annotations": annotations or {}})

    async def get(self, kind: str, name: str, namespace: str = "default") -> Any:
        """Return an object; None if there is none."""
        try:
            return await self.client.get(kind, Key(namespace, name))
        except NotFound:
            return None

    async def status(self, name: str) -> Any:
        """Return the status of a pod."""
        return (await self.get("Pod", name))["status"]

    async def merge(self, kind: str, name: str, patch: Any, namespace: str = "default", subresource: str = "") -> None:
        """Change an object by a merge patch, and let everybody react."""
        key = Key(namespace, name)
        await self.client.patch(kind, key, patch, patch_type=PatchType.MERGE, subresource=subresource)
        await self.lab.settle()

    async def delete(self, kind: str, name: str, namespace: str = "default", grace_seconds: int | None = None) -> None:
        """Delete an object, and let everybody react."""
        await self.client.delete(kind, Key(namespace, name), DeleteOptions(grace_seconds=grace_seconds))
        await self.lab.settle()

    async def log(self, name: str, **query: str) -> str:
        """Return what `kubectl logs` would show of a pod."""
        registry = (
            self.lab._control_plane.component_controller.local_clients.get_endpoint(API_SERVER).get_server().registry
        )
        pods = registry.find_storage_resource("", "pods")
        assert pods is not None
        call = RequestScope(User("admin"), "default", name, "log")
        return await logs.read_log(pods, call, {key: [value] for key, value in query.items()})

    async def reasons(self, name: str) -> list[str]:
        """Return the reasons of the events about an object, in their order."""
        listed = await self.client.list("Event")
        about = [one for one in listed.items if one["involvedObject"]["name"] == name]
        return [one["reason"] for one in sorted(about, key=lambda one: int(one["metadata"]["resourceVersion"]))]


def condition(obj: Any, kind: str) -> Any:
    """Return a condition of an object; an empty one if it has none of that type."""
    found = (one for one in obj["status"].get("conditions", ()) if one["type"] == kind)
    return next(found, {})


class Open(Protocol):
    """Opens worlds, which end with the test."""

    async def __call__(self, **configuration: Any) -> World:
        """Return a world at rest."""
        ...


@asynccontextmanager
async def _opener() -> AsyncIterator[Open]:
    async with AsyncExitStack() as stack:

        async def start(**configuration: Any) -> World:
            configuration.setdefault("nodes", 1)
            setup = SimulatedClusterConfig(ClusterConfiguration(**configuration), seed=1)
            return World(await stack.enter_async_context(SimulatedCluster(setup)))

        yield start


@pytest.fixture
async def begin() -> AsyncIterator[Open]:
    async with _opener() as opener:
        yield opener


@pytest.fixture
async def world(begin: Open) -> World:
    return await begin()


@pytest.fixture
def conditions() -> Callable[[Any, str], Any]:
    return condition
