"""Where a service leads: to one of its endpoints, or to the host its external name says."""

# upstream 1.36: apiserver/pkg/util/proxy/proxy.go
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from mockkube.api.types import Object, ReadOnlyObject
from mockkube.apiserver.registry.registry import Registry

SERVICE_NAME: Final = "kubernetes.io/service-name"
"""The label by which a slice says whose it is."""


@dataclass(frozen=True, slots=True)
class Route:
    """Where to connect to."""

    host: str
    port: int

    @property
    def url(self) -> str:
        """The beginning of a URL there."""
        return f"https://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"


class NoRoute(Exception):
    """A service leads nowhere at the moment."""


def service_of(registry: Registry, reference: ReadOnlyObject) -> Object | None:
    """Return the service that a reference names; None if there is none."""
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
    """Return where a service leads; NoRoute if it does not."""
    service = service_of(registry, reference)
    name, port = reference["name"], reference.get("port") or 443
    if service is None:
        raise NoRoute(f'service "{name}" not found')
    if service["spec"].get("type") == "ExternalName":
        return Route(service["spec"]["externalName"], port)
    # differs: upstream connects to the cluster IP unless it is told to route to endpoints; nothing routes those here
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
    """Return the port of a service with a number."""
    return next((port for port in service["spec"].get("ports") or () if port["port"] == number), None)


def answers(endpoint_slice: ReadOnlyObject, port: str) -> bool:
    """Whether something is ready in a slice, and has a port of this name."""
    return _number(endpoint_slice, port) is not None and next(_ready(endpoint_slice), None) is not None


def _number(endpoint_slice: ReadOnlyObject, port: str) -> int | None:
    ports = endpoint_slice.get("ports") or ()
    return next((one.get("port") for one in ports if one.get("name", "") == port and one.get("port")), None)


def _ready(endpoint_slice: ReadOnlyObject) -> Iterator[str]:
    for endpoint in endpoint_slice.get("endpoints") or ():
        if (endpoint.get("conditions") or {}).get("ready", True):
            yield endpoint["addresses"][0]
