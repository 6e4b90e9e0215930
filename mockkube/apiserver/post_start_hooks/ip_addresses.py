"""Keep one IPAddress object for each cluster IP: create, delete and repair them."""

# upstream 1.36: pkg/registry/core/service/ipallocator, its controller/repairip.go
from datetime import timedelta
from typing import Final

from mockkube.api.errors import AlreadyExists, ApiError, NotFound
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.kinds.core.service import allocation
from mockkube.api.times import parse_time
from mockkube.api.validation.addresses import parse_ip
from mockkube.apiserver.post_start_hooks.retry_queue import RetryQueue
from mockkube.apiserver.registry import creation, deletion
from mockkube.apiserver.registry.bootstrap import APISERVER_USER, FIELD_MANAGER
from mockkube.apiserver.registry.options import DeleteOptions, WriteOptions
from mockkube.apiserver.registry.registry import Registry
from mockkube.apiserver.registry.resource import RequestScope, Resource
from mockkube.apiserver.registry.watch_cache import CacheChange, ChangeType

IP_ADDRESSES: Final = ("networking.k8s.io", "ipaddresses")
FAMILY_LABEL: Final = "ipaddress.kubernetes.io/ip-family"
MANAGED_BY_LABEL: Final = "ipaddress.kubernetes.io/managed-by"
ALLOCATOR: Final = "ipallocator.k8s.io"
# How long an IPAddress may exist before its service does.
GRACE_PERIOD: Final = timedelta(seconds=60)

_OPTIONS: Final = WriteOptions(field_manager=FIELD_MANAGER)


