"""A scheduler before an API server in memory, in virtual time: whatever happens, happens in steps."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from typing import Any

import pytest
from mockkube_storage.engines.memory import MemoryStore
from prometheus_client import CollectorRegistry

from mockkube.api.errors import NotFound
from mockkube.api.patching.patch_type import PatchType
from mockkube.apiserver.http.filters.authentication import Authenticator
from mockkube.apiserver.identity.user import MASTERS_GROUP
from mockkube.apiserver.local.client import LocalClient
from mockkube.apiserver.local.endpoint import LocalEndpoint
from mockkube.apiserver.server import ApiServer, ApiServerOptions
from mockkube.client import identity
from mockkube.client.protocol import DELETE_NOW, Key, Selection
from mockkube.features.capabilities import Capabilities
from mockkube.features.gates import enabled_gates
from mockkube.features.versions import Version
from mockkube.runtime.component import ComponentDependencies
from mockkube.runtime.random import Random
from mockkube.runtime.virtual_time import VirtualClock
from mockkube.scheduler.scheduler import Scheduler, build
from tests.simulation import Simulation

JSON = dict[str, Any]


class Lab:
    """The cluster as its operator sees it, and its scheduler."""

    def __init__(self, store: MemoryStore, server: ApiServer, clock: VirtualClock, scheduler: Scheduler) -> None:
        door = LocalEndpoint()
        door.open(server)
        self.scheduler, self.clock = scheduler, clock
        self.admin = LocalClient(door, identity.ClientIdentity("admin", (MASTERS_GROUP,), "kubectl"))
        self._store, self._server = store, server
        self.simulation = Simulation(lambda: scheduler.workers, clock=clock, wait_for_delivery=self._quiet)

    async def _quiet(self) -> None:
        """Return when all that is stored has reached those who watch."""
        await asyncio.sleep(0)
        while self._server.registry.dependencies.watch_cache.revision < self._store.revision:  # noqa: ASYNC110 (a turn is enough)
            await asyncio.sleep(0)

    async def settle(self) -> None:
        await self.simulation.settle()

    async def advance(self, seconds: float) -> None:
        await self.simulation.advance(seconds)

    async def node(self, name: str, *, cpu: str = "4", labels: JSON | None = None, **spec: Any) -> None:
        amounts = {"cpu": cpu, "memory": "8Gi", "pods": "110"}
        status = {"capacity": amounts, "allocatable": amounts}
        await self.admin.create(
            "Node", {"metadata": {"name": name, "labels": labels or {}}, "spec": spec, "status": status}
        )
        await self.settle()

    async def pod(self, name: str, *, cpu: str = "", labels: JSON | None = None, **spec: Any) -> None:
        """Create a pod that goes at once when it is deleted, without letting anything happen."""
        requests = {"requests": {"cpu": cpu}} if cpu else {}
        containers = [{"name": "c", "image": "app", "resources": requests}]
        metadata = {"name": name, "namespace": "default", "labels": labels or {}}
        await self.admin.create(
            "Pod",
            {"metadata": metadata, "spec": {"containers": containers, "terminationGracePeriodSeconds": 0, **spec}},
        )

    async def patch(self, kind: str, name: str, patch: JSON, subresource: str = "") -> None:
        namespace = "" if kind == "Node" else "default"
        patch_type = PatchType.STRATEGIC
        await self.admin.patch(kind, Key(namespace, name), patch, patch_type=patch_type, subresource=subresource)

    async def delete(self, kind: str, name: str) -> None:
        await self.admin.delete(kind, Key("" if kind == "Node" else "default", name), DELETE_NOW)

    async def priority_class(self, name: str, value: int, **fields: Any) -> None:
        await self.admin.create("PriorityClass", {"metadata": {"name": name}, "value": value, **fields})

    async def get(self, name: str) -> Any:
        return await self.admin.get("Pod", Key("default", name))

    async def node_of(self, name: str) -> str:
        return (await self.get(name))["spec"].get("nodeName", "")

    async def exists(self, name: str) -> bool:
        try:
            return bool(await self.get(name))
        except NotFound:
            return False

    async def condition(self, name: str, kind: str = "PodScheduled") -> tuple[str, str, str]:
        """Return status, reason and message of a condition; empty texts if the pod has none."""
        for one in (await self.get(name)).get("status", {}).get("conditions", ()):
            if one["type"] == kind:
                return one["status"], one.get("reason", ""), one.get("message", "")
        return "", "", ""

    async def events(self, name: str) -> list[tuple[str, str]]:
        """Return reason and note of the events about a pod."""
        listed = await self.admin.list("Event.events.k8s.io", Selection("default"))
        about = [event for event in listed.items if event["regarding"]["name"] == name]
        return [(event["reason"], event["note"]) for event in about]

    def sample(self, name: str, **labels: str) -> float:
        """Return the value of a metric; 0 if it has none yet."""
        return self.registry.get_sample_value(name, labels) or 0.0

    registry: CollectorRegistry


@pytest.fixture
async def labs() -> AsyncIterator[Callable[..., Any]]:
    """Return what makes labs: of a version, with gates, with a configuration."""
    async with AsyncExitStack() as stack:

        async def make(
            *, version: str = "1.36", gates: dict[str, bool] | None = None, configuration: Any = None
        ) -> Lab:
            parsed, clock = Version.parse(version), VirtualClock()
            store = await stack.enter_async_context(MemoryStore())
            options = ApiServerOptions(
                Authenticator({}),
                caps=Capabilities(parsed, enabled_gates(parsed, gates or {})),
                disable_admission=("ServiceAccount", "TaintNodesByCondition"),
            )
            server = ApiServer(store=store, options=options, clock=clock, random=Random.from_seed(1, "server"))
            await server.start()
            stack.push_async_callback(server.stop)
            door, registry = LocalEndpoint(), CollectorRegistry()
            door.open(server)
            client = LocalClient(door, identity.scheduler(parsed))
            caps = Capabilities(parsed, enabled_gates(parsed, gates or {}, component="kube-scheduler"))
            context = ComponentDependencies(
                "kube-scheduler", client, caps, clock, Random.from_seed(1, "scheduler"), registry, lambda node: True
            )
            scheduler = build(context, configuration)
            stack.push_async_callback(scheduler.stop)
            lab = Lab(store, server, clock, scheduler)
            lab.registry = registry
            await lab.settle()
            return lab

        yield make


@pytest.fixture
async def lab(labs: Callable[..., Any]) -> Lab:
    return await labs()
