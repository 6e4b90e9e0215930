"""Printers for Services, Endpoints and EndpointSlices."""

from datetime import datetime

from mockkube.api.printers.ages import UNKNOWN, age
from mockkube.api.printers.labels import format_labels
from mockkube.api.printers.lists import shortened
from mockkube.api.printers.reading import elements, name_of, number, section, sections, string, value_at
from mockkube.api.printers.table import AGE, NAME, NONE, Cell, Printer, text_column, wide_column
from mockkube.api.types import ReadOnlyObject


def service_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    """Return the table cells of a Service."""
    cluster_ips = elements(obj, "spec", "clusterIPs")
    return [
        name_of(obj),
        string(obj, "spec", "type"),
        str(cluster_ips[0]) if cluster_ips else NONE,
        _external(obj),
        ",".join(_port(port) for port in sections(obj, "spec", "ports")) or NONE,
        age(obj, now),
        format_labels(section(obj, "spec", "selector")),
    ]


def balancer_addresses(obj: ReadOnlyObject) -> list[str]:
    """Return the distinct addresses of a load balancer, sorted."""
    ingress = sections(obj, "status", "loadBalancer", "ingress")
    return sorted({string(item, "ip") or string(item, "hostname") for item in ingress} - {""})


def _external(obj: ReadOnlyObject) -> str:
    external = [str(address) for address in elements(obj, "spec", "externalIPs")]
    match string(obj, "spec", "type"):
        case "ClusterIP" | "NodePort":
            return ",".join(external) or NONE
        case "LoadBalancer":
            return ",".join(balancer_addresses(obj) + external) or "<pending>"
        case "ExternalName":
            return string(obj, "spec", "externalName")
    return UNKNOWN


def _port(port: ReadOnlyObject) -> str:
    node_port = number(port, "nodePort")
    numbers = f"{number(port, 'port')}:{node_port}" if node_port > 0 else str(number(port, "port"))
    return f"{numbers}/{string(port, 'protocol')}"


def endpoints_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    """Return the table cells of Endpoints."""
    return [name_of(obj), _endpoints(obj), age(obj, now)]


def _endpoints(obj: ReadOnlyObject) -> str:
    """Return every address with every port of its subset; subsets without ports give bare addresses."""
    subsets = sections(obj, "subsets")
    found: list[str] = []
    for subset in subsets:
        addresses = [string(address, "ip") for address in sections(subset, "addresses")]
        ports = sections(subset, "ports")
        found += addresses if not ports else [_joined(ip, number(port, "port")) for port in ports for ip in addresses]
    return shortened(found, len(found), empty="" if subsets else NONE)


def _joined(ip: str, port: int) -> str:
    return f"[{ip}]:{port}" if ":" in ip else f"{ip}:{port}"


def endpoint_slice_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    """Return the table cells of an EndpointSlice."""
    ports = [_slice_port(port) for port in sections(obj, "ports")]
    addresses = [str(ip) for endpoint in sections(obj, "endpoints") for ip in elements(endpoint, "addresses")]
    return [
        name_of(obj),
        string(obj, "addressType"),
        shortened(ports, len(ports)),
        shortened(addresses, len(addresses)),
        age(obj, now),
    ]


def _slice_port(port: ReadOnlyObject) -> str:
    if value_at(port, "port") is not None:
        return str(number(port, "port"))
    return string(port, "name", missing="*")


SERVICE = Printer(
    (
        NAME,
        text_column("Type", "How the service is exposed."),
        text_column("Cluster-IP", "Its address inside the cluster."),
        text_column("External-IP", "Its addresses outside."),
        text_column("Port(s)", "Its ports, with those on the nodes."),
        AGE,
        wide_column("Selector", "The labels of the pods behind it."),
    ),
    service_cells,
)
ENDPOINTS = Printer((NAME, text_column("Endpoints", "The addresses behind the service."), AGE), endpoints_cells)
ENDPOINT_SLICE = Printer(
    (
        NAME,
        text_column("AddressType", "The family of the addresses."),
        text_column("Ports", "The ports of every endpoint."),
        text_column("Endpoints", "The addresses of the endpoints."),
        AGE,
    ),
    endpoint_slice_cells,
)
