"""How many volumes of a driver a node can have."""

from collections.abc import Callable
from typing import Any

import pytest

from mockkube.matching.csi_migration import MIGRATED_PLUGINS
from mockkube.scheduler.framework.events import ActionType, ClusterEvent, EventResource
from mockkube.scheduler.framework.pod_info import PodInfo
from mockkube.scheduler.framework.status import Code
from mockkube.scheduler.plugins.volumes.node_volume_limits import NodeVolumeLimits

DRIVER = "csi.example.com"
EBS = "ebs.csi.aws.com"
EXCEEDED = {"n1": "node(s) exceed max volume count"}


def uses(*claims: str) -> dict[str, Any]:
    return {"volumes": [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in claims]}


def csi_node(limits: dict[str, int], migrated: str = "") -> Any:
    drivers = [{"name": name, "nodeID": "n", "allocatable": {"count": count}} for name, count in limits.items()]
    return {"metadata": {"name": "n1", "annotations": {MIGRATED_PLUGINS: migrated}}, "spec": {"drivers": drivers}}


def add_bound(world: Any, *names: str, **source: Any) -> None:
    for name in names:
        spec = {"accessModes": ["ReadWriteMany"], "volumeName": f"pv-{name}"}
        world.other("PersistentVolumeClaim", {"metadata": {"name": name, "namespace": "a"}, "spec": spec})
        volume = source or {"csi": {"driver": DRIVER, "volumeHandle": name}}
        world.other("PersistentVolume", {"metadata": {"name": f"pv-{name}"}, "spec": volume})


def attached(name: str) -> Any:
    spec = {"attacher": DRIVER, "nodeName": "n1", "source": {"persistentVolumeName": name}}
    return {"metadata": {"name": f"va-{name}"}, "spec": spec}


@pytest.mark.parametrize(
    ("limit", "refused"),
    [pytest.param(2, EXCEEDED, id="one too many"), pytest.param(3, {}, id="the last that fits")],
)
def test_volumes_of_pods_on_the_node_count(world: Any, limit: int, refused: Any) -> None:
    world.node("n1")
    world.other("CSINode", csi_node({DRIVER: limit}))
    add_bound(world, "a", "b", "c")
    world.pod(nodeName="n1", **uses("a", "b"))
    assert world.refused(world.build(NodeVolumeLimits), world.pod(**uses("c"))) == refused


def test_a_volume_that_is_there_already_counts_once(world: Any) -> None:
    world.node("n1")
    world.other("CSINode", csi_node({DRIVER: 1}))
    add_bound(world, "a")
    world.pod(nodeName="n1", **uses("a"))
    assert world.refused(world.build(NodeVolumeLimits), world.pod(**uses("a"))) == {}


def test_a_volume_still_attached_counts_though_no_pod_uses_it(world: Any) -> None:
    world.node("n1")
    world.other("CSINode", csi_node({DRIVER: 1}))
    add_bound(world, "a", "b")
    world.other("VolumeAttachment", attached("pv-a"))
    assert world.refused(world.build(NodeVolumeLimits), world.pod(**uses("b"))) == EXCEEDED


def test_a_claim_without_a_volume_counts_for_the_driver_that_will_make_it(world: Any) -> None:
    world.node("n1")
    world.other("CSINode", csi_node({DRIVER: 1}))
    world.other("StorageClass", {"metadata": {"name": "s"}, "provisioner": DRIVER})
    for name in ("a", "b"):
        spec = {"storageClassName": "s"}
        world.other("PersistentVolumeClaim", {"metadata": {"name": name, "namespace": "a"}, "spec": spec})
    plugin = world.build(NodeVolumeLimits)
    assert world.refused(plugin, world.pod(**uses("a"))) == {}
    assert world.refused(plugin, world.pod(**uses("a", "b"))) == EXCEEDED


