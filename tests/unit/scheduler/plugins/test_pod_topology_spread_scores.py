from typing import Any

import pytest

from mockkube.scheduler.plugins.pod_topology_spread.plugin import PodTopologySpread

_WEB = {"app": "web"}
_HOSTNAME = "kubernetes.io/hostname"
_ZONE = "topology.kubernetes.io/zone"


def _fill(world: Any, **pods: int) -> None:
    for node, count in pods.items():
        for _ in range(count):
            world.pod(_WEB, nodeName=node)


def _owned(kind: str, api_version: str) -> dict[str, Any]:
    return {"ownerReferences": [{"kind": kind, "apiVersion": api_version, "name": "web", "controller": True}]}


def test_nodes_rank_by_how_few_pods_are_in_their_domains(world, spread) -> None:
    for name, zone in (("n1", "a"), ("n2", "a"), ("n3", "b")):
        world.node(name, {"zone": zone})
    _fill(world, n1=2, n3=1)
    pod = world.pod(_WEB, topologySpreadConstraints=[spread(action="ScheduleAnyway")])
    assert world.scores(world.build(PodTopologySpread), pod) == {"n1": 33, "n2": 33, "n3": 100}


def test_on_hostnames_each_node_is_counted_by_itself(world, spread) -> None:
    for name in ("n1", "n2"):
        world.node(name)
    _fill(world, n1=1)
    pod = world.pod(_WEB, topologySpreadConstraints=[spread(_HOSTNAME, "ScheduleAnyway")])
    assert world.scores(world.build(PodTopologySpread), pod) == {"n1": 0, "n2": 100}


def test_more_skew_allowed_makes_differences_smaller(world, spread) -> None:
    for name, zone in (("n1", "a"), ("n2", "b")):
        world.node(name, {"zone": zone})
    _fill(world, n1=1)
    pod = world.pod(_WEB, topologySpreadConstraints=[spread(action="ScheduleAnyway", maxSkew=5)])
    assert world.scores(world.build(PodTopologySpread), pod) == {"n1": 80, "n2": 100}


def test_nodes_without_a_key_get_nothing(world, spread) -> None:
    world.node("n1", {"zone": "a"})
    world.node("n2")
    pod = world.pod(_WEB, topologySpreadConstraints=[spread(action="ScheduleAnyway")])
    assert world.scores(world.build(PodTopologySpread), pod) == {"n1": 100, "n2": 0}


def test_the_system_spreads_what_a_service_selects_also_where_there_are_no_zones(world) -> None:
    world.other("Service", {"metadata": {"name": "web", "namespace": "a"}, "spec": {"selector": _WEB}})
    world.node("n1", {_ZONE: "a"})
    world.node("n2")
    _fill(world, n1=3)
    plugin = world.build(PodTopologySpread)
    scores = world.scores(plugin, world.pod(_WEB))
    assert scores["n1"] < scores["n2"] == 100
    assert world.scores(plugin, world.pod({"app": "other"})) == {}
    assert world.scores(plugin, world.pod(_WEB, namespace="b")) == {}


@pytest.mark.parametrize(
    ("kind", "api_version", "selector"),
    [
        pytest.param("ReplicaSet", "apps/v1", {"matchLabels": _WEB}, id="a replica set"),
        pytest.param("StatefulSet", "apps/v1", {"matchLabels": _WEB}, id="a stateful set"),
        pytest.param("ReplicationController", "v1", _WEB, id="a replication controller"),
    ],
)
def test_the_system_spreads_what_an_owner_selects(world, kind, api_version, selector) -> None:
    world.other(kind, {"metadata": {"name": "web", "namespace": "a"}, "spec": {"selector": selector}})
    for name in ("n1", "n2"):
        world.node(name)
    _fill(world, n1=1)
    pod = world.pod(_WEB, **_owned(kind, api_version))
    assert set(world.scores(world.build(PodTopologySpread), pod).values()) == {66, 100}


def test_other_owners_select_nobody(world) -> None:
    world.node("n1")
    pod = world.pod(_WEB, **_owned("Job", "batch/v1"))
    assert world.scores(world.build(PodTopologySpread), pod) == {}


def test_a_list_of_defaults_takes_the_place_of_the_systems(world) -> None:
    world.other("Service", {"metadata": {"name": "web", "namespace": "a"}, "spec": {"selector": _WEB}})
    for name, zone in (("n1", "a"), ("n2", "b")):
        world.node(name, {"zone": zone})
    _fill(world, n1=1)
    hard = {"topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "maxSkew": 1}
    plugin = world.build(PodTopologySpread, defaultingType="List", defaultConstraints=[hard])
    assert world.refused(plugin, world.pod(_WEB)).keys() == {"n1"}
    assert world.scores(plugin, world.pod(_WEB)) == {}
