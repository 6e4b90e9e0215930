"""Printer columns of Service."""

from datetime import datetime

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.kinds.core.service.addresses import load_balancer_addresses
from mockkube.api.printers.accessors import elements, name_of, number, section, sections, string
from mockkube.api.printers.ages import UNKNOWN, format_age
from mockkube.api.printers.labels import format_labels
from mockkube.api.printers.table import AGE_COLUMN, NAME_COLUMN, NONE, Cell, Printer, text_column, wide_column


def service_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    """Return the table cells of a Service."""
    cluster_ips = elements(obj, "spec", "clusterIPs")
    return [
        name_of(obj),
        string(obj, "spec", "type"),
        str(cluster_ips[0]) if cluster_ips else NONE,
        _format_external_ips(obj),
        ",".join(_format_port(port) for port in sections(obj, "spec", "ports")) or NONE,
        format_age(obj, now),
        format_labels(section(obj, "spec", "selector")),
    ]


def _format_external_ips(obj: ReadOnlyObject) -> str:
    external = [str(address) for address in elements(obj, "spec", "externalIPs")]
    match string(obj, "spec", "type"):
        case "ClusterIP" | "NodePort":
            return ",".join(external) or NONE
        case "LoadBalancer":
            return ",".join(load_balancer_addresses(obj) + external) or "<pending>"
        case "ExternalName":
            return string(obj, "spec", "externalName")
    return UNKNOWN


def _format_port(port: ReadOnlyObject) -> str:
    node_port = number(port, "nodePort")
    numbers = f"{number(port, 'port')}:{node_port}" if node_port > 0 else str(number(port, "port"))
    return f"{numbers}/{string(port, 'protocol')}"


SERVICE = Printer(
    (
        NAME_COLUMN,
        text_column("Type", "How the service is exposed."),
        text_column("Cluster-IP", "Address inside the cluster."),
        text_column("External-IP", "External addresses."),
        text_column("Port(s)", "Ports, with their node ports."),
        AGE_COLUMN,
        wide_column("Selector", "Selector of the pods."),
    ),
    service_cells,
)
