"""Keep the APIServices of what this server serves: one for each version of a group.

Those of built-in groups are created once, at the start; later changes by users are not reverted. Those of custom groups
come and go with their CRDs, and are kept as they should be.
"""

# upstream 1.36: kube-aggregator/pkg/controllers/autoregister, pkg/controlplane/controller/crdregistration

import asyncio
from collections.abc import Iterable
from typing import Final

from mockkube.api.errors import AlreadyExists, ApiError, Conflict, NotFound
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.apiserver.post_start_hooks.api_service_priorities import CRD_PRIORITY, ApiServicePriority, get_priority
from mockkube.apiserver.post_start_hooks.retry_queue import RetryQueue
from mockkube.apiserver.registry import creation, deletion, updating
from mockkube.apiserver.registry.bootstrap import APISERVER_USER, FIELD_MANAGER
from mockkube.apiserver.registry.cached_object import CachedObject
from mockkube.apiserver.registry.creation import CRDS
from mockkube.apiserver.registry.options import DeleteOptions, WriteOptions
from mockkube.apiserver.registry.registry import Registry
from mockkube.apiserver.registry.resource import RequestScope, Resource
from mockkube.apiserver.registry.watch_cache import CacheChange, ChangeType, Collection
from mockkube.client.bad_objects import reader_name

API_SERVICES: Final = ("apiregistration.k8s.io", "apiservices")
AUTOMANAGED_LABEL: Final = "kube-aggregator.kubernetes.io/automanaged"
ON_START: Final = "onstart"
ALWAYS: Final = "true"

_OPTIONS: Final = WriteOptions(field_manager=FIELD_MANAGER)


