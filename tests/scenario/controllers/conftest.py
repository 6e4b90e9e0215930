"""A controller manager against a real API server in memory, in virtual time."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from mockkube_storage.engines.memory import MemoryStore
from prometheus_client import CollectorRegistry

from mockkube.api.errors import NotFound
from mockkube.api.patching.patch_type import PatchType
from mockkube.apiserver.http.filters.authentication import Authenticator
from mockkube.apiserver.local.client import LocalClient
from mockkube.apiserver.local.endpoint import LocalEndpoint
from mockkube.apiserver.registry.runtime_config import RuntimeConfig
from mockkube.apiserver.server import ApiServer, ApiServerOptions
from mockkube.client import identity
from mockkube.client.protocol import EVERYTHING, DeleteOptions, Key, Selection
from mockkube.controllers import controller_manager
from mockkube.controllers.framework.options import Options
from mockkube.features.capabilities import Capabilities
from mockkube.features.gates import enabled_gates
from mockkube.features.versions import DEFAULT, Version
from mockkube.runtime.component import ComponentDependencies
from mockkube.runtime.random import Random
from mockkube.runtime.steps import InOrderChooser, settle
from mockkube.runtime.virtual_time import VirtualClock, advance

TURNS_MAX = 1000
GATES = {"TaintTolerationComparisonOperators": True, "HPAScaleToZero": True}
GRACE_NONE = DeleteOptions(grace_seconds=0)


@dataclass
class Simulation:
    """One API server, one controller manager, and an administrator with a clock."""

    server: ApiServer
    door: LocalEndpoint
    clock: VirtualClock
    manager: controller_manager.ControllerManager | None = None
    metrics: CollectorRegistry = field(default_factory=CollectorRegistry)

    def __post_init__(self) -> None:
        self.client = LocalClient(self.door, identity.controller_manager(DEFAULT))

    # The controller manager

    async def start(
        self,
        *controllers: str,
        version: Version = DEFAULT,
        gates: dict[str, bool] | None = None,
        options: Options | None = None,
    ) -> None:
        """Start the controller manager anew, with these controllers only."""
        await self.stop()
        gates_on = enabled_gates(version, gates or {}, component="kube-controller-manager")
        chosen = options or Options.for_version(version)
        self.metrics = CollectorRegistry()
        context = ComponentDependencies(
            component="kube-controller-manager",
            client=LocalClient(self.door, identity.controller_manager(version)),
            capabilities=Capabilities(version, gates_on),
            clock=self.clock,
            random=Random.from_seed(1, "controllers"),
            metrics=self.metrics,
            owns=lambda node: True,
        )
        self.manager = controller_manager.build(
            context, replace(chosen, controllers=controllers) if controllers else chosen
        )
        await self.manager.start()
        await self.settle()

    async def stop(self) -> None:
        """Stop the controller manager."""
        manager, self.manager = self.manager, None
        if manager is not None:
            await manager.stop()

    # Time

    async def settle(self) -> int:
        """Let everybody work until nobody has anything to do at this moment."""
        workers = [] if self.manager is None else self.manager.workers
        return await settle(
            lambda: workers,
            InOrderChooser(),
            wait_for_delivery=self.server.registry.dependencies.watch_cache.wait_until_fresh,
        )

    async def advance(self, seconds: float) -> None:
        """Let time pass."""
        workers = [] if self.manager is None else self.manager.workers
        await advance(self.clock, seconds, lambda: workers, self.settle)

    # The administrator

    async def create(self, kind: str, name: str, namespace: str = "default", **fields: Any) -> Any:
        """Create an object; `metadata` among the fields is added to its name and namespace."""
        metadata = {"name": name, **({"namespace": namespace} if namespace else {}), **fields.pop("metadata", {})}
        made = await self.client.create(kind, {"metadata": metadata, **fields})
        await self.settle()
        return made

    async def served(self, definition: str) -> int:
        """Return once a custom kind is served; its server sees to that in tasks of its own."""
        for _ in range(TURNS_MAX):
            await asyncio.sleep(0)
            if _established(await self.get("CustomResourceDefinition", definition, "")):
                return await self.settle()
        raise AssertionError(f"{definition} is not served")

    async def get(self, kind: str, name: str, namespace: str = "default") -> Any:
        """Return an object; None if there is none."""
        try:
            return await self.client.get(kind, Key(namespace, name))
        except NotFound:
            return None

    async def all(self, kind: str, namespace: str = "") -> list[Any]:
        """Return the objects of a kind."""
        selection = Selection(namespace=namespace) if namespace else EVERYTHING
        return list((await self.client.list(kind, selection)).items)

    async def names(self, kind: str, namespace: str = "") -> list[str]:
        """Return the names of the objects of a kind, sorted."""
        return sorted(obj["metadata"]["name"] for obj in await self.all(kind, namespace))

    async def merge(self, kind: str, name: str, patch: Any, namespace: str = "default", subresource: str = "") -> None:
        """Change an object by a merge patch, and let everybody react."""
        key = Key(namespace, name)
        await self.client.patch(kind, key, patch, patch_type=PatchType.MERGE, subresource=subresource)
        await self.settle()

    async def status(self, kind: str, name: str, status: Any, namespace: str = "default") -> None:
        """Write the status of an object, as whoever runs it would."""
        await self.merge(kind, name, {"status": status}, namespace, "status")

    async def delete(
        self, kind: str, name: str, namespace: str = "default", options: DeleteOptions = GRACE_NONE
    ) -> None:
        """Delete an object, and let everybody react."""
        await self.client.delete(kind, Key(namespace, name), options)
        await self.settle()

    async def events(self, about: str = "", reason: str = "") -> list[tuple[str, str, int]]:
        """Return reason, message and count of the events about an object of a name."""
        found = sorted(await self.all("Event"), key=lambda event: event["metadata"]["name"])
        return [
            (event["reason"], event["message"], event.get("count", 1))
            for event in found
            if about in ("", event["involvedObject"]["name"]) and reason in ("", event["reason"])
        ]

    # Things

    async def node(self, name: str, *, taints: Iterable[Any] = (), ready: str = "True", **metadata: Any) -> None:
        """Create a node that says of itself that it is ready, or is not."""
        await self.create("Node", name, "", spec={"taints": list(taints)}, metadata=metadata)
        if ready:
            await self.heartbeat(name, ready)

    async def heartbeat(self, name: str, ready: str = "True") -> None:
        """Report a node's status as its kubelet does."""
        now = self.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")
        times = {"lastHeartbeatTime": now, "lastTransitionTime": now}
        await self.status("Node", name, {"conditions": [{"type": "Ready", "status": ready, **times}]}, "")

    async def taint(self, node: str, *taints: Any) -> None:
        """Set all taints of a node."""
        await self.merge("Node", node, {"spec": {"taints": list(taints)}}, "")

    async def taints(self, node: str) -> list[str]:
        """Return the taints of a node as `key:effect`, in order."""
        stored = await self.get("Node", node, "")
        return [f"{taint['key']}:{taint['effect']}" for taint in stored["spec"].get("taints", ())]

    async def pod(self, name: str, *, on: str = "", tolerations: Iterable[Any] = (), **fields: Any) -> None:
        """Create a pod, bound if a node is named."""
        spec = {
            "containers": [{"name": "c", "image": "image"}],
            "tolerations": list(tolerations),
            **({"nodeName": on} if on else {}),
            **fields.pop("spec", {}),
        }
        await self.create("Pod", name, spec=spec, **fields)


def _established(definition: Any) -> bool:
    conditions = definition.get("status", {}).get("conditions") or ()
    return any(one["type"] == "Established" and one["status"] == "True" for one in conditions)


@pytest.fixture
def serves_metrics() -> bool:
    """Return whether the server has the APIs of metrics."""
    return False


@pytest.fixture
async def sim(*, serves_metrics: bool) -> AsyncIterator[Simulation]:
    clock = VirtualClock()
    store = MemoryStore()
    async with store:
        options = ApiServerOptions(
            Authenticator({}),
            caps=Capabilities(DEFAULT, enabled_gates(DEFAULT, GATES)),
            disable_admission=("ServiceAccount", "TaintNodesByCondition"),
            runtime_config=RuntimeConfig({"resource.k8s.io/v1beta2": True}),
            serves_resource_metrics=serves_metrics,
        )
        server = ApiServer(store=store, options=options, clock=clock, random=Random.from_seed(1, "server"))
        await server.start()
        door = LocalEndpoint()
        door.open(server)
        simulation = Simulation(server, door, clock)
        yield simulation
        await simulation.stop()
        door.close()
        await server.stop()
