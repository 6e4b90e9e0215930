"""Disks and claims that only one pod may use."""

from collections.abc import Callable
from typing import Any

import pytest

from mockkube.scheduler.framework.events import ActionType, ClusterEvent, EventResource
from mockkube.scheduler.framework.interface import CycleState
from mockkube.scheduler.framework.pod_info import PodInfo
from mockkube.scheduler.framework.status import Code
from mockkube.scheduler.plugins.volumes.volume_restrictions import VolumeRestrictions

DISK = "node(s) had no available disk"
IN_USE = (
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod"
)


def with_claim(name: str) -> dict[str, Any]:
    return {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": name}}]}


def with_disk(**source: Any) -> dict[str, Any]:
    return {"volumes": [{"name": "v", **source}]}


def claim(name: str = "c", mode: str = "ReadWriteOncePod") -> Any:
    return {"metadata": {"name": name, "namespace": "a", "resourceVersion": "1"}, "spec": {"accessModes": [mode]}}


@pytest.mark.parametrize(
    ("theirs", "ours", "conflict"),
    [
        pytest.param(
            {"gcePersistentDisk": {"pdName": "d"}}, {"gcePersistentDisk": {"pdName": "d"}}, True, id="same disk"
        ),
        pytest.param(
            {"gcePersistentDisk": {"pdName": "d", "readOnly": True}},
            {"gcePersistentDisk": {"pdName": "d", "readOnly": True}},
            False,
            id="same disk, both only read",
        ),
        pytest.param(
            {"gcePersistentDisk": {"pdName": "d", "readOnly": True}},
            {"gcePersistentDisk": {"pdName": "d"}},
            True,
            id="same disk, one writes",
        ),
        pytest.param(
            {"gcePersistentDisk": {"pdName": "d"}}, {"gcePersistentDisk": {"pdName": "e"}}, False, id="other disk"
        ),
        pytest.param(
            {"awsElasticBlockStore": {"volumeID": "d", "readOnly": True}},
            {"awsElasticBlockStore": {"volumeID": "d", "readOnly": True}},
            True,
            id="same EBS volume, though both only read",
        ),
        pytest.param({"iscsi": {"iqn": "q"}}, {"iscsi": {"iqn": "q"}}, True, id="same iSCSI target"),
        pytest.param(
            {"rbd": {"monitors": ["m", "n"], "pool": "p", "image": "i"}},
            {"rbd": {"monitors": ["n"], "pool": "p", "image": "i"}},
            True,
            id="same image by a common monitor",
        ),
        pytest.param(
            {"rbd": {"monitors": ["m"], "pool": "p", "image": "i"}},
            {"rbd": {"monitors": ["n"], "pool": "p", "image": "i"}},
            False,
            id="image of the same name elsewhere",
        ),
        pytest.param({"iscsi": {"iqn": "q"}}, {"gcePersistentDisk": {"pdName": "q"}}, False, id="other kinds"),
    ],
)
def test_a_disk_in_use_on_the_node(world: Any, theirs: Any, ours: Any, conflict: bool) -> None:
    world.node("n1")
    world.pod(nodeName="n1", **with_disk(**theirs))
    plugin = world.build(VolumeRestrictions)
    assert world.refused(plugin, world.pod(**with_disk(**ours))) == ({"n1": DISK} if conflict else {})


@pytest.mark.parametrize(
    ("version", "message"),
    [
        pytest.param("1.36", IN_USE, id="now"),
        pytest.param(
            "1.33",
            "node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode",
            id="before 1.34",
        ),
    ],
)
def test_an_exclusive_claim_in_use_anywhere_keeps_the_pod_off_all_nodes(
    worlds: Callable[..., Any], version: str, message: str
) -> None:
    world = worlds(version)
    world.node("n1")
    world.node("n2")
    world.other("PersistentVolumeClaim", claim())
    world.pod(nodeName="n1", **with_claim("c"))
    plugin = world.build(VolumeRestrictions)
    found = world.filter(plugin, world.pod(**with_claim("c")))
    assert {name: (status.code, status.message) for name, status in found.items()} == {
        "n1": (Code.UNSCHEDULABLE, message),
        "n2": (Code.UNSCHEDULABLE, message),
    }


def test_the_pod_is_left_alone_while_nobody_uses_its_claim(world: Any) -> None:
    world.node("n1")
    world.other("PersistentVolumeClaim", claim())
    world.other("PersistentVolumeClaim", claim("shared", "ReadWriteMany"))
    world.pod(nodeName="n1", **with_claim("shared"))
    plugin = world.build(VolumeRestrictions)
    assert world.filter(plugin, world.pod(**with_claim("c")))[""].code is Code.SKIP
    assert world.filter(plugin, world.pod(**with_claim("shared")))[""].code is Code.SKIP


def test_a_claim_that_is_not_there_is_named(world: Any) -> None:
    world.node("n1")
    plugin = world.build(VolumeRestrictions)
    status = world.filter(plugin, world.pod(**with_claim("c")))[""]
    assert (status.code, status.message) == (Code.UNRESOLVABLE, 'persistentvolumeclaim "c" not found')


def test_the_user_of_an_exclusive_claim_can_be_supposed_away(world: Any) -> None:
    world.node("n1")
    world.other("PersistentVolumeClaim", claim())
    user = world.pod(nodeName="n1", **with_claim("c"))
    plugin, pod, node = world.build(VolumeRestrictions), world.pod(**with_claim("c")), world.cache.get("n1")
    state = CycleState()
    assert plugin.pre_filter(state, pod, world.cache).status.is_success
    supposed = state.clone()
    plugin.remove_pod(supposed, pod, user, node)
    assert plugin.filter(supposed, pod, node).is_success
    assert plugin.filter(state, pod, node).message == IN_USE
    plugin.add_pod(supposed, pod, user, node)
    assert plugin.filter(supposed, pod, node).message == IN_USE


@pytest.mark.parametrize(
    ("gone", "helps"),
    [
        pytest.param(with_claim("c"), True, id="same claim"),
        pytest.param(with_claim("d"), False, id="other claim"),
        pytest.param({**with_claim("c"), "namespace": "b"}, False, id="claim of another namespace"),
        pytest.param({}, False, id="no volumes"),
    ],
)
def test_a_deleted_pod_helps_if_it_had_something_of_the_pods(
    world: Any,
    event: Callable[..., ClusterEvent],
    hinted: Callable[[Any, PodInfo, ClusterEvent], bool],
    gone: Any,
    helps: bool,
) -> None:
    plugin, pod = world.build(VolumeRestrictions), world.pod(**with_claim("c"))
    assert hinted(plugin, pod, event(EventResource.ASSIGNED_POD, ActionType.DELETE, old=world.pod(**gone))) is helps
