"""Controller of APIServices: which groups and versions other servers serve, and whether they are available."""

from collections.abc import Coroutine, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

from mockkube.api.conditions import find_condition, make_condition, with_condition
from mockkube.api.errors import Conflict, NotFound
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.times import render_time
from mockkube.api.validation.conditions import is_condition_true
from mockkube.apiserver.aggregation.availability_check import Availability, check_availability
from mockkube.apiserver.aggregation.service_resolver import SERVICE_NAME_LABEL
from mockkube.apiserver.aggregation.transport import FrontProxyCredentials, Transport
from mockkube.apiserver.post_start_hooks.api_service_registration import API_SERVICES
from mockkube.apiserver.post_start_hooks.retry_queue import RetryQueue
from mockkube.apiserver.registry import updating
from mockkube.apiserver.registry.aggregated_api import AggregatedApi, ComputedGroup
from mockkube.apiserver.registry.bootstrap import APISERVER_USER, FIELD_MANAGER
from mockkube.apiserver.registry.cached_object import CachedObject
from mockkube.apiserver.registry.options import WriteOptions
from mockkube.apiserver.registry.registry import Registry
from mockkube.apiserver.registry.resource import RequestScope, Resource
from mockkube.apiserver.registry.watch_cache import CacheChange, ChangeType

# Servers are checked again after this time even if no object has changed: they may fail without one.
RESYNC_SECONDS: Final = 30.0
RETRY_SECONDS: Final = 5.0
_AVAILABLE: Final = "Available"
_SLICES: Final = ("discovery.k8s.io", "endpointslices")
_SERVICES: Final = ("", "services")