class IPAddressController:
    """Controller of the IPAddresses of services."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        clock = registry.dependencies.clock
        self.service_queue = RetryQueue(self._repair_service, clock, registry.dependencies.watch_cache.bad_objects)
        self.address_queue = RetryQueue(self._delete_orphan, clock, registry.dependencies.watch_cache.bad_objects)

    async def start(self) -> None:
        """Reconcile all addresses, and follow services and addresses from now on."""
        services, addresses = (
            self._storage_resource("", "services").collection,
            self._storage_resource(*IP_ADDRESSES).collection,
        )
        services.listeners[self._on_service_change] = False
        addresses.listeners[self._on_address_change] = False
        self._registry.dependencies.on_service_stored = self.sync_service
        for cached in tuple(services.objects.values()):
            try:
                await self._repair_service(cached.display_name)
            except ApiError:
                raise
            except Exception:
                self.service_queue.add(cached.display_name)  # where it fails again, for all to see
        self.address_queue.add(*(cached.name for cached in addresses.objects.values()))

    def stop(self) -> None:
        """Stop following services and addresses."""
        self._storage_resource("", "services").collection.listeners.pop(self._on_service_change, None)
        self._storage_resource(*IP_ADDRESSES).collection.listeners.pop(self._on_address_change, None)

    async def sync_service(self, new: ReadOnlyObject | None, old: ReadOnlyObject | None) -> None:
        """Create and delete addresses for a stored service; it was deleted if there is no new state."""
        held, before = _cluster_ips(new), _cluster_ips(old)
        for address in before:
            if address not in held:
                await self._delete(address)
        for address in held:
            if address not in before and new is not None:
                await self._create(address, new)

    def _storage_resource(self, group: str, plural: str) -> Resource:
        resource = self._registry.find_storage_resource(group, plural)
        assert resource is not None, f"every server has {plural}"
        return resource

    def _on_service_change(self, change: CacheChange) -> None:
        if change.type is not ChangeType.DELETED:
            self.service_queue.add(f"{change.object.namespace}/{change.object.name}")

    def _on_address_change(self, change: CacheChange) -> None:
        parent = _parent_ref(change.object.load())
        if change.type is not ChangeType.DELETED:
            self.address_queue.add(change.object.name)
        elif parent.get("resource") == "services":
            self.service_queue.add(f"{parent.get('namespace', '')}/{parent['name']}")

    def _load_service(self, namespace: str, name: str) -> Object | None:
        cached = self._storage_resource("", "services").get_cached(namespace, name)
        return None if cached is None else cached.load()

    async def _repair_service(self, key: str) -> None:
        """Create or replace IPAddresses that are missing or wrong for a service."""
        # differs: upstream notices a deleted IPAddress only with the next resync of its service.
        namespace, _, name = key.partition("/")
        service = self._load_service(namespace, name)
        for address in _cluster_ips(service):
            assert service is not None
            cached = self._storage_resource(*IP_ADDRESSES).get_cached("", address)
            present = None if cached is None else cached.load()
            if present is None:
                await self._create(address, service)
            elif self._is_wrong(present, service):
                # The parentRef is immutable, so a wrong object is replaced.
                await self._delete(address)
                await self._create(address, service)

    def _is_wrong(self, present: ReadOnlyObject, service: ReadOnlyObject) -> bool:
        """Return whether an IPAddress does not refer to the service, and to no other one that exists."""
        parent, wanted = _parent_ref(present), _make_parent_ref(service)
        if parent.get("group") or parent.get("resource") != "services":
            return True
        if parent != wanted:
            other = self._load_service(parent.get("namespace", ""), parent["name"])
            if other is None:
                return True
        return _labels(present) != {**_labels(present), **_wanted_labels(present["metadata"]["name"])}

    async def _delete_orphan(self, address: str) -> None:
        """Delete an IPAddress whose service is missing, or does not use it."""
        cached = self._storage_resource(*IP_ADDRESSES).get_cached("", address)
        present = None if cached is None else cached.load()
        if present is None or _labels(present).get(MANAGED_BY_LABEL) != ALLOCATOR:
            return
        parent = _parent_ref(present)
        of_service = not parent.get("group") and parent.get("resource") == "services"
        service = self._load_service(parent.get("namespace", ""), parent["name"]) if of_service else None
        if address in _cluster_ips(service):
            return
        clock = self._registry.dependencies.clock
        left = parse_time(present["metadata"]["creationTimestamp"]) + GRACE_PERIOD - clock.now()
        # Allocation creates the IPAddress before the service is stored, so a missing service may still follow.
        coming = of_service and (service is None or not allocation.needs_cluster_ip(service))
        if coming and left > timedelta():
            self.address_queue.add_after(address, left.total_seconds())
        else:
            await self._delete(address)

    async def _create(self, address: str, service: ReadOnlyObject) -> None:
        storage_resource = self._storage_resource(*IP_ADDRESSES)
        scope = RequestScope(APISERVER_USER, user_agent=FIELD_MANAGER)
        metadata = {"name": address, "labels": _wanted_labels(address)}
        obj = {"metadata": metadata, "spec": {"parentRef": _make_parent_ref(service)}}
        try:
            await creation.create(storage_resource, scope, storage_resource.decode(obj, scope, "Ignore"), _OPTIONS)
        except AlreadyExists:
            # Another server created it; this one must see it before it looks again.
            await self._registry.dependencies.watch_cache.wait_until_fresh()

    async def _delete(self, address: str) -> None:
        try:
            await deletion.delete(
                self._storage_resource(*IP_ADDRESSES), RequestScope(APISERVER_USER, name=address), DeleteOptions()
            )
        except NotFound:
            return


def _cluster_ips(service: ReadOnlyObject | None) -> list[str]:
    """Return the cluster IPs of a service in canonical form."""
    if service is None or not allocation.needs_cluster_ip(service):
        return []
    found = [parse_ip(ip) for ip in service["spec"].get("clusterIPs") or () if ip != "None"]
    return [str(ip) for ip in found if ip is not None]


def _wanted_labels(address: str) -> dict[str, str]:
    return {FAMILY_LABEL: "IPv6" if ":" in address else "IPv4", MANAGED_BY_LABEL: ALLOCATOR}


def _labels(obj: ReadOnlyObject) -> dict[str, str]:
    return dict(obj["metadata"].get("labels") or {})


def _parent_ref(obj: ReadOnlyObject) -> ReadOnlyObject:
    parent: ReadOnlyObject = obj["spec"]["parentRef"]
    return parent


def _make_parent_ref(service: ReadOnlyObject) -> Object:
    metadata = service["metadata"]
    return {"resource": "services", "namespace": metadata["namespace"], "name": metadata["name"]}
