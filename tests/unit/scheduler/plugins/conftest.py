"""A cluster in memory for plugins: nodes, pods and other objects, without a server or a queue."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from types import SimpleNamespace
from typing import Any

import pytest
from mockkube_storage.engines.memory import MemoryStore

from mockkube.api.patching.patch_type import PatchType
from mockkube.apiserver.http.filters.authentication import Authenticator
from mockkube.apiserver.identity.user import MASTERS_GROUP
from mockkube.apiserver.local.client import LocalClient
from mockkube.apiserver.local.endpoint import LocalEndpoint
from mockkube.apiserver.server import ApiServer, ApiServerOptions
from mockkube.client.identity import ClientIdentity
from mockkube.client.identity import scheduler as scheduler_identity
from mockkube.client.informer import InformerFactory
from mockkube.client.protocol import Key, ObjectList, Selection, key_of
from mockkube.features.capabilities import Capabilities
from mockkube.features.gates import enabled_gates
from mockkube.features.versions import DEFAULT, Version
from mockkube.matching.cel.tolerations import ExpressionCache
from mockkube.proposals.component_extensions import make_device_taint_rules, make_selector_operators, make_taint_rules
from mockkube.runtime.clock import RealClock
from mockkube.runtime.random import Random
from mockkube.runtime.steps import Signal
from mockkube.runtime.virtual_time import VirtualClock
from mockkube.scheduler.configuration.arguments import set_defaults
from mockkube.scheduler.framework.cache import Cache
from mockkube.scheduler.framework.events import ActionType, ClusterEvent, EventResource
from mockkube.scheduler.framework.interface import CycleState, PluginDependencies
from mockkube.scheduler.framework.pod_info import PodInfo
from mockkube.scheduler.framework.pod_requests import PodRequestCalculator
from mockkube.scheduler.framework.status import Code, Status


class Shelf:
    """As much of a client as a cache needs: it lists what was put there, and then nothing happens."""

    def __init__(self) -> None:
        self.objects: dict[str, list[Any]] = {}

    async def list(self, kind: str, selection: Selection) -> ObjectList:
        return ObjectList(self.objects.get(kind, []), "1")

    async def watch(self, kind: str, selection: Selection, after: str) -> Any:
        return SimpleNamespace(ready=lambda: False, bell=Signal())


class World:
    """Objects, and plugins that look at them."""

    def __init__(self, version: str = str(DEFAULT), gates: Mapping[str, bool] | None = None) -> None:
        parsed = Version.parse(version)
        self.caps = Capabilities(parsed, enabled_gates(parsed, gates or {}))
        self.shelf = Shelf()
        self.cache = Cache(PodRequestCalculator(self.caps))
        self.informers = InformerFactory(self.shelf, RealClock(), owner="kube-scheduler")
        self._pods = 0

    def node(self, name: str, labels: Mapping[str, str] | None = None, /, **fields: Any) -> None:
        """Add a node with ample room; `spec` and `status` replace its own."""
        room = {"cpu": "8", "memory": "16Gi", "pods": "110"}
        own = {"kubernetes.io/hostname": name, **(labels or {})}
        self.cache.set_node(
            {"metadata": {"name": name, "labels": own}, "spec": {}, "status": {"allocatable": room}, **fields}
        )

    def pod(self, labels: Mapping[str, str] | None = None, /, *, namespace: str = "a", **spec: Any) -> PodInfo:
        """Return a pod; with a `nodeName` it is on that node."""
        self._pods += 1
        name = f"p{self._pods}"
        metadata = {"name": name, "namespace": namespace, "uid": name, "labels": dict(labels or {})}
        for field in ("deletionTimestamp", "ownerReferences"):
            if field in spec:
                metadata[field] = spec.pop(field)
        status = spec.pop("status", {})
        spec.setdefault("containers", [{"name": "c", "image": "app"}])
        pod = PodInfo({"metadata": metadata, "spec": spec, "status": status})
        if pod.node_name:
            self.cache.add_pod(pod)
        return pod

    def other(self, kind: str, obj: Any) -> None:
        """Put an object of another kind where caches find it."""
        self.shelf.objects.setdefault(kind, []).append(obj)

    def build(self, factory: Callable[..., Any], /, **args: Any) -> Any:
        """Build a plugin with its arguments filled in, and fill the caches it asked for."""
        context = PluginDependencies(
            caps=self.caps,
            clock=RealClock(),
            client=self.shelf,
            informers=self.informers,
            nodes=self.cache,
            taints=make_taint_rules(self.caps, ExpressionCache().compile_expression),
            selector_operators=make_selector_operators(self.caps),
            device_taints=make_device_taint_rules(self.caps),
        )
        plugin = factory(context, set_defaults(factory.name, args, self.caps))
        for cache in self.informers.workers:
            if not cache.has_synced:
                asyncio.run(cache.step())
        return plugin

    def filter(self, plugin: Any, pod: PodInfo) -> dict[str, Status]:
        """Return what a plugin says of each node; of no node if its pre-filter refuses the pod, or leaves it alone."""
        state = CycleState()
        if hasattr(plugin, "pre_filter"):
            found = plugin.pre_filter(state, pod, self.cache)
            if not found.status.is_success:
                return {"": found.status}
        return {node.name: plugin.filter(state, pod, node) for node in self.cache.all}

    def refused(self, plugin: Any, pod: PodInfo) -> dict[str, str]:
        """Return the message for each node that is refused."""
        return {name: status.message for name, status in self.filter(plugin, pod).items() if status.is_rejected}

    def scores(self, plugin: Any, pod: PodInfo) -> dict[str, int]:
        """Return the score of each node; nothing if the plugin leaves the pod alone."""
        state, nodes = CycleState(), list(self.cache.all)
        if hasattr(plugin, "pre_score") and plugin.pre_score(state, pod, nodes).code is Code.SKIP:
            return {}
        scores = [plugin.score(state, pod, node) for node in nodes]
        plugin.normalize(state, pod, nodes, scores)
        return {node.name: score for node, score in zip(nodes, scores, strict=True)}


class Served:
    """A server in memory and a scheduler's view of it, for plugins that write; time is virtual."""

    def __init__(self, server: ApiServer, caps: Capabilities) -> None:
        door = LocalEndpoint()
        door.open(server)
        self.caps, self.clock = caps, VirtualClock()
        self.admin = LocalClient(door, ClientIdentity("admin", (MASTERS_GROUP,), "admin"))
        self.client = LocalClient(door, scheduler_identity(caps.version))
        self.caches = InformerFactory(self.client, self.clock, owner="kube-scheduler")
        self.cache = Cache(PodRequestCalculator(caps))

    async def create(self, kind: str, name: str, /, status: Any = None, **fields: Any) -> Any:
        """Create an object of namespace `a`, if it has one, and give it a status."""
        metadata = {"name": name, "namespace": "a", **fields.pop("metadata", {})}
        obj = await self.admin.create(kind, {"metadata": metadata, **fields})
        if status is not None:
            obj = await self.patch(kind, name, {"status": status}, subresource="status")
        return await self.shown(kind, obj)

    async def patch(self, kind: str, name: str, patch: Any, subresource: str = "") -> Any:
        """Change an object, and let the scheduler see it."""
        key = self._key(kind, name)
        obj = await self.admin.patch(kind, key, patch, patch_type=PatchType.MERGE, subresource=subresource)
        return await self.shown(kind, obj)

    async def get(self, kind: str, name: str) -> Any:
        """Return an object as it is at the server, once the scheduler has seen it too."""
        return await self.shown(kind, await self.admin.get(kind, self._key(kind, name)))

    async def shown(self, kind: str, obj: Any) -> Any:
        """Wait until the scheduler has seen an object, if it looks at the kind at all."""
        caches = [cache for cache in self.caches.workers if cache.kind == kind]
        for cache in caches:
            while cache.get(key_of(obj)) is None or _version(cache.get(key_of(obj))) < _version(obj):
                if not cache.is_ready():
                    await cache.signal.wait()
                await cache.step()
        if kind == "Node":
            self.cache.set_node(obj)
        return obj

    async def build(self, factory: Callable[..., Any], /, **args: Any) -> Any:
        """Build a plugin that writes to the server."""
        context = PluginDependencies(
            caps=self.caps,
            clock=self.clock,
            client=self.client,
            informers=self.caches,
            nodes=self.cache,
            taints=make_taint_rules(self.caps, ExpressionCache().compile_expression),
            selector_operators=make_selector_operators(self.caps),
            device_taints=make_device_taint_rules(self.caps),
        )
        plugin = factory(context, set_defaults(factory.name, args, self.caps))
        for cache in self.caches.workers:
            await cache.step()
        return plugin

    async def decide(self, plugin: Any, pod: PodInfo, node_name: str) -> CycleState:
        """Let a plugin look at the pod and the node, and reserve what is there."""
        state = CycleState()
        assert plugin.pre_filter(state, pod, self.cache).status.is_success
        assert plugin.filter(state, pod, self.cache.get(node_name)).is_success
        assert plugin.reserve(state, pod, node_name).is_success
        return state

    def _key(self, kind: str, name: str) -> Key:
        return Key("" if kind in ("PersistentVolume", "Node") else "a", name)