class AvailabilityController:
    """Follows APIServices with a service; writes their condition Available (upstream: AvailableConditionController).

    APIs that this server computes are served while their APIService exists and names no service.
    """

    def __init__(
        self, registry: Registry, proxy: FrontProxyCredentials | None, computed_apis: Iterable[ComputedGroup] = ()
    ) -> None:
        self._registry = registry
        self._computed_apis = {(one.spec["group"], one.spec["version"]): one for one in computed_apis}
        self.transport = Transport(proxy)
        self.aggregated_apis = registry.aggregated_apis
        self.queue = RetryQueue(self._sync, registry.dependencies.clock, registry.dependencies.watch_cache.bad_objects)

    def start(self) -> None:
        """Read the stored APIServices and listen for changes."""
        for cached in self._api_services.collection.objects.values():
            bad = self._registry.dependencies.watch_cache.bad_objects
            bad.attempt("AvailabilityController", "apiservices", cached.name, partial(self._add, cached), None)
        for (group, plural), listener in self._listeners():
            self._find_resource(group, plural).collection.listeners[listener] = False

    def stop(self) -> None:
        """Remove the listeners."""
        for (group, plural), listener in self._listeners():
            self._find_resource(group, plural).collection.listeners.pop(listener, None)

    def coroutines(self) -> list[Coroutine[Any, Any, None]]:
        """Return the coroutines to run until they are cancelled."""
        return [self.queue.run(), self._resync()]

    async def _resync(self) -> None:
        while True:
            await self._registry.dependencies.clock.sleep(RESYNC_SECONDS)
            self._enqueue_all()

    def _listeners(self) -> tuple[tuple[tuple[str, str], Any], ...]:
        return (API_SERVICES, self._on_api_service), (_SERVICES, self._on_service), (_SLICES, self._on_endpoint_slice)

    def _find_resource(self, group: str, plural: str) -> Resource:
        resource = self._registry.find_storage_resource(group, plural)
        assert resource is not None, f"every server has {plural}"
        return resource

    @property
    def _api_services(self) -> Resource:
        return self._find_resource(*API_SERVICES)

    def _on_api_service(self, change: CacheChange) -> None:
        if change.type is ChangeType.DELETED:
            self._remove(change.object.name)
        else:
            self._add(change.object)

    def _on_service(self, change: CacheChange) -> None:
        self._enqueue_by_service(change.object.namespace, change.object.name)

    def _on_endpoint_slice(self, change: CacheChange) -> None:
        if self.aggregated_apis:
            for cached in (change.object, change.previous):
                if cached is not None:
                    self._enqueue_by_service(cached.namespace, cached.labels.get(SERVICE_NAME_LABEL, ""))

    def _enqueue_by_service(self, namespace: str, name: str) -> None:
        """Enqueue the APIServices of a service."""
        for (group, version), aggregated_api in self.aggregated_apis.items():
            service = aggregated_api.spec.get("service")
            if service is not None and (service["namespace"], service["name"]) == (namespace, name):
                self.queue.add(f"{version}.{group}")

    def _enqueue_all(self) -> None:
        self.queue.add(
            *(f"{version}.{group}" for (group, version), one in self.aggregated_apis.items() if one.computed is None)
        )

    def _add(self, cached: CachedObject) -> None:
        """Take over an APIService; its stored condition decides whether it is available."""
        obj = cached.load()
        spec = obj["spec"]
        key = spec.get("group", ""), spec["version"]
        if spec.get("service") is None:
            self._add_computed(key, cached.name, spec)
            return
        before = self.aggregated_apis.get(key)
        available = is_condition_true(_conditions(obj), _AVAILABLE)
        # An unavailable server's resources are dropped: aggregated discovery then lists its version as stale.
        resources = before.resources if before is not None and available else None
        self.aggregated_apis[key] = AggregatedApi(spec, available, resources)
        if before is None or before.spec != spec:
            self._registry.generation += 1
            self.queue.add(cached.name)
        elif before.is_available != available:
            self._registry.generation += 1

    def _add_computed(self, key: tuple[str, str], name: str, spec: ReadOnlyObject) -> None:
        """Serve the API if this server computes it; else the APIService belongs to a group of this server."""
        computed = self._computed_apis.get(key)
        if computed is None:
            self._remove(name)
            return
        self.aggregated_apis[key] = AggregatedApi(spec, is_available=True, computed=computed)
        self._registry.generation += 1

    def _remove(self, name: str) -> None:
        version, _, group = name.partition(".")
        if self.aggregated_apis.pop((group, version), None) is not None:
            self._registry.generation += 1

    async def _sync(self, name: str) -> None:
        """Check the server of an APIService and write the result."""
        version, _, group = name.partition(".")
        aggregated_api = self.aggregated_apis.get((group, version))
        if aggregated_api is None or aggregated_api.computed is not None:
            return
        availability = await check_availability(self._registry, self.transport, aggregated_api.spec)
        await self._update_condition(name, availability)
        present = self.aggregated_apis.get((group, version))
        # The APIService may have changed during the check, whose result is then outdated.
        if present is not None and present.spec == aggregated_api.spec and present.resources != availability.resources:
            self.aggregated_apis[group, version] = replace(present, resources=availability.resources)
            self._registry.generation += 1
        # Other reasons end with a change of a service or slice, which enqueues the APIService; a server that does not
        # answer changes no object.
        if availability.reason == "FailedDiscoveryCheck":
            self.queue.add_after(name, RETRY_SECONDS)

    async def _update_condition(self, name: str, found: Availability) -> None:
        """Write the condition unless it is stored already."""
        cached = self._api_services.get_cached("", name)
        if cached is None or _has_condition(cached.load(), found):
            return
        at = render_time(self._registry.dependencies.clock.now())
        call = RequestScope(APISERVER_USER, name=name, subresource="status", user_agent=FIELD_MANAGER)
        options = WriteOptions(field_manager=FIELD_MANAGER)
        try:
            await updating.update(self._api_services, call, lambda now: _with_condition(now, found, at), options)
        except (NotFound, Conflict):
            return  # the other write has enqueued the APIService again


def _conditions(obj: ReadOnlyObject) -> Sequence[ReadOnlyObject]:
    return (obj.get("status") or {}).get("conditions") or ()


def _build_condition(found: Availability) -> Object:
    return make_condition(_AVAILABLE, holds=found.available, reason=found.reason, message=found.message)


def _has_condition(obj: ReadOnlyObject, found: Availability) -> bool:
    present = find_condition(_conditions(obj), _AVAILABLE)
    return present is not None and present == {**present, **_build_condition(found)}


def _with_condition(obj: Object, found: Availability, at: str) -> Object:
    """Return the APIService with the condition."""
    conditions = with_condition(_conditions(obj), _build_condition(found), at)
    return {**obj, "status": {**(obj.get("status") or {}), "conditions": conditions}}
