"""Keep the APIServices of what this server serves: one for each version of a group.

Those of built-in groups are created once, at the start; later changes by users are not reverted. Those of custom groups
come and go with their CRDs, and are kept as they should be.
"""

# upstream 1.36: kube-aggregator/pkg/controllers/autoregister, pkg/controlplane/controller/crdregistration

import asyncio
from collections.abc import Iterable
from typing import Final

from mockkube.api.errors import AlreadyExists, ApiError, Conflict, NotFound
from mockkube.api.types import Object, ReadOnlyObject
from mockkube.apiserver.post_start_hooks.api_service_priorities import CUSTOM, Priority, priority_of
from mockkube.apiserver.post_start_hooks.rounds import Rounds
from mockkube.apiserver.registry import creation, deletion, updating
from mockkube.apiserver.registry.bootstrap import APISERVER, MANAGER
from mockkube.apiserver.registry.cache import Change, ChangeType, Collection, Record
from mockkube.apiserver.registry.creation import DEFINITIONS
from mockkube.apiserver.registry.options import DeleteOptions, WriteOptions
from mockkube.apiserver.registry.registry import Registry
from mockkube.apiserver.registry.resource import Call, Resource
from mockkube.client.bad_objects import reader_name

API_SERVICES: Final = ("apiregistration.k8s.io", "apiservices")
AUTOMANAGED: Final = "kube-aggregator.kubernetes.io/automanaged"
ON_START: Final = "onstart"
ALWAYS: Final = "true"

_OPTIONS: Final = WriteOptions(field_manager=MANAGER)


class Registrations:
    """Controller of the APIServices of one server's own groups."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._on_start: dict[str, Object] = {}
        # APIServices that existed when the server started.
        self._before: frozenset[str] = frozenset()
        self._seen_to: set[str] = set()
        self.rounds = Rounds(self.ensure, registry.services.clock, registry.services.cache.bad)

    async def start(self) -> None:
        """Create the APIServices, and follow CRDs and APIServices from now on."""
        storage, definitions = self._home, self._definitions
        self._on_start = {one["metadata"]["name"]: one for one in self._announced()}
        self._before = frozenset(record.name for record in storage.collection.records.values())
        names = dict.fromkeys([*self._on_start, *self._before])
        for record in definitions.records.values():
            names.update(dict.fromkeys(self._names_in(record)))
        storage.collection.listeners[self._changed] = None
        definitions.listeners[self._defined] = None
        await asyncio.gather(*(self._begin(name) for name in names))

    async def _begin(self, name: str) -> None:
        try:
            await self.ensure(name)
        except ApiError:
            raise
        except Exception:
            self.rounds.add(name)  # where it fails again, for all to see

    def _names_in(self, record: Record, *, served: bool = False) -> list[str]:
        bad = self._registry.services.cache.bad
        return bad.attempt(
            reader_name(self),
            "customresourcedefinitions",
            record.name,
            lambda: _names(record.load(), served=served),
            [],
        )

    def stop(self) -> None:
        """Stop following CRDs and APIServices."""
        self._home.collection.listeners.pop(self._changed, None)
        self._definitions.listeners.pop(self._defined, None)

    async def ensure(self, name: str) -> None:
        """Create, update or delete one APIService, if this server manages it."""
        await self._ensure(name, again=name in self._seen_to)
        self._seen_to.add(name)

    async def _ensure(self, name: str, *, again: bool) -> None:
        wanted, record = self._wanted(name), self._home.record("", name)
        # upstream: APIServices labelled "onstart" are synced once; afterwards users may change or delete them.
        if wanted is not None and _managed(wanted) == ON_START and again:
            return
        if record is None:
            await self._create(wanted)
            return
        present = record.load()
        managed = _managed(present)
        # Without the label the APIService belongs to a user, for example to register an aggregated server.
        if managed not in (ON_START, ALWAYS):
            return
        if managed == ON_START and (again or name not in self._before):
            return
        if wanted is None:
            await self._delete(present)
        elif present["spec"] != wanted["spec"]:
            await self._correct(name, wanted)

    @property
    def _home(self) -> Resource:
        resource = self._registry.stored(*API_SERVICES)
        assert resource is not None, "every server has APIServices"
        return resource

    @property
    def _definitions(self) -> Collection:
        resource = self._registry.stored(*DEFINITIONS)
        assert resource is not None, "every server has definitions"
        return resource.collection

    def _announced(self) -> Iterable[Object]:
        served = ((kind.group, version) for kind, versions in self._registry.served_kinds() for version in versions)
        for group, version in dict.fromkeys(served):
            if (priority := priority_of(group, version)) is not None:
                yield _api_service(group, version, priority, ON_START)

    def _wanted(self, name: str) -> Object | None:
        if name in self._on_start:
            return self._on_start[name]
        version, _, group = name.partition(".")
        definitions = [record for record in self._definitions.records.values() if record.name.endswith(group)]
        if any(name in self._names_in(one, served=True) for one in definitions):
            return _api_service(group, version, CUSTOM, ALWAYS)
        return None

    def _changed(self, change: Change) -> None:
        self.rounds.add(change.record.name)

    def _defined(self, change: Change) -> None:
        for record in (change.record, change.previous):
            if record is not None:
                self.rounds.add(*self._names_in(record))
        if change.type is ChangeType.DELETED:
            self._registry.services.cache.bad.forget("customresourcedefinitions", change.record.name)

    async def _create(self, wanted: Object | None) -> None:
        if wanted is None:
            return
        storage, scope = self._home, Call(APISERVER, user_agent=MANAGER)
        try:
            await creation.create(storage, scope, storage.decode(wanted, scope, "Ignore"), _OPTIONS)
        except AlreadyExists:
            return  # another server of this cluster was faster

    async def _delete(self, present: ReadOnlyObject) -> None:
        metadata = present["metadata"]
        scope = Call(APISERVER, name=metadata["name"], user_agent=MANAGER)
        try:
            await deletion.delete(self._home, scope, DeleteOptions(uid=metadata["uid"]))
        except (NotFound, Conflict):
            return  # whoever was faster has caused another look at it

    async def _correct(self, name: str, wanted: Object) -> None:
        scope = Call(APISERVER, name=name, user_agent=MANAGER)
        try:
            await updating.update(self._home, scope, lambda now: {**now, "spec": dict(wanted["spec"])}, _OPTIONS)
        except (NotFound, Conflict):
            return


def _api_service(group: str, version: str, priority: Priority, managed: str) -> Object:
    spec: Object = {"version": version, "groupPriorityMinimum": priority.group, "versionPriority": priority.version}
    if group:
        spec["group"] = group
    metadata = {"name": f"{version}.{group}", "labels": {AUTOMANAGED: managed}}
    return {"metadata": metadata, "spec": spec}


def _names(definition: ReadOnlyObject, *, served: bool = False) -> list[str]:
    """Return the APIService names of a CRD's versions: of all, or of the served ones."""
    spec = definition["spec"]
    return [f"{one['name']}.{spec['group']}" for one in spec["versions"] if one["served"] or not served]


def _managed(obj: ReadOnlyObject) -> str:
    label: str = (obj["metadata"].get("labels") or {}).get(AUTOMANAGED, "")
    return label
