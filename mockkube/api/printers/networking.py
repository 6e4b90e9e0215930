"""Printers for Ingresses, NetworkPolicies, IPAddresses and ServiceCIDRs."""

from datetime import datetime

from mockkube.api.printers.ages import age
from mockkube.api.printers.labels import format_selector
from mockkube.api.printers.lists import SHOWN_MAX
from mockkube.api.printers.reading import elements, name_of, section, sections, string, value_at
from mockkube.api.printers.services import balancer_addresses
from mockkube.api.printers.table import AGE, NAME, NONE, Cell, Printer, text_column
from mockkube.api.types import ReadOnlyObject

DEFAULT_CLASS = "ingressclass.kubernetes.io/is-default-class"


def ingress_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    """Return the table cells of an Ingress."""
    return [
        name_of(obj),
        string(obj, "spec", "ingressClassName", missing=NONE),
        _hosts(obj),
        ",".join(balancer_addresses(obj)),
        "80, 443" if elements(obj, "spec", "tls") else "80",
        age(obj, now),
    ]


def _hosts(obj: ReadOnlyObject) -> str:
    """Return the first hosts that fit, and how many more rules there are."""
    shown: list[str] = []
    rules = sections(obj, "spec", "rules")
    for rule in rules:
        if len(shown) == SHOWN_MAX:
            return f"{','.join(shown)} + {len(rules) - SHOWN_MAX} more..."
        if host := string(rule, "host"):
            shown.append(host)
    return ",".join(shown) or "*"


def ingress_class_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    """Return the table cells of an IngressClass."""
    is_default = value_at(obj, "metadata", "annotations", DEFAULT_CLASS) == "true"
    return [
        f"{name_of(obj)} (default)" if is_default else name_of(obj),
        string(obj, "spec", "controller"),
        _parameters(obj),
        age(obj, now),
    ]


def _parameters(obj: ReadOnlyObject) -> str:
    if value_at(obj, "spec", "parameters") is None:
        return NONE
    parameters = section(obj, "spec", "parameters")
    kind = string(parameters, "kind")
    if parameters.get("apiGroup") is not None:
        kind += f".{parameters['apiGroup']}"
    return f"{kind}/{string(parameters, 'name_of')}"


def network_policy_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    """Return the table cells of a NetworkPolicy."""
    return [name_of(obj), format_selector(section(obj, "spec", "podSelector")), age(obj, now)]


def service_cidr_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    """Return the table cells of a ServiceCIDR."""
    return [name_of(obj), ",".join(str(cidr) for cidr in elements(obj, "spec", "cidrs")), age(obj, now)]


def ip_address_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    """Return the table cells of an IPAddress, with an age that has no column, as upstream."""
    return [name_of(obj), _parent(obj), age(obj, now)]


def _parent(obj: ReadOnlyObject) -> str:
    if value_at(obj, "spec", "parentRef") is None:
        return NONE
    parent = section(obj, "spec", "parentRef")
    resource, group, namespace = string(parent, "resource"), string(parent, "group"), string(parent, "namespace")
    owner = (f"{resource}.{group}" if group else resource).lower()
    return "/".join([owner, *([namespace] if namespace else []), string(parent, "name")])


INGRESS = Printer(
    (
        NAME,
        text_column("Class", "The class that says who serves it."),
        text_column("Hosts", "The hosts its rules are for."),
        text_column("Address", "Where the load balancer can be reached."),
        text_column("Ports", "The ports it listens on."),
        AGE,
    ),
    ingress_cells,
)
INGRESS_CLASS = Printer(
    (
        NAME,
        text_column("Controller", "Who serves ingresses of this class."),
        text_column("Parameters", "An object with further settings."),
        AGE,
    ),
    ingress_class_cells,
)
NETWORK_POLICY = Printer((NAME, text_column("Pod-Selector", "The pods it is for."), AGE), network_policy_cells)
SERVICE_CIDR = Printer((NAME, text_column("CIDRs", "The ranges of addresses."), AGE), service_cidr_cells)
IP_ADDRESS = Printer((NAME, text_column("ParentRef", "The object the address belongs to.")), ip_address_cells)
