"""Nodes nobody has to run: registered through the API, Ready from the start, as a kubelet would describe them."""

import uuid
from datetime import datetime
from typing import Final, Protocol

from mockkube.api.types import Object
from mockkube.features.versions import Version, binary_text

CPU: Final = "4"
MEMORY_KIBIBYTES: Final = 16 * 1024 * 1024
RESERVED_KIBIBYTES: Final = 100 * 1024
STORAGE_BYTES: Final = 100 * 1024**3
PODS: Final = "110"
POD_NETWORK: Final = 10 << 24 | 244 << 16  # 10.244.0.0/16 and on, a /24 for each node
NODE_NETWORK: Final = 172 << 24 | 18 << 16 | 2  # 172.18.0.2 and on
NOT_READY: Final = "node.kubernetes.io/not-ready"
UID_SPACE: Final = uuid.UUID("6d6f636b-6b75-5be0-8000-000000000000")  # makes a machine's ids repeat with its name

_CONDITIONS: Final = (
    ("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    ("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
)


class Registrar(Protocol):
    """Whoever takes objects into the cluster, with everything that happens to objects on their way in."""

    async def create_object(self, obj: Object) -> Object | None:
        """Create the object; None, and nothing changes, if one of its name exists."""
        ...

    async def update_object(self, obj: Object) -> Object:
        """Replace an object that exists, all but its status."""
        ...

    async def update_status(self, obj: Object) -> Object:
        """Replace the status of an object that exists."""
        ...


async def register(registrar: Registrar, count: int, *, version: Version, now: datetime) -> None:
    """Register `node-1` to `node-N`, Ready; those that exist already stay as they are."""
    for index in range(1, count + 1):
        node = fake_node(index, version=version, now=now)
        created = await registrar.create_object(node)
        if created is not None:
            ready = await registrar.update_status({**created, "status": node["status"]})
            await _admit(registrar, ready)


async def _admit(registrar: Registrar, node: Object) -> None:
    """Lift the taint that admission gives a new node: upstream the node lifecycle controller does, once it is Ready."""
    taints = [taint for taint in node["spec"].get("taints", ()) if taint["key"] != NOT_READY]
    if len(taints) != len(node["spec"].get("taints", ())):
        await registrar.update_object({**node, "spec": {**node["spec"], "taints": taints}})


def fake_node(index: int, *, version: Version, now: datetime) -> Object:
    """Return the node of an index, the same for the same arguments."""
    name = f"node-{index}"
    pod_cidr = f"{_address(POD_NETWORK + ((index - 1) << 8))}/24"
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {
                "beta.kubernetes.io/arch": "amd64",
                "beta.kubernetes.io/os": "linux",
                "kubernetes.io/arch": "amd64",
                "kubernetes.io/hostname": name,
                "kubernetes.io/os": "linux",
            },
            "annotations": {"node.alpha.kubernetes.io/ttl": "0"},
        },
        "spec": {"podCIDR": pod_cidr, "podCIDRs": [pod_cidr], "providerID": f"mockkube://{name}"},
        "status": _status(name, index, version=version, now=now),
    }


def _status(name: str, index: int, *, version: Version, now: datetime) -> Object:
    return {
        "addresses": [
            {"type": "InternalIP", "address": _address(NODE_NETWORK + index - 1)},
            {"type": "Hostname", "address": name},
        ],
        "capacity": _resources(MEMORY_KIBIBYTES, f"{STORAGE_BYTES // 1024}Ki"),
        # a kubelet keeps a tenth of the disk, and says so in bytes
        "allocatable": _resources(MEMORY_KIBIBYTES - RESERVED_KIBIBYTES, str(STORAGE_BYTES * 9 // 10)),
        "conditions": [_condition(*condition, now=now) for condition in _CONDITIONS],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
        "nodeInfo": _node_info(name, version),
    }


def _resources(memory_kibibytes: int, storage: str) -> dict[str, str]:
    return {
        "cpu": CPU,
        "ephemeral-storage": storage,
        "hugepages-1Gi": "0",
        "hugepages-2Mi": "0",
        "memory": f"{memory_kibibytes}Ki",
        "pods": PODS,
    }


def _condition(kind: str, status: str, reason: str, message: str, *, now: datetime) -> dict[str, str]:
    time = now.strftime("%Y-%m-%dT%H:%M:%SZ")
    return {
        "type": kind,
        "status": status,
        "lastHeartbeatTime": time,
        "lastTransitionTime": time,
        "reason": reason,
        "message": message,
    }


def _node_info(name: str, version: Version) -> dict[str, str]:
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


def _address(number: int) -> str:
    return ".".join(str(number >> shift & 0xFF) for shift in (24, 16, 8, 0))