@pytest.mark.parametrize(
    ("version", "migrated", "refused"),
    [
        pytest.param("1.36", "", EXCEEDED, id="every node with a CSINode"),
        pytest.param("1.35", "", {}, id="before 1.36 not where the CSINode is silent"),
        pytest.param("1.35", "kubernetes.io/aws-ebs", EXCEEDED, id="before 1.36 where the CSINode says so"),
    ],
)
def test_volumes_of_old_count_for_the_driver_that_took_them_over(
    worlds: Callable[..., Any], version: str, migrated: str, refused: Any
) -> None:
    world = worlds(version)
    world.node("n1")
    world.other("CSINode", csi_node({EBS: 1}, migrated))
    add_bound(world, "a", awsElasticBlockStore={"volumeID": "vol-1"})
    inline = {"name": "b", "awsElasticBlockStore": {"volumeID": "vol-2"}}
    pod = world.pod(volumes=[*uses("a")["volumes"], inline])
    assert world.refused(world.build(NodeVolumeLimits), pod) == refused


def test_nothing_limits_a_node_that_says_nothing(world: Any) -> None:
    world.node("n1")
    add_bound(world, "a")
    assert world.refused(world.build(NodeVolumeLimits), world.pod(**uses("a"))) == {}


def test_a_pod_without_volumes_is_left_alone(world: Any) -> None:
    world.node("n1")
    assert world.filter(world.build(NodeVolumeLimits), world.pod())[""].code is Code.SKIP


def test_a_missing_claim_is_named(world: Any) -> None:
    world.node("n1")
    status = world.filter(world.build(NodeVolumeLimits), world.pod(**uses("a")))["n1"]
    assert status.code is Code.UNRESOLVABLE
    assert status.message == 'looking up PVC a/a: persistentvolumeclaim "a" not found'


@pytest.mark.parametrize(
    ("version", "opted_in", "refused"),
    [
        pytest.param("1.36", True, {"n1": f"{DRIVER} CSI driver is not installed on the node"}, id="asked for"),
        pytest.param("1.36", False, {}, id="not asked for"),
        pytest.param("1.35", False, {"n1": f"{DRIVER} CSI driver is not installed on the node"}, id="1.35 never asks"),
    ],
)
def test_a_node_without_the_driver_is_refused(
    worlds: Callable[..., Any], version: str, opted_in: bool, refused: Any
) -> None:
    world = worlds(version, {"VolumeLimitScaling": True})
    world.node("n1")
    world.other("CSIDriver", {"metadata": {"name": DRIVER}, "spec": {"preventPodSchedulingIfMissing": opted_in}})
    add_bound(world, "a")
    assert world.refused(world.build(NodeVolumeLimits), world.pod(**uses("a"))) == refused


@pytest.mark.parametrize(
    ("before", "after", "helps"),
    [
        pytest.param(1, 2, True, id="raised"),
        pytest.param(2, 1, False, id="lowered"),
        pytest.param(1, 1, False, id="as before"),
    ],
)
def test_a_limit_helps_when_it_is_raised(
    world: Any,
    event: Callable[..., ClusterEvent],
    hinted: Callable[[Any, PodInfo, ClusterEvent], bool],
    before: int,
    after: int,
    helps: bool,
) -> None:
    changed = event(EventResource.CSI_NODE, ActionType.UPDATE, csi_node({DRIVER: before}), csi_node({DRIVER: after}))
    assert hinted(world.build(NodeVolumeLimits), world.pod(**uses("a")), changed) is helps


def test_a_deleted_pod_helps_if_it_had_something_attached(
    world: Any, event: Callable[..., ClusterEvent], hinted: Callable[[Any, PodInfo, ClusterEvent], bool]
) -> None:
    world.node("n1")
    plugin, pod = world.build(NodeVolumeLimits), world.pod(**uses("a"))
    placed, waiting = world.pod(nodeName="n1", **uses("b")), world.pod(**uses("b"))
    assert hinted(plugin, pod, event(EventResource.ASSIGNED_POD, ActionType.DELETE, old=placed))
    assert not hinted(plugin, pod, event(EventResource.UNSCHEDULED_POD, ActionType.DELETE, old=waiting))
    assert not hinted(plugin, pod, event(EventResource.ASSIGNED_POD, ActionType.DELETE, old=world.pod(nodeName="n1")))
