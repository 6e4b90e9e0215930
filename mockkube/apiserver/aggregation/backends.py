"""Controller of APIServices: which groups and versions other servers serve, and whether they are available."""

from collections.abc import Coroutine, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

from mockkube.api.conditions import find_condition, make_condition, with_condition
from mockkube.api.errors import Conflict, NotFound
from mockkube.api.times import render_time
from mockkube.api.types import Object, ReadOnlyObject
from mockkube.api.validation.conditions import is_condition_true
from mockkube.apiserver.aggregation.availability import Finding, find
from mockkube.apiserver.aggregation.routes import SERVICE_NAME
from mockkube.apiserver.aggregation.transport import FrontProxy, Transport
from mockkube.apiserver.post_start_hooks.registrations import API_SERVICES
from mockkube.apiserver.post_start_hooks.rounds import Rounds
from mockkube.apiserver.registry import updating
from mockkube.apiserver.registry.bootstrap import APISERVER, MANAGER
from mockkube.apiserver.registry.cache import Change, ChangeType, Record
from mockkube.apiserver.registry.elsewhere import Backend
from mockkube.apiserver.registry.options import WriteOptions
from mockkube.apiserver.registry.registry import Registry
from mockkube.apiserver.registry.resource import Call, Resource

# Servers are checked again after this time even if no object has changed: they may fail without one.
RESYNC_SECONDS: Final = 30.0
RETRY_SECONDS: Final = 5.0
_AVAILABLE: Final = "Available"
_SLICES: Final = ("discovery.k8s.io", "endpointslices")
_SERVICES: Final = ("", "services")


class Backends:
    """Follows APIServices with a service; writes their condition Available (upstream: AvailableConditionController)."""

    def __init__(self, registry: Registry, proxy: FrontProxy | None) -> None:
        self._registry = registry
        self.transport = Transport(proxy)
        self.known = registry.elsewhere
        self.rounds = Rounds(self._look, registry.services.clock, registry.services.cache.bad)

    def start(self) -> None:
        """Read the stored APIServices and listen for changes."""
        for record in self._home.collection.records.values():
            bad = self._registry.services.cache.bad
            bad.attempt("Backends", "apiservices", record.name, partial(self._learn, record), None)
        for (group, plural), listener in self._heeded():
            self._stored(group, plural).collection.listeners[listener] = None

    def stop(self) -> None:
        """Remove the listeners."""
        for (group, plural), listener in self._heeded():
            self._stored(group, plural).collection.listeners.pop(listener, None)

    def work(self) -> list[Coroutine[Any, Any, None]]:
        """Return the coroutines to run until they are cancelled."""
        return [self.rounds.run(), self._resync()]

    async def _resync(self) -> None:
        while True:
            await self._registry.services.clock.sleep(RESYNC_SECONDS)
            self._look_at_all()

    def _heeded(self) -> tuple[tuple[tuple[str, str], Any], ...]:
        return (API_SERVICES, self._changed), (_SERVICES, self._service_changed), (_SLICES, self._slice_changed)

    def _stored(self, group: str, plural: str) -> Resource:
        resource = self._registry.stored(group, plural)
        assert resource is not None, f"every server has {plural}"
        return resource

    @property
    def _home(self) -> Resource:
        return self._stored(*API_SERVICES)

    def _changed(self, change: Change) -> None:
        if change.type is ChangeType.DELETED:
            self._forget(change.record.name)
        else:
            self._learn(change.record)

    def _service_changed(self, change: Change) -> None:
        self._look_behind(change.record.namespace, change.record.name)

    def _slice_changed(self, change: Change) -> None:
        if self.known:
            for record in (change.record, change.previous):
                if record is not None:
                    self._look_behind(record.namespace, record.labels.get(SERVICE_NAME, ""))

    def _look_behind(self, namespace: str, name: str) -> None:
        """Enqueue the APIServices of a service."""
        for (group, version), backend in self.known.items():
            service = backend.spec["service"]
            if (service["namespace"], service["name"]) == (namespace, name):
                self.rounds.add(f"{version}.{group}")

    def _look_at_all(self) -> None:
        self.rounds.add(*(f"{version}.{group}" for group, version in self.known))

    def _learn(self, record: Record) -> None:
        """Take over an APIService; its stored condition decides whether it is available."""
        obj = record.load()
        spec = obj["spec"]
        if spec.get("service") is None:
            self._forget(record.name)
            return
        key = spec.get("group", ""), spec["version"]
        before = self.known.get(key)
        available = is_condition_true(_conditions(obj), _AVAILABLE)
        # An unavailable server's resources are dropped: aggregated discovery then lists its version as stale.
        resources = before.resources if before is not None and available else None
        self.known[key] = Backend(spec, available, resources)
        if before is None or before.spec != spec:
            self._registry.edition += 1
            self.rounds.add(record.name)
        elif before.available != available:
            self._registry.edition += 1

    def _forget(self, name: str) -> None:
        version, _, group = name.partition(".")
        if self.known.pop((group, version), None) is not None:
            self._registry.edition += 1

    async def _look(self, name: str) -> None:
        """Check the server of an APIService and write the result."""
        version, _, group = name.partition(".")
        backend = self.known.get((group, version))
        if backend is None:
            return
        availability = await find(self._registry, self.transport, backend.spec)
        await self._say(name, availability)
        present = self.known.get((group, version))
        # The APIService may have changed during the check, whose result is then outdated.
        if present is not None and present.spec == backend.spec and present.resources != availability.resources:
            self.known[group, version] = replace(present, resources=availability.resources)
            self._registry.edition += 1
        # Other reasons end with a change of a service or slice, which enqueues the APIService; a server that does not
        # answer changes no object.
        if availability.reason == "FailedDiscoveryCheck":
            self.rounds.add_after(RETRY_SECONDS, name)

    async def _say(self, name: str, found: Finding) -> None:
        """Write the condition unless it is stored already."""
        record = self._home.record("", name)
        if record is None or _said(record.load(), found):
            return
        at = render_time(self._registry.services.clock.now())
        call = Call(APISERVER, name=name, subresource="status", user_agent=MANAGER)
        options = WriteOptions(field_manager=MANAGER)
        try:
            await updating.update(self._home, call, lambda now: _with(now, found, at), options)
        except (NotFound, Conflict):
            return  # the other write has enqueued the APIService again


def _conditions(obj: ReadOnlyObject) -> Sequence[ReadOnlyObject]:
    return (obj.get("status") or {}).get("conditions") or ()


def _condition(found: Finding) -> Object:
    return make_condition(_AVAILABLE, holds=found.available, reason=found.reason, message=found.message)


def _said(obj: ReadOnlyObject, found: Finding) -> bool:
    present = find_condition(_conditions(obj), _AVAILABLE)
    return present is not None and present == {**present, **_condition(found)}


def _with(obj: Object, found: Finding, at: str) -> Object:
    """Return the APIService with the condition."""
    conditions = with_condition(_conditions(obj), _condition(found), at)
    return {**obj, "status": {**(obj.get("status") or {}), "conditions": conditions}}
