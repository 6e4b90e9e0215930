"""What a kubelet says of its node: conditions, capacity, addresses, what it runs on.

upstream 1.36: pkg/kubelet/kubelet_node_status.go, pkg/kubelet/nodestatus/setters.go
"""

import uuid
import zlib
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from mockkube.api.quantity import parse
from mockkube.api.times import render_time
from mockkube.api.types import Object, ReadOnlyObject
from mockkube.features.versions import Version, binary_text

KUBELET_ANNOTATION: Final = "mockkube.dev/kubelet"
NOT_READY_ANNOTATION: Final = "mockkube.dev/not-ready"
CAPACITY_ANNOTATION: Final = "mockkube.dev/capacity"
CPU: Final = "4"
MEMORY_KIBIBYTES: Final = 16 * 1024 * 1024
RESERVED_KIBIBYTES: Final = 100 * 1024
STORAGE_BYTES: Final = 100 * 1024**3
PODS: Final = "110"
POD_NETWORK: Final = 10 << 24 | 244 << 16  # 10.244.0.0/16 and on, a /24 for each node
NODE_NETWORK: Final = 172 << 24 | 18 << 16 | 2  # 172.18.0.2 and on
UID_SPACE: Final = uuid.UUID("6d6f636b-6b75-5be0-8000-000000000000")  # makes a machine's ids repeat with its name
_NETWORKS: Final = 1 << 14