def _version(obj: Any) -> int:
    return int(obj["metadata"]["resourceVersion"])


def helps(plugin: Any, pod: PodInfo, event: ClusterEvent) -> bool:
    """Whether a plugin wants a pod it refused to be tried again after an event."""
    wanted = [
        one
        for one in plugin.events_to_register()
        if one.resource is event.resource and event.action_type in one.action_types
    ]
    return any(one.hint is None or one.hint(pod, event) for one in wanted)


def happened(subject: EventResource, action: ActionType, old: Any = None, new: Any = None) -> ClusterEvent:
    """Return an event; pods may be given as what they were compiled to."""
    old, new = (getattr(one, "obj", one) for one in (old, new))
    return ClusterEvent(subject, action, old, new)


@pytest.fixture
def world() -> World:
    """Return an empty cluster of the default version."""
    return World()


@pytest.fixture
def worlds() -> Callable[..., World]:
    """Return what makes clusters of a version and with gates."""
    return World


@pytest.fixture
async def served() -> AsyncIterator[Served]:
    """Return a server of the default version, with a namespace `a`."""
    async with MemoryStore() as store:
        options = ApiServerOptions(
            Authenticator({}), caps=Capabilities(gates=enabled_gates(DEFAULT)), disable_admission=("ServiceAccount",)
        )
        server = ApiServer(store=store, options=options, clock=RealClock(), random=Random.from_seed(1, "server"))
        await server.start()
        made = Served(server, Capabilities(gates=enabled_gates(DEFAULT, component="kube-scheduler")))
        await made.admin.create("Namespace", {"metadata": {"name": "a"}})
        yield made
        await made.caches.close()
        await server.stop()


@pytest.fixture
def event() -> Callable[..., ClusterEvent]:
    """Return what makes events."""
    return happened


@pytest.fixture
def hinted() -> Callable[[Any, PodInfo, ClusterEvent], bool]:
    """Return what tells whether a plugin finds an event helpful."""
    return helps


@pytest.fixture
def spread() -> Callable[..., dict[str, Any]]:
    """Return what makes spread constraints over pods labelled `app: web`."""

    def make(key: str = "zone", action: str = "DoNotSchedule", **fields: Any) -> dict[str, Any]:
        selector = {"matchLabels": {"app": "web"}}
        return {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": action, "labelSelector": selector, **fields}

    return make
