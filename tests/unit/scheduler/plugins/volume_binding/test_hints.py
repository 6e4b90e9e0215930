"""What may help a pod that was refused for its volumes."""

from collections.abc import Callable
from typing import Any

import pytest

from mockkube.matching.csi_migration import MIGRATED_PLUGINS
from mockkube.scheduler.framework.events import ActionType, ClusterEvent, EventResource
from mockkube.scheduler.framework.pod_info import PodInfo
from mockkube.scheduler.plugins.volume_binding.plugin import VolumeBinding

VOLUMES = [
    {"name": "named", "persistentVolumeClaim": {"claimName": "c"}},
    {"name": "made", "ephemeral": {}},
    {"name": "own", "csi": {"driver": "csi.example.com"}},
]


def named(name: str, namespace: str = "a") -> Any:
    return {"metadata": {"name": name, "namespace": namespace}}


def driver(name: str, counts: bool) -> Any:
    return {**named(name, ""), "spec": {"storageCapacity": counts}}


def migrated(plugins: str) -> Any:
    return {"metadata": {"name": "n1", "annotations": {MIGRATED_PLUGINS: plugins}}}


@pytest.mark.parametrize(
    ("subject", "action", "old", "new", "helps"),
    [
        pytest.param(EventResource.PVC, ActionType.ADD, None, named("c"), True, id="its claim"),
        pytest.param(
            EventResource.PVC, ActionType.UPDATE, named("p1-made"), named("p1-made"), True, id="a claim made for it"
        ),
        pytest.param(EventResource.PVC, ActionType.ADD, None, named("d"), False, id="another claim"),
        pytest.param(
            EventResource.PVC, ActionType.ADD, None, named("c", "b"), False, id="a claim of another namespace"
        ),
        pytest.param(EventResource.PVC, ActionType.DELETE, named("c"), None, False, id="its claim is gone"),
        pytest.param(EventResource.PV, ActionType.ADD, None, named("v"), True, id="a volume"),
        pytest.param(EventResource.STORAGE_CLASS, ActionType.ADD, None, named("s"), True, id="a class"),
        pytest.param(
            EventResource.STORAGE_CLASS,
            ActionType.UPDATE,
            named("s"),
            {**named("s"), "allowedTopologies": [{}]},
            True,
            id="a class allowed elsewhere",
        ),
        pytest.param(
            EventResource.STORAGE_CLASS,
            ActionType.UPDATE,
            named("s"),
            {**named("s"), "x": 1},
            False,
            id="a class otherwise",
        ),
        pytest.param(EventResource.NODE, ActionType.NODE_LABEL, {}, {}, True, id="a node labelled"),
        pytest.param(EventResource.NODE, ActionType.NODE_TAINT, {}, {}, False, id="a node tainted"),
        pytest.param(
            EventResource.CSI_NODE, ActionType.UPDATE, migrated("a"), migrated("a,b"), True, id="a plugin taken over"
        ),
        pytest.param(
            EventResource.CSI_NODE, ActionType.UPDATE, migrated("a"), migrated("a"), False, id="no plugin taken over"
        ),
        pytest.param(
            EventResource.CSI_DRIVER,
            ActionType.UPDATE,
            driver("csi.example.com", True),
            driver("csi.example.com", False),
            True,
            id="a driver of its own that no longer counts",
        ),
        pytest.param(
            EventResource.CSI_DRIVER,
            ActionType.UPDATE,
            driver("other", True),
            driver("other", False),
            False,
            id="another driver",
        ),
        pytest.param(
            EventResource.CSI_CAPACITY,
            ActionType.UPDATE,
            {"capacity": "1Gi"},
            {"capacity": "2Gi"},
            True,
            id="more storage",
        ),
        pytest.param(
            EventResource.CSI_CAPACITY,
            ActionType.UPDATE,
            {"capacity": "2Gi"},
            {"capacity": "1Gi"},
            False,
            id="less storage",
        ),
        pytest.param(
            EventResource.CSI_CAPACITY,
            ActionType.UPDATE,
            {"capacity": "2Gi", "maximumVolumeSize": "1Gi"},
            {"capacity": "9Gi", "maximumVolumeSize": "1Gi"},
            False,
            id="more storage for volumes of the same size",
        ),
    ],
)
def test_an_event_helps(
    world: Any,
    event: Callable[..., ClusterEvent],
    hinted: Callable[[Any, PodInfo, ClusterEvent], bool],
    subject: EventResource,
    action: ActionType,
    old: Any,
    new: Any,
    helps: bool,
) -> None:
    pod = world.pod(volumes=VOLUMES)
    assert hinted(world.build(VolumeBinding), pod, event(subject, action, old, new)) is helps
