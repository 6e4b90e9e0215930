"""Binding at the server what was decided."""

from typing import Any

import pytest

from mockkube.matching.volumes import BIND_COMPLETED, SELECTED_NODE
from mockkube.scheduler.framework.pod_info import PodInfo
from mockkube.scheduler.framework.status import Code
from mockkube.scheduler.plugins.volume_binding.plugin import VolumeBinding

CLAIM = {
    "accessModes": ["ReadWriteOnce"],
    "resources": {"requests": {"storage": "1Gi"}},
    "storageClassName": "late",
}
VOLUME = {
    "capacity": {"storage": "1Gi"},
    "accessModes": ["ReadWriteOnce"],
    "storageClassName": "late",
    "csi": {"driver": "csi.example.com", "volumeHandle": "h"},
}


@pytest.fixture
async def bench(served: Any) -> Any:
    """A node, a class, a claim, and the plugin that looks at them."""
    served.plugin = await served.build(VolumeBinding)
    await served.create("Node", "n1", metadata={"namespace": ""})
    await served.create(
        "StorageClass",
        "late",
        metadata={"namespace": ""},
        provisioner="csi.example.com",
        volumeBindingMode="WaitForFirstConsumer",
    )
    await served.create("PersistentVolumeClaim", "c", spec=CLAIM)
    return served


async def waiting_pod(served: Any) -> PodInfo:
    volume = {"name": "v", "persistentVolumeClaim": {"claimName": "c"}}
    spec = {"containers": [{"name": "c", "image": "app"}], "volumes": [volume]}
    return PodInfo(await served.create("Pod", "p", spec=spec))


async def bind(served: Any, volume_name: str) -> None:
    """Do what the controllers do."""
    annotations = {BIND_COMPLETED: "yes"}
    await served.patch(
        "PersistentVolumeClaim", "c", {"metadata": {"annotations": annotations}, "spec": {"volumeName": volume_name}}
    )


async def volume(served: Any, name: str = "pv", **spec: Any) -> Any:
    metadata = {"namespace": ""}
    return await served.create(
        "PersistentVolume", name, {"phase": "Available"}, metadata=metadata, spec={**VOLUME, **spec}
    )


async def test_a_volume_is_reserved_for_the_claim_and_waited_for(bench: Any) -> None:
    await volume(bench)
    pod = await waiting_pod(bench)
    state = await bench.decide(bench.plugin, pod, "n1")
    assert bench.plugin.pre_bind_pre_flight(state, pod, "n1").is_success
    assert (await bench.plugin.pre_bind(state, pod, "n1")).code is Code.WAIT
    reserved = await bench.get("PersistentVolume", "pv")
    assert reserved["spec"]["claimRef"]["name"] == "c"
    assert (await bench.plugin.pre_bind(state, pod, "n1")).code is Code.WAIT
    await bind(bench, "pv")
    assert (await bench.plugin.pre_bind(state, pod, "n1")).is_success


async def test_the_maker_of_volumes_is_told_of_the_node_and_waited_for(bench: Any) -> None:
    pod = await waiting_pod(bench)
    state = await bench.decide(bench.plugin, pod, "n1")
    assert (await bench.plugin.pre_bind(state, pod, "n1")).code is Code.WAIT
    claim = await bench.get("PersistentVolumeClaim", "c")
    assert claim["metadata"]["annotations"][SELECTED_NODE] == "n1"
    await volume(bench)
    await bind(bench, "pv")
    assert (await bench.plugin.pre_bind(state, pod, "n1")).is_success


async def test_a_maker_that_gives_up_sends_the_pod_back(bench: Any) -> None:
    pod = await waiting_pod(bench)
    state = await bench.decide(bench.plugin, pod, "n1")
    await bench.plugin.pre_bind(state, pod, "n1")
    await bench.get("PersistentVolumeClaim", "c")
    await bench.patch("PersistentVolumeClaim", "c", {"metadata": {"annotations": {SELECTED_NODE: None, "x": "y"}}})
    status = await bench.plugin.pre_bind(state, pod, "n1")
    assert (status.code, status.message) == (Code.ERROR, 'binding volumes: provisioning failed for PVC "c"')


async def test_binding_that_takes_too_long_is_given_up(bench: Any) -> None:
    pod = await waiting_pod(bench)
    state = await bench.decide(bench.plugin, pod, "n1")
    await bench.plugin.pre_bind(state, pod, "n1")
    bench.clock.move_to(599.0)
    assert (await bench.plugin.pre_bind(state, pod, "n1")).code is Code.WAIT
    bench.clock.move_to(600.0)
    status = await bench.plugin.pre_bind(state, pod, "n1")
    assert (status.code, status.message) == (Code.ERROR, "binding volumes: context deadline exceeded")


async def test_a_volume_that_changed_meanwhile_is_left_to_the_next_attempt(bench: Any) -> None:
    await volume(bench)
    pod = await waiting_pod(bench)
    state = await bench.decide(bench.plugin, pod, "n1")
    await bench.patch("PersistentVolume", "pv", {"metadata": {"labels": {"a": "b"}}})
    status = await bench.plugin.pre_bind(state, pod, "n1")
    assert status.code is Code.ERROR
    assert "the object has been modified" in status.message
    bench.plugin.unreserve(state, pod, "n1")
    assert (await bench.plugin.pre_bind(await bench.decide(bench.plugin, pod, "n1"), pod, "n1")).code is Code.WAIT


async def test_a_reference_taken_back_sends_the_pod_back(bench: Any) -> None:
    await volume(bench)
    pod = await waiting_pod(bench)
    state = await bench.decide(bench.plugin, pod, "n1")
    await bench.plugin.pre_bind(state, pod, "n1")
    await bench.get("PersistentVolume", "pv")
    await bench.patch("PersistentVolume", "pv", {"spec": {"claimRef": None}})
    status = await bench.plugin.pre_bind(state, pod, "n1")
    assert status.message == 'binding volumes: ClaimRef got reset for pv "pv"'
