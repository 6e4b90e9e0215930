"""Node status as the kubelet writes it: conditions, capacity, addresses, node info, images.

upstream 1.36: pkg/kubelet/kubelet_node_status.go, pkg/kubelet/nodestatus/setters.go
"""

import re
import uuid
import zlib
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.quantities.quantity import parse
from mockkube.api.times import render_time
from mockkube.features.versions import Version, binary_version
from mockkube.kubelet.containers.images import add_images
from mockkube.kubelet.nodes.node_rules import NodeRules, NodeStatusInput

KUBELET_ANNOTATION: Final = "mockkube.dev/kubelet"
NOT_READY_ANNOTATION: Final = "mockkube.dev/not-ready"
CAPACITY_ANNOTATION: Final = "mockkube.dev/capacity"
CPU: Final = "4"
MEMORY_KIBIBYTES: Final = 16 * 1024 * 1024
RESERVED_KIBIBYTES: Final = 100 * 1024
STORAGE_BYTES: Final = 100 * 1024**3
PODS: Final = "110"
POD_NETWORK: Final = 10 << 24 | 244 << 16  # 10.244.0.0/16 and on, a /24 for each node that `up` makes
FOREIGN_POD_NETWORK: Final = 10 << 24 | 128 << 16  # the same for nodes that others make
NODE_NETWORK: Final = 172 << 24 | 18 << 16 | 2  # 172.18.0.2 and on
FOREIGN_NODE_NETWORK: Final = 172 << 24 | 24 << 16 | 2
UID_SPACE: Final = uuid.UUID("6d6f636b-6b75-5be0-8000-000000000000")  # makes a machine's ids repeat with its name
_NUMBERS_MAX: Final = 1 << 14
_MINOR: Final = re.compile(r"v?(\d+\.\d+)\b")