_GOOD: Final = (
    ("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    ("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
)


def is_simulated(node: ReadOnlyObject) -> bool:
    """Whether the node wants a simulated kubelet; it is left alone if it says so."""
    annotations = node["metadata"].get("annotations") or {}
    return bool(annotations.get(KUBELET_ANNOTATION) != "none")


def full_status(name: str, index: int, *, version: Version, now: datetime) -> Object:
    """Return the whole status of a node nobody has described; `index` counts from 1 and gives its address."""
    return {
        "addresses": _addresses(name, address(NODE_NETWORK + index - 1)),
        "capacity": _resources(MEMORY_KIBIBYTES, f"{STORAGE_BYTES // 1024}Ki"),
        # a kubelet keeps a tenth of the disk, and says so in bytes
        "allocatable": _resources(MEMORY_KIBIBYTES - RESERVED_KIBIBYTES, str(STORAGE_BYTES * 9 // 10)),
        "conditions": [_condition(*one, beat=now, since=render_time(now)) for one in _GOOD],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
        "nodeInfo": node_info(name, version),
    }


def node_labels(name: str) -> dict[str, str]:
    """Return the labels every kubelet gives its node."""
    return {
        "beta.kubernetes.io/arch": "amd64",
        "beta.kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
    }


def status_patch(node: ReadOnlyObject, *, version: Version, now: datetime, beat: bool) -> Object:
    """Return what the kubelet changes in the status of its node: nothing that somebody else said and it need not say.

    With `beat` the conditions are told again though nothing has changed.
    """
    name, status = node["metadata"]["name"], node.get("status") or {}
    whole = full_status(name, network_index(node), version=version, now=now)
    patch: Object = {}
    if conditions := _conditions(node, now, beat=beat):
        patch["conditions"] = conditions
    capacity = dict(status.get("capacity") or status.get("allocatable") or whole["capacity"]) | _annotated(node)
    if capacity != status.get("capacity"):
        patch["capacity"] = capacity
    given = status.get("allocatable") or (status.get("capacity") and capacity) or whole["allocatable"]
    if (allocatable := dict(given) | _annotated(node)) != status.get("allocatable"):
        patch["allocatable"] = allocatable
    if not status.get("addresses"):
        patch["addresses"] = whole["addresses"]
    info = status.get("nodeInfo") or {}
    if not info.get("kubeletVersion"):
        patch["nodeInfo"] = whole["nodeInfo"]
    elif info["kubeletVersion"] != whole["nodeInfo"]["kubeletVersion"]:
        patch["nodeInfo"] = {"kubeletVersion": whole["nodeInfo"]["kubeletVersion"]}
    if not (status.get("daemonEndpoints") or {}).get("kubeletEndpoint", {}).get("Port"):
        patch["daemonEndpoints"] = whole["daemonEndpoints"]
    return patch


def _annotated(node: ReadOnlyObject) -> dict[str, str]:
    """Return the capacity that the node's annotation asks for, `cpu=8,nvidia.com/gpu=2`; what is no quantity is not."""
    text = (node["metadata"].get("annotations") or {}).get(CAPACITY_ANNOTATION, "")
    pairs = (part.partition("=") for part in text.split(","))
    return {name.strip(): amount.strip() for name, _, amount in pairs if _is_quantity(amount.strip())}


def _is_quantity(text: str) -> bool:
    try:
        parse(text)
    except ValueError:
        return False
    return True


def _conditions(node: ReadOnlyObject, now: datetime, *, beat: bool) -> list[Object]:
    known: dict[str, ReadOnlyObject] = {one["type"]: one for one in (node.get("status") or {}).get("conditions") or ()}
    wanted = list(_GOOD)
    if why := (node["metadata"].get("annotations") or {}).get(NOT_READY_ANNOTATION):
        wanted[-1] = ("Ready", "False", "KubeletNotReady", why)
    changed = []
    for kind, status, reason, message in wanted:
        old: Mapping[str, Any] = known.get(kind, {})
        same = old.get("status") == status
        told = same and (old.get("reason"), old.get("message")) == (reason, message)
        if told and not beat:
            continue
        since = old.get("lastTransitionTime") if same else None
        changed.append(_condition(kind, status, reason, message, beat=now, since=since or render_time(now)))
    return changed


def _condition(kind: str, status: str, reason: str, message: str, *, beat: datetime, since: str) -> Object:
    return {
        "type": kind,
        "status": status,
        "lastHeartbeatTime": render_time(beat),
        "lastTransitionTime": since,
        "reason": reason,
        "message": message,
    }


def _addresses(name: str, internal: str) -> list[Object]:
    return [{"type": "InternalIP", "address": internal}, {"type": "Hostname", "address": name}]


def _resources(memory_kibibytes: int, storage: str) -> dict[str, str]:
    return {
        "cpu": CPU,
        "ephemeral-storage": storage,
        "hugepages-1Gi": "0",
        "hugepages-2Mi": "0",
        "memory": f"{memory_kibibytes}Ki",
        "pods": PODS,
    }


def node_info(name: str, version: Version) -> Object:
    """Return what a node runs on, the same for the same name and version."""
    return {
        "architecture": "amd64",
        "bootID": str(uuid.uuid5(UID_SPACE, f"boot/{name}")),
        "containerRuntimeVersion": "containerd://2.1.4",
        "kernelVersion": "6.8.0-mockkube",
        "kubeProxyVersion": "",
        "kubeletVersion": f"v{binary_text(version)}",
        "machineID": uuid.uuid5(UID_SPACE, f"machine/{name}").hex,
        "operatingSystem": "linux",
        "osImage": "mockkube",
        "systemUUID": str(uuid.uuid5(UID_SPACE, f"system/{name}")),
    }


def network_index(node: ReadOnlyObject) -> int:
    """Return a number for addresses: it follows from the node's name, so that it is the same after a restart."""
    return zlib.crc32(node["metadata"]["name"].encode()) % _NETWORKS + 1


def address(number: int) -> str:
    """Return a number as an IPv4 address."""
    return ".".join(str(number >> shift & 0xFF) for shift in (24, 16, 8, 0))


def internal_ip(node: ReadOnlyObject) -> str:
    """Return the address of a node."""
    for one in (node.get("status") or {}).get("addresses") or ():
        if one["type"] == "InternalIP":
            found: str = one["address"]
            return found
    return address(NODE_NETWORK + network_index(node) - 1)


def pod_network(node: ReadOnlyObject) -> str:
    """Return the first three numbers of the addresses of the node's pods."""
    cidr = (node.get("spec") or {}).get("podCIDR") or ""
    if cidr.count(".") == 3:
        return str(cidr.rpartition(".")[0])
    return address(POD_NETWORK + (network_index(node) << 8)).rpartition(".")[0]
