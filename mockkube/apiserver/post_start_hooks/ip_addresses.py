"""Keep one IPAddress object for each cluster IP: create, delete and repair them."""

# upstream 1.36: pkg/registry/core/service/ipallocator, its controller/repairip.go
from datetime import timedelta
from typing import Final

from mockkube.api.errors import AlreadyExists, ApiError, NotFound
from mockkube.api.kinds.core.service import allocation as wants
from mockkube.api.times import parse_time
from mockkube.api.types import Object, ReadOnlyObject
from mockkube.api.validation.addresses import parse_ip
from mockkube.apiserver.post_start_hooks.rounds import Rounds
from mockkube.apiserver.registry import creation, deletion
from mockkube.apiserver.registry.bootstrap import APISERVER, MANAGER
from mockkube.apiserver.registry.cache import Change, ChangeType
from mockkube.apiserver.registry.options import DeleteOptions, WriteOptions
from mockkube.apiserver.registry.registry import Registry
from mockkube.apiserver.registry.resource import Call, Resource

ADDRESSES: Final = ("networking.k8s.io", "ipaddresses")
FAMILY: Final = "ipaddress.kubernetes.io/ip-family"
MANAGED_BY: Final = "ipaddress.kubernetes.io/managed-by"
ALLOCATOR: Final = "ipallocator.k8s.io"
# How long an IPAddress may exist before its service does.
GRACE: Final = timedelta(seconds=60)

_OPTIONS: Final = WriteOptions(field_manager=MANAGER)


class IPAddresses:
    """Controller of the IPAddresses of services."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        clock = registry.services.clock
        self.services = Rounds(self._mend, clock, registry.services.cache.bad)
        self.orphans = Rounds(self._clean, clock, registry.services.cache.bad)

    async def start(self) -> None:
        """Reconcile all addresses, and follow services and addresses from now on."""
        services, addresses = self._stored("", "services").collection, self._stored(*ADDRESSES).collection
        services.listeners[self._service_changed] = None
        addresses.listeners[self._address_changed] = None
        self._registry.services.service_stored = self.settle
        for record in tuple(services.records.values()):
            try:
                await self._mend(record.place)
            except ApiError:
                raise
            except Exception:
                self.services.add(record.place)  # where it fails again, for all to see
        self.orphans.add(*(record.name for record in addresses.records.values()))

    def stop(self) -> None:
        """Stop following services and addresses."""
        self._stored("", "services").collection.listeners.pop(self._service_changed, None)
        self._stored(*ADDRESSES).collection.listeners.pop(self._address_changed, None)

    async def settle(self, new: ReadOnlyObject | None, old: ReadOnlyObject | None) -> None:
        """Create and delete addresses for a stored service; it was deleted if there is no new state."""
        held, before = _held(new), _held(old)
        for address in before:
            if address not in held:
                await self._delete(address)
        for address in held:
            if address not in before and new is not None:
                await self._create(address, new)

    def _stored(self, group: str, plural: str) -> Resource:
        resource = self._registry.stored(group, plural)
        assert resource is not None, f"every server has {plural}"
        return resource

    def _service_changed(self, change: Change) -> None:
        if change.type is not ChangeType.DELETED:
            self.services.add(f"{change.record.namespace}/{change.record.name}")

    def _address_changed(self, change: Change) -> None:
        parent = _parent(change.record.load())
        if change.type is not ChangeType.DELETED:
            self.orphans.add(change.record.name)
        elif parent.get("resource") == "services":
            self.services.add(f"{parent.get('namespace', '')}/{parent['name']}")

    def _service(self, namespace: str, name: str) -> Object | None:
        record = self._stored("", "services").record(namespace, name)
        return None if record is None else record.load()

    async def _mend(self, key: str) -> None:
        """Create or replace IPAddresses that are missing or wrong for a service."""
        # differs: upstream notices a deleted IPAddress only with the next resync of its service.
        namespace, _, name = key.partition("/")
        service = self._service(namespace, name)
        for address in _held(service):
            assert service is not None
            record = self._stored(*ADDRESSES).record("", address)
            present = None if record is None else record.load()
            if present is None:
                await self._create(address, service)
            elif self._astray(present, service):
                # The parentRef is immutable, so a wrong object is replaced.
                await self._delete(address)
                await self._create(address, service)

    def _astray(self, present: ReadOnlyObject, service: ReadOnlyObject) -> bool:
        """Return whether an IPAddress does not refer to the service, and to no other one that exists."""
        parent, wanted = _parent(present), _reference(service)
        if parent.get("group") or parent.get("resource") != "services":
            return True
        if parent != wanted:
            other = self._service(parent.get("namespace", ""), parent["name"])
            if other is None:
                return True
        return _labels(present) != {**_labels(present), **_own_labels(present["metadata"]["name"])}

    async def _clean(self, address: str) -> None:
        """Delete an IPAddress whose service is missing, or does not use it."""
        record = self._stored(*ADDRESSES).record("", address)
        present = None if record is None else record.load()
        if present is None or _labels(present).get(MANAGED_BY) != ALLOCATOR:
            return
        parent = _parent(present)
        of_service = not parent.get("group") and parent.get("resource") == "services"
        service = self._service(parent.get("namespace", ""), parent["name"]) if of_service else None
        if address in _held(service):
            return
        clock = self._registry.services.clock
        left = parse_time(present["metadata"]["creationTimestamp"]) + GRACE - clock.now()
        # Allocation creates the IPAddress before the service is stored, so a missing service may still follow.
        coming = of_service and (service is None or not wants.needs_cluster_ip(service))
        if coming and left > timedelta():
            self.orphans.add_after(left.total_seconds(), address)
        else:
            await self._delete(address)

    async def _create(self, address: str, service: ReadOnlyObject) -> None:
        storage, scope = self._stored(*ADDRESSES), Call(APISERVER, user_agent=MANAGER)
        metadata = {"name": address, "labels": _own_labels(address)}
        obj = {"metadata": metadata, "spec": {"parentRef": _reference(service)}}
        try:
            await creation.create(storage, scope, storage.decode(obj, scope, "Ignore"), _OPTIONS)
        except AlreadyExists:
            await self._registry.services.cache.fresh()  # somebody was faster; whoever waits for it is to see it

    async def _delete(self, address: str) -> None:
        try:
            await deletion.delete(self._stored(*ADDRESSES), Call(APISERVER, name=address), DeleteOptions())
        except NotFound:
            return


def _held(service: ReadOnlyObject | None) -> list[str]:
    """Return the cluster IPs of a service in canonical form."""
    if service is None or not wants.needs_cluster_ip(service):
        return []
    found = [parse_ip(ip) for ip in service["spec"].get("clusterIPs") or () if ip != "None"]
    return [str(ip) for ip in found if ip is not None]


def _own_labels(address: str) -> dict[str, str]:
    return {FAMILY: "IPv6" if ":" in address else "IPv4", MANAGED_BY: ALLOCATOR}


def _labels(obj: ReadOnlyObject) -> dict[str, str]:
    return dict(obj["metadata"].get("labels") or {})


def _parent(obj: ReadOnlyObject) -> ReadOnlyObject:
    parent: ReadOnlyObject = obj["spec"]["parentRef"]
    return parent


def _reference(service: ReadOnlyObject) -> Object:
    metadata = service["metadata"]
    return {"resource": "services", "namespace": metadata["namespace"], "name": metadata["name"]}
