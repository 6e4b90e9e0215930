"""Volumes with zones in their labels."""

from collections.abc import Callable
from typing import Any

import pytest

from mockkube.scheduler.framework.events import ActionType, ClusterEvent, EventResource
from mockkube.scheduler.framework.pod_info import PodInfo
from mockkube.scheduler.framework.status import Code
from mockkube.scheduler.plugins.volumes.volume_zone import VolumeZone

ZONE = "topology.kubernetes.io/zone"
BETA_ZONE = "failure-domain.beta.kubernetes.io/zone"
USES = {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]}


def claim(**spec: Any) -> Any:
    return {"metadata": {"name": "c", "namespace": "a", "resourceVersion": "1"}, "spec": spec}


def labelled(labels: dict[str, str]) -> Any:
    return {"metadata": {"name": "v", "labels": labels, "resourceVersion": "1"}, "spec": {}}


@pytest.mark.parametrize(
    ("on_volume", "on_node", "fits"),
    [
        pytest.param({ZONE: "a"}, {ZONE: "a"}, True, id="its zone"),
        pytest.param({ZONE: "a"}, {ZONE: "b"}, False, id="another zone"),
        pytest.param({ZONE: "a__b"}, {ZONE: "b"}, True, id="one of its zones"),
        pytest.param({BETA_ZONE: "a"}, {ZONE: "a"}, True, id="its zone by the name of old"),
        pytest.param({ZONE: "a"}, {BETA_ZONE: "a"}, False, id="a node with names of old only"),
        pytest.param({ZONE: "a"}, {}, True, id="a node in no zone"),
        pytest.param({"topology.kubernetes.io/region": "r"}, {ZONE: "a"}, False, id="a region that the node has not"),
    ],
)
def test_a_volume_is_bound_to_its_zones(world: Any, on_volume: Any, on_node: Any, fits: bool) -> None:
    world.node("n1", on_node)
    world.other("PersistentVolumeClaim", claim(volumeName="v"))
    world.other("PersistentVolume", labelled(on_volume))
    refused = world.refused(world.build(VolumeZone), world.pod(**USES))
    assert refused == ({} if fits else {"n1": "node(s) had no available volume zone"})


@pytest.mark.parametrize(
    ("spec", "code", "message"),
    [
        pytest.param({"volumeName": "w"}, Code.UNRESOLVABLE, 'persistentvolume "w" not found', id="no such volume"),
        pytest.param(
            {}, Code.UNRESOLVABLE, "PersistentVolumeClaim had no pv name and storageClass name", id="nothing named"
        ),
        pytest.param(
            {"storageClassName": "x"},
            Code.UNRESOLVABLE,
            'storageclass.storage.k8s.io "x" not found',
            id="no such class",
        ),
        pytest.param(
            {"storageClassName": "now"}, Code.UNRESOLVABLE, "PersistentVolume had no name", id="not yet bound"
        ),
        pytest.param({"storageClassName": "later"}, Code.SKIP, "", id="bound with the pod"),
        pytest.param({"volumeName": "v"}, Code.SKIP, "", id="a volume without zones"),
    ],
)
def test_a_claim_without_zones(world: Any, spec: Any, code: Code, message: str) -> None:
    world.node("n1")
    world.other("PersistentVolumeClaim", claim(**spec))
    world.other("PersistentVolume", labelled({}))
    for name, mode in (("now", "Immediate"), ("later", "WaitForFirstConsumer")):
        world.other("StorageClass", {"metadata": {"name": name}, "volumeBindingMode": mode})
    status = world.filter(world.build(VolumeZone), world.pod(**USES))[""]
    assert (status.code, status.message) == (code, message)


@pytest.mark.parametrize(
    ("before", "after", "helps"),
    [
        pytest.param(None, {ZONE: "a"}, True, id="new"),
        pytest.param({ZONE: "a"}, {ZONE: "b"}, True, id="moved"),
        pytest.param({ZONE: "a"}, {ZONE: "a", "x": "y"}, False, id="labelled otherwise"),
    ],
)
def test_a_volume_helps_when_it_is_new_or_moved(
    world: Any,
    event: Callable[..., ClusterEvent],
    hinted: Callable[[Any, PodInfo, ClusterEvent], bool],
    before: Any,
    after: Any,
    helps: bool,
) -> None:
    action = ActionType.ADD if before is None else ActionType.UPDATE
    old = None if before is None else labelled(before)
    assert (
        hinted(world.build(VolumeZone), world.pod(**USES), event(EventResource.PV, action, old, labelled(after)))
        is helps
    )
