"""Resizing pods in place."""

import pytest

from mockkube.api.errors import Invalid, NotFound
from mockkube.client.protocol import Key
from mockkube.features.components import API_SERVER
from mockkube.features.versions import Version


def main(cpu, **fields):
    return [{"name": "main", "image": "nginx", "resources": {"requests": {"cpu": cpu}}, **fields}]


async def resize(world, cpu):
    patch = {"spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": cpu}}}]}}
    await world.client.patch("Pod", Key("default", "p"), patch, subresource="resize")
    await world.lab.settle()
    return await world.get("Pod", "p")


async def test_a_resize_that_fits_is_done_at_once(world, conditions):
    await world.pod("p", "node-1", containers=main("1"))
    pod = await resize(world, "2")
    assert pod["status"]["containerStatuses"][0]["resources"] == {"requests": {"cpu": "2"}}
    assert pod["status"]["containerStatuses"][0]["restartCount"] == 0
    assert pod["status"]["allocatedResources"] == {"cpu": "2"}
    assert conditions(pod, "PodResizePending") == {}
    assert (await world.reasons("p"))[-2:] == ["ResizeStarted", "ResizeCompleted"]


async def test_a_resize_without_room_waits_for_it(world, conditions):
    await world.pod("other", "node-1", containers=main("2"))
    await world.pod("p", "node-1", containers=main("1"))
    pod = await resize(world, "3")
    assert pod["status"]["containerStatuses"][0]["resources"] == {"requests": {"cpu": "1"}}
    pending = conditions(pod, "PodResizePending")
    assert (pending["reason"], pending["observedGeneration"]) == ("Deferred", 2)
    assert pending["message"] == "Node didn't have enough resource: cpu, requested: 3000, used: 2000, capacity: 4000"
    assert (await world.reasons("p")).count("ResizeDeferred") == 1
    await world.delete("Pod", "other")
    pod = await world.get("Pod", "p")
    assert pod["status"]["containerStatuses"][0]["resources"] == {"requests": {"cpu": "3"}}
    assert conditions(pod, "PodResizePending") == {}


async def test_a_pod_keeps_what_it_was_given_through_a_restart(world):
    await world.pod("other", "node-1", containers=main("2"))
    await world.pod("p", "node-1", containers=main("1"))
    await resize(world, "3")
    await world.lab.restart_component("kubelet")
    await world.lab.settle()
    status = await world.status("p")
    assert (status["phase"], status["containerStatuses"][0]["resources"]) == ("Running", {"requests": {"cpu": "1"}})


async def test_more_than_the_node_has_is_refused_for_good_before_1_36(begin, conditions):
    world = await begin(version=Version(1, 35))
    await world.pod("p", "node-1", containers=main("1"))
    pending = conditions(await resize(world, "5"), "PodResizePending")
    assert pending["reason"] == "Infeasible"
    assert pending["message"] == "Node didn't have enough capacity: cpu, requested: 5000, capacity: 4000"


async def test_a_resource_that_is_only_changed_by_a_restart_restarts_the_container(world):
    policy = [{"resourceName": "cpu", "restartPolicy": "RestartContainer"}]
    await world.pod("p", "node-1", containers=main("1", resizePolicy=policy))
    pod = await resize(world, "2")
    assert pod["status"]["containerStatuses"][0]["restartCount"] == 1
    assert "Killing" in await world.reasons("p")


async def test_a_kubelet_without_the_feature_reports_no_resources_so_a_resize_is_refused(begin):
    world = await begin(version=Version(1, 34))
    await world.lab.change_component("kubelet", gates={"InPlacePodVerticalScaling": False})
    await world.pod("p", "node-1", containers=main("1"))
    assert "resources" not in (await world.status("p"))["containerStatuses"][0]
    with pytest.raises(Invalid, match="Pod running on node without support for resize"):
        await resize(world, "2")
    await world.lab.change_component("kubelet", gates={"InPlacePodVerticalScaling": True})
    await world.lab.settle()
    assert (await world.status("p"))["containerStatuses"][0]["resources"] == {"requests": {"cpu": "1"}}
    assert not any(reason.startswith("Resize") for reason in await world.reasons("p"))
    pod = await resize(world, "2")
    assert pod["status"]["containerStatuses"][0]["resources"] == {"requests": {"cpu": "2"}}


async def test_without_the_feature_the_api_server_has_no_resize(begin):
    world = await begin(version=Version(1, 34))
    await world.lab.change_component(API_SERVER, gates={"InPlacePodVerticalScaling": False})
    await world.pod("p", "node-1", containers=main("1"))
    with pytest.raises(NotFound, match="the server could not find the requested resource"):
        await resize(world, "2")
