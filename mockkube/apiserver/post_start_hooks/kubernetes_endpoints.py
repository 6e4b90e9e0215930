"""Endpoints and endpoint slices of the service `kubernetes`: the API servers of the control plane that are alive."""

# upstream 1.36: pkg/controlplane/reconcilers/lease.go, endpointsadapter.go
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from ipaddress import ip_address
from typing import Final, Self
from urllib.parse import urlsplit

from mockkube_storage import errors as store_errors

from mockkube.api.errors import AlreadyExists, ApiError, NotFound
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.apiserver.registry import creation, deletion, updating
from mockkube.apiserver.registry.bootstrap import APISERVER_USER, FIELD_MANAGER
from mockkube.apiserver.registry.options import DeleteOptions, WriteOptions
from mockkube.apiserver.registry.registry import Registry
from mockkube.apiserver.registry.resource import RequestScope, Resource
from mockkube.lazy_dataclasses import dataclass

RECONCILE_SECONDS: Final = 10.0
NAMESPACE: Final = "default"
SERVICE: Final = "kubernetes"
_SKIP_MIRROR: Final = {"endpointslice.kubernetes.io/skip-mirror": "true"}
_SERVICE_LABEL: Final = "kubernetes.io/service-name"
_OPTIONS: Final = WriteOptions(field_manager=FIELD_MANAGER)
_LOG: Final = logging.getLogger("mockkube.apiserver")


@dataclass(frozen=True, slots=True, order=True)
class ServerAddress:
    """Address and port at which clients reach an API server."""

    address: str
    port: int

    @classmethod
    def from_url(cls, url: str) -> Self:
        """Return the address and port of a URL."""
        parts = urlsplit(url)
        assert parts.hostname is not None
        assert parts.port is not None
        return cls(parts.hostname, parts.port)


FindServers = Callable[[], Awaitable[Iterable[ServerAddress]]]


class KubernetesEndpointsController:
    """Controller of the endpoints of the service `kubernetes`."""

    def __init__(self, registry: Registry, find_servers: FindServers) -> None:
        self._registry = registry
        self._find_servers = find_servers

    async def run(self) -> None:
        """Reconcile periodically until cancelled."""
        while True:
            try:
                await self.reconcile()
            except (ApiError, store_errors.StoreError) as error:
                _LOG.warning("endpoints of the service kubernetes: %s", error)
            await self._registry.dependencies.clock.sleep(RECONCILE_SECONDS)

    async def reconcile(self) -> None:
        """List the live servers in the endpoints; without an address that endpoints may have, nothing changes."""
        servers: dict[int, list[str]] = {}
        for server in sorted(set(await self._find_servers())):
            # Endpoints may not name a loopback address.
            if not ip_address(server.address).is_loopback:
                servers.setdefault(server.port, []).append(server.address)
        if not servers:
            return
        await self._registry.dependencies.watch_cache.wait_until_fresh()
        subsets = [_make_subset(port, addresses) for port, addresses in servers.items()]
        await self._apply("v1", "Endpoints", SERVICE, {"subsets": subsets}, _SKIP_MIRROR)
        await self._apply_slices(servers)

    async def _apply_slices(self, servers: Mapping[int, list[str]]) -> None:
        """Write a slice for each port, and delete those of other ports."""
        # differs: upstream's servers all have one port, and so one slice.
        wanted = {
            SERVICE if index == 0 else f"{SERVICE}-{port}": _make_slice(port, addresses)
            for index, (port, addresses) in enumerate(sorted(servers.items()))
        }
        labels = {_SERVICE_LABEL: SERVICE}
        for name, content in wanted.items():
            await self._apply("discovery.k8s.io/v1", "EndpointSlice", name, content, labels)
        slices = self._get_resource("discovery.k8s.io/v1", "EndpointSlice")
        for cached in tuple(slices.collection.range(slices.prefix(NAMESPACE))):
            own = cached.labels.get(_SERVICE_LABEL) == SERVICE and cached.name.startswith(f"{SERVICE}-")
            if own and cached.name not in wanted:
                await self._delete(slices, cached.name)

    async def _apply(
        self, api_version: str, kind: str, name: str, content: ReadOnlyObject, labels: Mapping[str, str]
    ) -> None:
        """Create or update an object whose content is not as wanted."""
        resource = self._get_resource(api_version, kind)
        scope = RequestScope(APISERVER_USER, NAMESPACE, name, user_agent=FIELD_MANAGER)
        cached = resource.get_cached(NAMESPACE, name)
        present = None if cached is None else cached.load()
        if present is not None and "addressType" in content and present["addressType"] != content["addressType"]:
            await self._delete(resource, name)  # the type is immutable
            present = None
        if present is None:
            obj = {"metadata": {"name": name, "namespace": NAMESPACE, "labels": dict(labels)}, **content}
            try:
                await creation.create(resource, scope, resource.decode(obj, scope, "Ignore"), _OPTIONS)
            except AlreadyExists:
                return  # another server was faster
        elif not _has_content(present, content, labels):
            await updating.update(resource, scope, lambda obj: _with_content(obj, content, labels), _OPTIONS)

    async def _delete(self, resource: Resource, name: str) -> None:
        scope = RequestScope(APISERVER_USER, NAMESPACE, name, user_agent=FIELD_MANAGER)
        try:
            await deletion.delete(resource, scope, DeleteOptions())
        except NotFound:
            return

    def _get_resource(self, api_version: str, kind: str) -> Resource:
        resource = self._registry.find_by_kind(api_version, kind)
        assert resource is not None, f"every server has {kind}"
        return resource


def _make_subset(port: int, addresses: Iterable[str]) -> Object:
    return {"addresses": [{"ip": address} for address in addresses], "ports": [_make_port(port)]}


def _make_slice(port: int, addresses: list[str]) -> Object:
    is_ipv6 = all(":" in address for address in addresses)
    endpoints = [
        {"addresses": [address], "conditions": {"ready": True}} for address in addresses if (":" in address) == is_ipv6
    ]
    return {"addressType": "IPv6" if is_ipv6 else "IPv4", "endpoints": endpoints, "ports": [_make_port(port)]}


def _make_port(port: int) -> Object:
    return {"name": "https", "port": port, "protocol": "TCP"}


def _has_content(obj: ReadOnlyObject, content: ReadOnlyObject, labels: Mapping[str, str]) -> bool:
    found = obj["metadata"].get("labels") or {}
    return {**found, **labels} == found and all(obj.get(name) == value for name, value in content.items())


def _with_content(obj: Object, content: ReadOnlyObject, labels: Mapping[str, str]) -> Object:
    metadata = {**obj["metadata"], "labels": {**(obj["metadata"].get("labels") or {}), **labels}}
    return {**obj, **content, "metadata": metadata}
