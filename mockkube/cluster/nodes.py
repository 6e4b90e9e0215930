"""Register simulated nodes through the API, Ready from the start, with the status that a kubelet would write."""

from datetime import datetime
from typing import Final, Protocol

from mockkube.api.types import Object
from mockkube.features.versions import Version
from mockkube.kubelet.node_status import NODE_NETWORK, POD_NETWORK, address, full_status, node_labels

NOT_READY: Final = "node.kubernetes.io/not-ready"


class Registrar(Protocol):
    """Interface that writes objects through the API, with defaulting, admission and validation."""

    async def create_object(self, obj: Object) -> Object | None:
        """Create an object; return None and change nothing if its name exists."""
        ...

    async def update_object(self, obj: Object) -> Object:
        """Replace an existing object except its status."""
        ...

    async def update_status(self, obj: Object) -> Object:
        """Replace the status of an existing object."""
        ...


async def register(registrar: Registrar, count: int, *, version: Version, now: datetime) -> None:
    """Register `node-1` to `node-N`; existing nodes are left unchanged."""
    for index in range(1, count + 1):
        node = fake_node(index, version=version, now=now)
        created = await registrar.create_object(node)
        if created is not None:
            # Creation resets the status, so it is written by a second request.
            ready = await registrar.update_status({**created, "status": node["status"]})
            await _admit(registrar, ready)


async def _admit(registrar: Registrar, node: Object) -> None:
    """Remove the taint that admission gives a new node; upstream's node lifecycle controller does that."""
    remaining_taints = [taint for taint in node["spec"].get("taints", ()) if taint["key"] != NOT_READY]
    if len(remaining_taints) != len(node["spec"].get("taints", ())):
        await registrar.update_object({**node, "spec": {**node["spec"], "taints": remaining_taints}})


def fake_node(index: int, *, version: Version, now: datetime) -> Object:
    """Return the node of an index, the same for the same arguments."""
    name = f"node-{index}"
    pod_cidr = f"{address(POD_NETWORK + ((index - 1) << 8))}/24"
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": node_labels(name),
            "annotations": {"node.alpha.kubernetes.io/ttl": "0"},
        },
        "spec": {"podCIDR": pod_cidr, "podCIDRs": [pod_cidr], "providerID": f"mockkube://{name}"},
        "status": full_status(name, version=version, now=now, internal=address(NODE_NETWORK + index - 1)),
    }
