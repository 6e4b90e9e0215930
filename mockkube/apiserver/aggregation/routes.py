"""Resolve a service to one of its ready endpoints, or to its external name."""

# upstream 1.36: apiserver/pkg/util/proxy/proxy.go
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from mockkube.api.types import Object, ReadOnlyObject
from mockkube.apiserver.registry.registry import Registry

# Label of an EndpointSlice with the name of its service.
SERVICE_NAME: Final = "kubernetes.io/service-name"


@dataclass(frozen=True, slots=True)
class Route:
    """Host and port of a server."""

    host: str
    port: int

    @property
    def url(self) -> str:
        """Base URL."""
        return f"https://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"


class NoRoute(Exception):
    """Service that cannot be resolved to an endpoint now."""


def service_of(registry: Registry, reference: ReadOnlyObject) -> Object | None:
    """Return the service of a reference; None if it does not exist."""
    services = registry.stored("", "services")
    record = None if services is None else services.record(reference["namespace"], reference["name"])
    return None if record is None else record.load()


def slices_of(registry: Registry, service: ReadOnlyObject) -> Iterator[Object]:
    """Yield the EndpointSlices of a service."""
    metadata, home = service["metadata"], registry.stored("discovery.k8s.io", "endpointslices")
    assert home is not None, "every server has endpoint slices"
    for record in home.collection.range(home.key(metadata["namespace"], "")):
        if record.labels.get(SERVICE_NAME) == metadata["name"]:
            yield record.load()


def route(registry: Registry, reference: ReadOnlyObject) -> Route:
    """Return an endpoint of a service; raise NoEndpoint if there is none."""
    service = service_of(registry, reference)
    name, port = reference["name"], reference.get("port") or 443
    if service is None:
        raise NoRoute(f'service "{name}" not found')
    if service["spec"].get("type") == "ExternalName":
        return Route(service["spec"]["externalName"], port)
    # differs: upstream connects to the cluster IP unless endpoint routing is enabled; nothing here routes cluster IPs
    found = port_of(service, port)
    if found is None:
        raise NoRoute(f'no service port {port} found for service "{name}"')
    for one in slices_of(registry, service):
        number = _number(one, found.get("name", ""))
        address = next(_ready(one), None)
        if number is not None and address is not None:
            return Route(address, number)
    raise NoRoute(f'no endpoints available for service "{name}"')


def port_of(service: ReadOnlyObject, number: int) -> ReadOnlyObject | None:
    """Return the service port of a number, None if there is none."""
    return next((port for port in service["spec"].get("ports") or () if port["port"] == number), None)


def answers(endpoint_slice: ReadOnlyObject, port: str) -> bool:
    """Return whether a slice has a ready endpoint and a port of this name."""
    return _number(endpoint_slice, port) is not None and next(_ready(endpoint_slice), None) is not None


def _number(endpoint_slice: ReadOnlyObject, port: str) -> int | None:
    ports = endpoint_slice.get("ports") or ()
    return next((one.get("port") for one in ports if one.get("name", "") == port and one.get("port")), None)


def _ready(endpoint_slice: ReadOnlyObject) -> Iterator[str]:
    for endpoint in endpoint_slice.get("endpoints") or ():
        if (endpoint.get("conditions") or {}).get("ready", True):
            yield endpoint["addresses"][0]