_HEALTHY_CONDITIONS: Final = (
    ("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    ("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
)


def is_simulated(node: ReadOnlyObject) -> bool:
    """Return whether the node gets a simulated kubelet; the annotation `none` opts out."""
    annotations = node["metadata"].get("annotations") or {}
    return bool(annotations.get(KUBELET_ANNOTATION) != "none")


def build_node_status(name: str, *, version: Version, now: datetime, internal_address: str) -> Object:
    """Return the complete status of a node without one; `internal_address` is its InternalIP."""
    return {
        "addresses": [{"type": "InternalIP", "address": internal_address}, {"type": "Hostname", "address": name}],
        "capacity": _make_resources(MEMORY_KIBIBYTES, f"{STORAGE_BYTES // 1024}Ki"),
        # a kubelet keeps a tenth of the disk, and says so in bytes
        "allocatable": _make_resources(MEMORY_KIBIBYTES - RESERVED_KIBIBYTES, str(STORAGE_BYTES * 9 // 10)),
        "conditions": [_make_condition(*one, heartbeat=now, since=render_time(now)) for one in _HEALTHY_CONDITIONS],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
        "nodeInfo": make_node_info(name, version),
        **NodeRules.from_version(version).feature_status(),
    }


def make_node_labels(name: str) -> dict[str, str]:
    """Return the labels that every kubelet sets on its node."""
    return {
        "beta.kubernetes.io/arch": "amd64",
        "beta.kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
    }


def build_status_patch(node: ReadOnlyObject, status_input: NodeStatusInput) -> Object:
    """Return the changes of a node's status; fields set by others stay where the kubelet does not own them."""
    status = node.get("status") or {}
    patch = _build_feature_patch(status, status_input.rules)
    if conditions := _find_changed_conditions(node, status_input.now, renews_heartbeat=status_input.renews_heartbeat):
        patch["conditions"] = conditions
    if (images := add_images(status.get("images") or (), status_input.images)) is not None:
        patch["images"] = images
    info = status.get("nodeInfo") or {}
    # A node that never had a kubelet version gets it with the whole description below.
    if (shown := info.get("kubeletVersion")) and not _is_of_version(shown, status_input.rules.version):
        patch["nodeInfo"] = {"kubeletVersion": _format_kubelet_version(status_input.rules.version)}
    annotated = _parse_capacity_annotation(node)
    if annotated or not _is_described(status):
        patch |= _build_description_patch(node, status_input, annotated)
    return patch


def _is_described(status: ReadOnlyObject) -> bool:
    """Return whether the status has everything that a kubelet finds out about its machine."""
    port = (status.get("daemonEndpoints") or {}).get("kubeletEndpoint", {}).get("Port")
    has_resources = all(status.get(name) for name in ("capacity", "allocatable", "addresses"))
    return bool(has_resources and port and (status.get("nodeInfo") or {}).get("kubeletVersion"))


def _build_description_patch(
    node: ReadOnlyObject, status_input: NodeStatusInput, annotated_capacity: Mapping[str, str]
) -> Object:
    """Return missing descriptive fields, and the amounts of the capacity annotation."""
    name, status = node["metadata"]["name"], node.get("status") or {}
    internal = format_ipv4(FOREIGN_NODE_NETWORK + status_input.node_number)
    full_status = build_node_status(
        name, version=status_input.rules.version, now=status_input.now, internal_address=internal
    )
    patch: Object = {}
    capacity = {
        **(status.get("capacity") or status.get("allocatable") or full_status["capacity"]),
        **annotated_capacity,
    }
    if capacity != status.get("capacity"):
        patch["capacity"] = capacity
    # Tools often set only one of capacity and allocatable: the other one follows it.
    given = status.get("allocatable") or (status.get("capacity") and capacity) or full_status["allocatable"]
    if (allocatable := {**given, **annotated_capacity}) != status.get("allocatable"):
        patch["allocatable"] = allocatable
    if not status.get("addresses"):
        patch["addresses"] = full_status["addresses"]
    if not (status.get("nodeInfo") or {}).get("kubeletVersion"):
        patch["nodeInfo"] = full_status["nodeInfo"]
    if not (status.get("daemonEndpoints") or {}).get("kubeletEndpoint", {}).get("Port"):
        patch["daemonEndpoints"] = full_status["daemonEndpoints"]
    return patch


def _build_feature_patch(status: ReadOnlyObject, rules: NodeRules) -> Object:
    """Return changes of the feature fields; declaredFeatures of a newer kubelet are removed."""
    status_fields = rules.feature_status()
    # Those of an imported node are what its container runtime has, which the version does not decide.
    if status.get("runtimeHandlers"):
        status_fields.pop("runtimeHandlers", None)
    if "declaredFeatures" in status:
        status_fields.setdefault("declaredFeatures", None)
    return {name: value for name, value in status_fields.items() if status.get(name) != value}


def _parse_capacity_annotation(node: ReadOnlyObject) -> dict[str, str]:
    """Parse the capacity annotation, like `cpu=8,nvidia.com/gpu=2`; invalid quantities are ignored."""
    text = (node["metadata"].get("annotations") or {}).get(CAPACITY_ANNOTATION, "")
    pairs = (part.partition("=") for part in text.split(","))
    return {name.strip(): amount.strip() for name, _, amount in pairs if _is_quantity(amount.strip())}


def _is_quantity(text: str) -> bool:
    try:
        parse(text)
    except ValueError:
        return False
    return True


def _find_changed_conditions(node: ReadOnlyObject, now: datetime, *, renews_heartbeat: bool) -> list[Object]:
    """Return conditions that changed, or all of them if the heartbeat is due."""
    known: dict[str, ReadOnlyObject] = {one["type"]: one for one in (node.get("status") or {}).get("conditions") or ()}
    wanted = list(_HEALTHY_CONDITIONS)
    if why := (node["metadata"].get("annotations") or {}).get(NOT_READY_ANNOTATION):
        wanted[-1] = ("Ready", "False", "KubeletNotReady", why)
    changed = []
    for kind, status, reason, message in wanted:
        old: Mapping[str, Any] = known.get(kind, {})
        same = old.get("status") == status
        # Kubelets of other patch releases and configurations word a good state in other ways.
        is_good = (kind, status, reason, message) in _HEALTHY_CONDITIONS
        unchanged = same and (is_good or (old.get("reason"), old.get("message")) == (reason, message))
        if unchanged and not renews_heartbeat:
            continue
        if unchanged:
            reason, message = old.get("reason", reason), old.get("message", message)
        since = old.get("lastTransitionTime") if same else None
        changed.append(_make_condition(kind, status, reason, message, heartbeat=now, since=since or render_time(now)))
    return changed


def _make_condition(kind: str, status: str, reason: str, message: str, *, heartbeat: datetime, since: str) -> Object:
    return {
        "type": kind,
        "status": status,
        "lastHeartbeatTime": render_time(heartbeat),
        "lastTransitionTime": since,
        "reason": reason,
        "message": message,
    }


def _make_resources(memory_kibibytes: int, storage: str) -> dict[str, str]:
    return {
        "cpu": CPU,
        "ephemeral-storage": storage,
        "hugepages-1Gi": "0",
        "hugepages-2Mi": "0",
        "memory": f"{memory_kibibytes}Ki",
        "pods": PODS,
    }


def make_node_info(name: str, version: Version) -> Object:
    """Return a node's nodeInfo, the same for the same name and version."""
    return {
        "architecture": "amd64",
        "bootID": str(uuid.uuid5(UID_SPACE, f"boot/{name}")),
        "containerRuntimeVersion": "containerd://2.1.4",
        "kernelVersion": "6.8.0-mockkube",
        "kubeProxyVersion": "",
        "kubeletVersion": _format_kubelet_version(version),
        "machineID": uuid.uuid5(UID_SPACE, f"machine/{name}").hex,
        "operatingSystem": "linux",
        "osImage": "mockkube",
        "systemUUID": str(uuid.uuid5(UID_SPACE, f"system/{name}")),
    }


def _is_of_version(kubelet_version: str, version: Version) -> bool:
    """Return whether a kubelet's full version is a patch release of a version, whoever built it."""
    match = _MINOR.match(kubelet_version)
    return match is not None and match[1] == str(version)


def _format_kubelet_version(version: Version) -> str:
    return f"v{binary_version(version)}"


def format_ipv4(number: int) -> str:
    """Return a number as an IPv4 address."""
    return ".".join(str(number >> shift & 0xFF) for shift in (24, 16, 8, 0))


class NodeNumbers:
    """Numbers of nodes, from which their IPs follow; derived from names, so they mostly survive a restart."""

    def __init__(self) -> None:
        self._by_name: dict[str, int] = {}
        self._names: dict[int, str] = {}

    def get_number(self, name: str) -> int:
        """Return the number of a node: the first free one from its name's hash on."""
        place = self._by_name.get(name)
        if place is None:
            place = zlib.crc32(name.encode()) % _NUMBERS_MAX
            # When all numbers are taken, nodes share one: duplicate IPs do less harm than a node without any.
            for _ in range(_NUMBERS_MAX):
                if place not in self._names:
                    break
                place = (place + 1) % _NUMBERS_MAX
            self._by_name[name], self._names[place] = place, name
        return place

    def release(self, name: str) -> None:
        """Free the number of a deleted node."""
        if (place := self._by_name.pop(name, None)) is not None:
            self._names.pop(place, None)


def get_internal_ip(node: ReadOnlyObject, node_number: int) -> str:
    """Return the InternalIP of a node, derived from its number if the status has none."""
    for one in (node.get("status") or {}).get("addresses") or ():
        if one["type"] == "InternalIP":
            found: str = one["address"]
            return found
    return format_ipv4(FOREIGN_NODE_NETWORK + node_number)


def get_pod_network(node: ReadOnlyObject, node_number: int) -> str:
    """Return the first three numbers of the IPs of a node's pods."""
    cidr = (node.get("spec") or {}).get("podCIDR") or ""
    # An IPv6 pod CIDR is ignored: simulated pod IPs are IPv4 only.
    if cidr.count(".") == 3:
        return str(cidr.rpartition(".")[0])
    return format_ipv4(FOREIGN_POD_NETWORK + (node_number << 8)).rpartition(".")[0]
