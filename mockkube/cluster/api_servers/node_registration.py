"""Register simulated nodes through the API, Ready from the start, with the status that a kubelet would write."""

from datetime import datetime
from typing import Final

from mockkube.api.json_objects import Object
from mockkube.cluster.api_servers.object_writer import ObjectWriter
from mockkube.features.versions import Version
from mockkube.kubelet.nodes.node_status import (
    NODE_NETWORK,
    POD_NETWORK,
    build_node_status,
    format_ipv4,
    make_node_labels,
)

NOT_READY_TAINT: Final = "node.kubernetes.io/not-ready"


async def register_nodes(writer: ObjectWriter, count: int, *, version: Version, now: datetime) -> None:
    """Register `node-1` to `node-N`; existing nodes are left unchanged."""
    for index in range(1, count + 1):
        node = make_node(index, version=version, now=now)
        created = await writer.create_object(node)
        if created is not None:
            # Creation resets the status, so it is written by a second request.
            ready = await writer.update_status({**created, "status": node["status"]})
            await _remove_not_ready_taint(writer, ready)


async def _remove_not_ready_taint(writer: ObjectWriter, node: Object) -> None:
    """Remove the taint that admission gives a new node; upstream's node lifecycle controller does that."""
    remaining_taints = [taint for taint in node["spec"].get("taints", ()) if taint["key"] != NOT_READY_TAINT]
    if len(remaining_taints) != len(node["spec"].get("taints", ())):
        await writer.update_object({**node, "spec": {**node["spec"], "taints": remaining_taints}})


def make_node(index: int, *, version: Version, now: datetime) -> Object:
    """Return the node of an index, the same for the same arguments."""
    name = f"node-{index}"
    pod_cidr = f"{format_ipv4(POD_NETWORK + ((index - 1) << 8))}/24"
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": make_node_labels(name),
            "annotations": {"node.alpha.kubernetes.io/ttl": "0"},
        },
        "spec": {"podCIDR": pod_cidr, "podCIDRs": [pod_cidr], "providerID": f"mockkube://{name}"},
        "status": build_node_status(
            name, version=version, now=now, internal_address=format_ipv4(NODE_NETWORK + index - 1)
        ),
    }
