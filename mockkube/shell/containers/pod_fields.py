"""Fields and resources of a pod as the downward API shows them.

upstream 1.36: pkg/fieldpath/fieldpath.go, pkg/api/v1/resource/helpers.go
"""

import json
import re
from collections.abc import Callable, Mapping
from decimal import ROUND_CEILING
from typing import Final

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.quantities.quantity import parse
from mockkube.shell.machine.file_system import UNKNOWN

Lookup = Callable[[str, str, str], ReadOnlyObject | None]
"""Returns an object by kind, namespace and name; None if it does not exist."""
CLUSTER_DOMAIN: Final = "cluster.local"
_HOSTNAME_MAX: Final = 63
_SUBSCRIPT: Final = re.compile(r"metadata\.(labels|annotations)\['(.*)'\]$")
_FIELD_PATHS: Final = {
    "metadata.name": ("metadata", "name"),
    "metadata.namespace": ("metadata", "namespace"),
    "metadata.uid": ("metadata", "uid"),
    "spec.nodeName": ("spec", "nodeName"),
    "spec.serviceAccountName": ("spec", "serviceAccountName"),
    "status.hostIP": ("status", "hostIP"),
    "status.podIP": ("status", "podIP"),
}
_LIST_FIELDS: Final = {"status.hostIPs": "hostIPs", "status.podIPs": "podIPs"}
_MAP_FIELDS: Final = {"metadata.labels": "labels", "metadata.annotations": "annotations"}


def resolve_field(pod: ReadOnlyObject, path: str) -> str:
    """Return a field of the pod as text; unknown text if it has no value yet."""
    if (found := _SUBSCRIPT.match(path)) is not None:
        return str((pod["metadata"].get(found[1]) or {}).get(found[2], ""))
    if path in _MAP_FIELDS:
        return format_map(pod["metadata"].get(_MAP_FIELDS[path]) or {})
    if path in _LIST_FIELDS:
        listed = (pod.get("status") or {}).get(_LIST_FIELDS[path]) or ()
        return ",".join(one["ip"] for one in listed) or UNKNOWN
    if path not in _FIELD_PATHS:
        return UNKNOWN
    part, name = _FIELD_PATHS[path]
    return str((pod.get(part) or {}).get(name) or UNKNOWN)


def get_hostname(pod: ReadOnlyObject) -> str:
    """Return the short host name of a pod."""
    spec = pod["spec"]
    if spec.get("hostNetwork"):
        return str(spec.get("nodeName") or "")
    name = spec.get("hostnameOverride") or spec.get("hostname") or pod["metadata"]["name"]
    # A name is cut to 63 characters, the limit of Linux.
    return str(name)[:_HOSTNAME_MAX].rstrip("-.") if len(name) > _HOSTNAME_MAX else str(name)


def get_domain(pod: ReadOnlyObject) -> str:
    """Return the domain of a pod with a subdomain, else an empty text."""
    spec, namespace = pod["spec"], pod["metadata"]["namespace"]
    if spec.get("hostNetwork") or spec.get("hostnameOverride") or not spec.get("subdomain"):
        return ""
    return f"{spec['subdomain']}.{namespace}.svc.{CLUSTER_DOMAIN}"


def format_map(values: Mapping[str, str]) -> str:
    """Return labels or annotations as lines `key="value"`, sorted by key."""
    return "\n".join(f"{key}={json.dumps(values[key], ensure_ascii=False)}" for key in sorted(values))


def resolve_resource(
    pod: ReadOnlyObject,
    container: ReadOnlyObject,
    source: ReadOnlyObject,
    lookup: Lookup | None,
) -> str:
    """Return a resource of the container in units of the divisor, rounded up."""
    side, _, name = source["resource"].partition(".")
    spec = pod["spec"]
    every = (*spec["containers"], *(spec.get("initContainers") or ()))
    wanted = source.get("containerName") or container["name"]
    target = next((one for one in every if one["name"] == wanted), container)
    amount = ((target.get("resources") or {}).get(side) or {}).get(name)
    # upstream: without a limit the node's allocatable amount is the limit.
    if amount is None and side == "limits":
        node = None if lookup is None else lookup("Node", "", spec.get("nodeName", ""))
        amount = (((node or {}).get("status") or {}).get("allocatable") or {}).get(name)
        if amount is None:
            return UNKNOWN
    divisor = parse(str(source.get("divisor") or "1")).amount or parse("1").amount
    return str((parse(str(amount or "0")).amount / divisor).to_integral_value(ROUND_CEILING))
