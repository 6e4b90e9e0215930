"""Environment variables about Services.

upstream 1.36: pkg/kubelet/envvars/envvars.go, pkg/kubelet/kubelet_pods.go (getServiceEnvVarMap)
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Final

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.times import parse_time

MASTER_NAMESPACE: Final = "default"
_MASTER_SERVICES: Final = ("kubernetes",)


def build_service_variables(
    pod: ReadOnlyObject, services: Iterable[ReadOnlyObject], before: datetime | None
) -> dict[str, str]:
    """Return the variables for Services that a container of the pod finds, if it starts at the given time."""
    namespace = pod["metadata"]["namespace"]
    linked = pod["spec"].get("enableServiceLinks", True)
    chosen: dict[str, ReadOnlyObject] = {}
    for service in services:
        metadata = service["metadata"]
        created = metadata.get("creationTimestamp")
        if not _has_ip(service) or (before and created and parse_time(created) > before):
            continue
        if metadata["namespace"] == MASTER_NAMESPACE and metadata["name"] in _MASTER_SERVICES:
            chosen.setdefault(metadata["name"], service)
        elif metadata["namespace"] == namespace and linked:
            chosen[metadata["name"]] = service
    variables: dict[str, str] = {}
    # Upstream's order is random, that of a map.
    for name in sorted(chosen):
        variables |= _variables_of(chosen[name])
    return variables


def _has_ip(service: ReadOnlyObject) -> bool:
    spec = service["spec"]
    return spec.get("clusterIP") not in (None, "", "None") and spec.get("type") != "ExternalName"


def _variable_name(name: str) -> str:
    return name.replace("-", "_").upper()


def _variables_of(service: ReadOnlyObject) -> dict[str, str]:
    prefix, spec = _variable_name(service["metadata"]["name"]), service["spec"]
    address, ports = spec["clusterIP"], spec.get("ports") or ()
    variables = {f"{prefix}_SERVICE_HOST": address}
    if not ports:
        return variables
    variables[f"{prefix}_SERVICE_PORT"] = str(ports[0]["port"])
    for port in ports:
        if name := port.get("name"):
            variables[f"{prefix}_SERVICE_PORT_{_variable_name(name)}"] = str(port["port"])
    host = f"[{address}]" if ":" in address else address
    for index, port in enumerate(ports):
        protocol = port.get("protocol") or "TCP"
        url = f"{protocol.lower()}://{host}:{port['port']}"
        if index == 0:
            variables[f"{prefix}_PORT"] = url
        one = f"{prefix}_PORT_{port['port']}_{protocol.upper()}"
        variables |= {
            one: url,
            f"{one}_PROTO": protocol.lower(),
            f"{one}_PORT": str(port["port"]),
            f"{one}_ADDR": address,
        }
    return variables
