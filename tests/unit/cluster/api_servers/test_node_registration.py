"""Nodes that nobody runs look like those a kubelet registers."""

from datetime import UTC, datetime
from typing import Any

from mockkube.cluster.api_servers.node_registration import make_node, register_nodes
from mockkube.features.versions import Version

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
VERSION = Version(1, 35)
TAINT = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
Object = dict[str, Any]


class Register:
    """Takes nodes, except those that exist."""

    def __init__(self, existing: str = "") -> None:
        self.existing = existing
        self.nodes: dict[str, Object] = {}

    async def create_object(self, obj: Object) -> Object | None:
        name = obj["metadata"]["name"]
        if name == self.existing:
            return None
        spec = obj["spec"] | {"taints": [TAINT, {"key": "mine", "effect": "NoSchedule"}]}
        self.nodes[name] = obj | {"status": {}, "spec": spec, "metadata": obj["metadata"] | {"uid": f"uid of {name}"}}
        return self.nodes[name]

    async def update_object(self, obj: Object) -> Object:
        name = obj["metadata"]["name"]
        assert self.nodes[name]["status"]["conditions"], "a node is Ready before its taint goes"
        self.nodes[name] = self.nodes[name] | {"spec": obj["spec"]}
        return self.nodes[name]

    async def update_status(self, obj: Object) -> Object:
        name = obj["metadata"]["name"]
        assert obj["metadata"]["uid"] == f"uid of {name}"
        self.nodes[name] = self.nodes[name] | {"status": obj["status"]}
        return self.nodes[name]


async def test_registered_nodes_are_ready() -> None:
    registrar = Register()
    await register_nodes(registrar, 2, version=VERSION, now=NOW)
    for node in registrar.nodes.values():
        ready = {condition["type"]: condition["status"] for condition in node["status"]["conditions"]}
        assert ready == {"MemoryPressure": "False", "DiskPressure": "False", "PIDPressure": "False", "Ready": "True"}


async def test_registered_nodes_lose_the_taint_of_those_that_are_not_ready_and_no_other() -> None:
    registrar = Register()
    await register_nodes(registrar, 1, version=VERSION, now=NOW)
    assert [taint["key"] for taint in registrar.nodes["node-1"]["spec"]["taints"]] == ["mine"]


async def test_a_node_that_exists_stays_as_it_is() -> None:
    registrar = Register(existing="node-1")
    await register_nodes(registrar, 2, version=VERSION, now=NOW)
    assert list(registrar.nodes) == ["node-2"]


def test_nodes_differ_where_machines_do() -> None:
    nodes = [make_node(index, version=VERSION, now=NOW) for index in range(1, 1001)]
    for pointer in ("addresses", "nodeInfo"):
        assert len({str(node["status"][pointer]) for node in nodes}) == 1000
    assert len({node["spec"]["podCIDR"] for node in nodes}) == 1000
    assert nodes[0]["spec"]["podCIDR"] == "10.244.0.0/24"
    assert nodes[256]["spec"]["podCIDR"] == "10.245.0.0/24"


def test_a_node_repeats_itself() -> None:
    assert make_node(7, version=VERSION, now=NOW) == make_node(7, version=VERSION, now=NOW)


def test_a_node_tells_version_labels_and_room() -> None:
    node = make_node(1, version=VERSION, now=NOW)
    assert node["status"]["nodeInfo"]["kubeletVersion"] == "v1.35.8"
    assert node["metadata"]["labels"]["kubernetes.io/hostname"] == "node-1"
    assert node["status"]["capacity"]["memory"] == "16777216Ki"
    assert node["status"]["allocatable"]["memory"] == "16674816Ki"
    assert node["status"]["conditions"][0]["lastHeartbeatTime"] == "2026-01-02T03:04:05Z"
