from typing import Any

import pytest

from mockkube.scheduler.framework.events import ActionType, EventResource
from mockkube.scheduler.framework.status import Code
from mockkube.scheduler.plugins.node_ports import NodePorts

_REASON = "node(s) didn't have free ports for the requested pod ports"


def _listens(port: int, **fields: Any) -> list[dict[str, Any]]:
    return [{"name": "c", "ports": [{"containerPort": 80, "hostPort": port, **fields}]}]


@pytest.mark.parametrize(
    ("mine", "theirs", "conflict"),
    [
        pytest.param(_listens(80), _listens(80), True, id="the same port"),
        pytest.param(_listens(80), _listens(81), False, id="another port"),
        pytest.param(_listens(80), _listens(80, protocol="UDP"), False, id="another protocol"),
        pytest.param(_listens(80, protocol="TCP"), _listens(80), True, id="TCP unless said otherwise"),
        pytest.param(_listens(80, hostIP="10.0.0.1"), _listens(80, hostIP="10.0.0.2"), False, id="another address"),
        pytest.param(_listens(80, hostIP="10.0.0.1"), _listens(80), True, id="all addresses include one"),
        pytest.param(_listens(80, hostIP="0.0.0.0"), _listens(80, hostIP="::1"), True, id="one is among all"),
        pytest.param(_listens(80, hostIP="::"), _listens(80, hostIP="10.0.0.1"), False, id="any of IPv6 is but one"),
    ],
)
def test_pods_that_listen_at_the_same_place_exclude_each_other(world, mine, theirs, conflict) -> None:
    world.node("n1")
    world.pod(nodeName="n1", containers=theirs)
    status = world.filter(world.build(NodePorts), world.pod(containers=mine))["n1"]
    assert (status.code, status.message) == ((Code.UNSCHEDULABLE, _REASON) if conflict else (Code.SUCCESS, ""))


def test_of_initial_containers_only_sidecars_keep_their_ports(world) -> None:
    world.node("n1")
    [once] = _listens(80)
    [sidecar] = _listens(81)
    world.pod(nodeName="n1", initContainers=[once, {**sidecar, "restartPolicy": "Always"}])
    plugin = world.build(NodePorts)
    assert world.refused(plugin, world.pod(containers=_listens(80))) == {}
    assert world.refused(plugin, world.pod(containers=_listens(81))) == {"n1": _REASON}


def test_a_pod_without_host_ports_is_left_alone(world) -> None:
    world.node("n1")
    assert world.filter(world.build(NodePorts), world.pod())[""].code is Code.SKIP


@pytest.mark.parametrize(
    ("gone", "expected"),
    [
        pytest.param({"nodeName": "n1", "containers": _listens(80)}, True, id="it had the port"),
        pytest.param({"nodeName": "n1", "containers": _listens(81)}, False, id="it had another"),
        pytest.param({"containers": _listens(80)}, False, id="it was on no node"),
        pytest.param({"containers": _listens(80), "status": {"nominatedNodeName": "n1"}}, True, id="room was kept"),
    ],
)
def test_pods_help_by_giving_up_a_port(world, event, hinted, gone, expected) -> None:
    news = event(EventResource.ASSIGNED_POD, ActionType.DELETE, world.pod(**gone))
    assert hinted(world.build(NodePorts), world.pod(containers=_listens(80)), news) is expected
