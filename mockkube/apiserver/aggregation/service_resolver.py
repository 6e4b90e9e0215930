"""Resolve a service to one of its ready endpoints, or to its external name."""

# upstream 1.36: apiserver/pkg/util/proxy/proxy.go
from collections.abc import Iterator
from typing import Final

from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.apiserver.registry.registry import Registry
from mockkube.lazy_dataclasses import dataclass

# Label of an EndpointSlice with the name of its service.
SERVICE_NAME_LABEL: Final = "kubernetes.io/service-name"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Host and port of a server."""

    host: str
    port: int

    @property
    def url(self) -> str:
        """Base URL."""
        return f"https://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"


class NoEndpoint(Exception):
    """Service that cannot be resolved to an endpoint now."""


def find_service(registry: Registry, reference: ReadOnlyObject) -> Object | None:
    """Return the service of a reference; None if it does not exist."""
    services = registry.find_storage_resource("", "services")
    cached = None if services is None else services.get_cached(reference["namespace"], reference["name"])
    return None if cached is None else cached.load()


def find_endpoint_slices(registry: Registry, service: ReadOnlyObject) -> Iterator[Object]:
    """Yield the EndpointSlices of a service."""
    metadata, home = service["metadata"], registry.find_storage_resource("discovery.k8s.io", "endpointslices")
    assert home is not None, "every server has endpoint slices"
    for cached in home.collection.range(home.key(metadata["namespace"], "")):
        if cached.labels.get(SERVICE_NAME_LABEL) == metadata["name"]:
            yield cached.load()


def resolve_endpoint(registry: Registry, reference: ReadOnlyObject) -> Endpoint:
    """Return an endpoint of a service; raise NoEndpoint if there is none."""
    service = find_service(registry, reference)
    name, port = reference["name"], reference.get("port") or 443
    if service is None:
        raise NoEndpoint(f'service "{name}" not found')
    if service["spec"].get("type") == "ExternalName":
        return Endpoint(service["spec"]["externalName"], port)
    # differs: upstream connects to the cluster IP unless endpoint routing is enabled; nothing here routes cluster IPs
    found = find_port(service, port)
    if found is None:
        raise NoEndpoint(f'no service port {port} found for service "{name}"')
    for one in find_endpoint_slices(registry, service):
        number = _find_port_number(one, found.get("name", ""))
        address = next(_ready_addresses(one), None)
        if number is not None and address is not None:
            return Endpoint(address, number)
    raise NoEndpoint(f'no endpoints available for service "{name}"')


def find_port(service: ReadOnlyObject, number: int) -> ReadOnlyObject | None:
    """Return the service port of a number, None if there is none."""
    return next((port for port in service["spec"].get("ports") or () if port["port"] == number), None)


def has_ready_endpoint(endpoint_slice: ReadOnlyObject, port: str) -> bool:
    """Return whether a slice has a ready endpoint and a port of this name."""
    return (
        _find_port_number(endpoint_slice, port) is not None and next(_ready_addresses(endpoint_slice), None) is not None
    )


def _find_port_number(endpoint_slice: ReadOnlyObject, port: str) -> int | None:
    ports = endpoint_slice.get("ports") or ()
    return next((one.get("port") for one in ports if one.get("name", "") == port and one.get("port")), None)


def _ready_addresses(endpoint_slice: ReadOnlyObject) -> Iterator[str]:
    for endpoint in endpoint_slice.get("endpoints") or ():
        if (endpoint.get("conditions") or {}).get("ready", True):
            yield endpoint["addresses"][0]