class ApiServiceRegistration:
    """Controller of the APIServices of one server's own groups."""

    def __init__(self, registry: Registry, computed_apis: Iterable[ReadOnlyObject] = ()) -> None:
        """Register the groups of the registry, and computed APIs by the specs of their APIServices."""
        self._registry = registry
        self._computed = {f"{spec['version']}.{spec['group']}": spec for spec in computed_apis}
        self._built_in: dict[str, Object] = {}
        # APIServices that existed when the server started.
        self._existed_at_start: frozenset[str] = frozenset()
        self._synced: set[str] = set()
        self.queue = RetryQueue(self.sync, registry.dependencies.clock, registry.dependencies.watch_cache.bad_objects)

    async def start(self) -> None:
        """Create the APIServices, and follow CRDs and APIServices from now on."""
        storage_resource, definitions = self._api_services, self._crds
        self._built_in = {one["metadata"]["name"]: one for one in self._built_in_api_services()}
        self._existed_at_start = frozenset(cached.name for cached in storage_resource.collection.objects.values())
        names = dict.fromkeys([*self._built_in, *self._existed_at_start])
        for cached in definitions.objects.values():
            names.update(dict.fromkeys(self._names_of_crd(cached)))
        storage_resource.collection.listeners[self._on_change] = False
        definitions.listeners[self._on_crd_change] = False
        await asyncio.gather(*(self._sync_or_enqueue(name) for name in names))

    async def _sync_or_enqueue(self, name: str) -> None:
        try:
            await self.sync(name)
        except ApiError:
            raise
        except Exception:
            self.queue.add(name)  # where it fails again, for all to see

    def _names_of_crd(self, cached: CachedObject, *, served: bool = False) -> list[str]:
        bad = self._registry.dependencies.watch_cache.bad_objects
        return bad.attempt(
            reader_name(self),
            "customresourcedefinitions",
            cached.name,
            lambda: _api_service_names(cached.load(), served=served),
            [],
        )

    def stop(self) -> None:
        """Stop following CRDs and APIServices."""
        self._api_services.collection.listeners.pop(self._on_change, None)
        self._crds.listeners.pop(self._on_crd_change, None)

    async def sync(self, name: str) -> None:
        """Create, update or delete one APIService, if this server manages it."""
        await self._sync(name, synced_before=name in self._synced)
        self._synced.add(name)

    async def _sync(self, name: str, *, synced_before: bool) -> None:
        wanted, cached = self._wanted_api_service(name), self._api_services.get_cached("", name)
        # upstream: APIServices labelled "onstart" are synced once; afterwards users may change or delete them.
        if wanted is not None and _managed_label(wanted) == ON_START and synced_before:
            return
        if cached is None:
            await self._create(wanted)
            return
        present = cached.load()
        managed = _managed_label(present)
        # Without the label the APIService belongs to a user, for example to register an aggregated server.
        if managed not in (ON_START, ALWAYS):
            return
        if managed == ON_START and (synced_before or name not in self._existed_at_start):
            return
        # A user has registered a server in the place of a computed API.
        if "service" in present["spec"]:
            return
        if wanted is None:
            await self._delete(present)
        elif present["spec"] != wanted["spec"]:
            await self._update_spec(name, wanted)

    @property
    def _api_services(self) -> Resource:
        resource = self._registry.find_storage_resource(*API_SERVICES)
        assert resource is not None, "every server has APIServices"
        return resource

    @property
    def _crds(self) -> Collection:
        resource = self._registry.find_storage_resource(*CRDS)
        assert resource is not None, "every server has definitions"
        return resource.collection

    def _built_in_api_services(self) -> Iterable[Object]:
        served = ((kind.group, version) for kind, versions in self._registry.served_kinds() for version in versions)
        for group, version in dict.fromkeys(served):
            if (priority := get_priority(group, version)) is not None:
                yield _api_service(group, version, priority, ON_START)
        for name, spec in self._computed.items():
            yield {"metadata": {"name": name, "labels": {AUTOMANAGED_LABEL: ON_START}}, "spec": dict(spec)}

    def _wanted_api_service(self, name: str) -> Object | None:
        if name in self._built_in:
            return self._built_in[name]
        version, _, group = name.partition(".")
        definitions = [cached for cached in self._crds.objects.values() if cached.name.endswith(group)]
        if any(name in self._names_of_crd(one, served=True) for one in definitions):
            return _api_service(group, version, CRD_PRIORITY, ALWAYS)
        return None

    def _on_change(self, change: CacheChange) -> None:
        self.queue.add(change.object.name)

    def _on_crd_change(self, change: CacheChange) -> None:
        for cached in (change.object, change.previous):
            if cached is not None:
                self.queue.add(*self._names_of_crd(cached))
        if change.type is ChangeType.DELETED:
            self._registry.dependencies.watch_cache.bad_objects.forget("customresourcedefinitions", change.object.name)

    async def _create(self, wanted: Object | None) -> None:
        if wanted is None:
            return
        storage_resource, scope = self._api_services, RequestScope(APISERVER_USER, user_agent=FIELD_MANAGER)
        try:
            await creation.create(storage_resource, scope, storage_resource.decode(wanted, scope, "Ignore"), _OPTIONS)
        except AlreadyExists:
            return  # another server of this cluster was faster

    async def _delete(self, present: ReadOnlyObject) -> None:
        metadata = present["metadata"]
        scope = RequestScope(APISERVER_USER, name=metadata["name"], user_agent=FIELD_MANAGER)
        try:
            await deletion.delete(self._api_services, scope, DeleteOptions(uid=metadata["uid"]))
        except (NotFound, Conflict):
            return  # another writer changed it; its event queues the key again

    async def _update_spec(self, name: str, wanted: Object) -> None:
        scope = RequestScope(APISERVER_USER, name=name, user_agent=FIELD_MANAGER)
        try:
            await updating.update(
                self._api_services, scope, lambda now: {**now, "spec": dict(wanted["spec"])}, _OPTIONS
            )
        except (NotFound, Conflict):
            return


def _api_service(group: str, version: str, priority: ApiServicePriority, managed: str) -> Object:
    spec: Object = {"version": version, "groupPriorityMinimum": priority.group, "versionPriority": priority.version}
    if group:
        spec["group"] = group
    metadata = {"name": f"{version}.{group}", "labels": {AUTOMANAGED_LABEL: managed}}
    return {"metadata": metadata, "spec": spec}


def _api_service_names(definition: ReadOnlyObject, *, served: bool = False) -> list[str]:
    """Return the APIService names of a CRD's versions: of all, or of the served ones."""
    spec = definition["spec"]
    return [f"{one['name']}.{spec['group']}" for one in spec["versions"] if one["served"] or not served]


def _managed_label(obj: ReadOnlyObject) -> str:
    label: str = (obj["metadata"].get("labels") or {}).get(AUTOMANAGED_LABEL, "")
    return label
