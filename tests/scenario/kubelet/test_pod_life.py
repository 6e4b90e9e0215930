"""Pods from binding to deletion, in a whole cluster."""

import pytest

from mockkube.client.protocol import EVERYTHING, Key
from mockkube.features.versions import Version


async def test_a_scheduled_pod_runs_and_is_ready(world, conditions) -> None:
    await world.pod("p", containers=[{"name": "main", "image": "nginx", "resources": {"requests": {"cpu": "100m"}}}])
    pod = await world.get("Pod", "p")
    status = pod["status"]
    assert (status["phase"], conditions(pod, "Ready")["status"]) == ("Running", "True")
    assert status["hostIPs"] == [{"ip": status["hostIP"]}]
    assert status["observedGeneration"] == 1
    assert status["allocatedResources"] == {"cpu": "100m"}
    assert status["resources"] == {"requests": {"cpu": "100m"}}
    assert status["containerStatuses"][0]["allocatedResources"] == {"cpu": "100m"}
    assert await world.reasons("p") == ["Scheduled", "Pulled", "Created", "Started"]


async def test_a_deleted_pod_is_gone_once_its_containers_have_stopped(world) -> None:
    await world.pod("p", annotations={"mockkube.dev/stop-delay": "10s"})
    await world.delete("Pod", "p")
    assert (await world.get("Pod", "p"))["metadata"]["deletionGracePeriodSeconds"] == 30
    await world.merge("Pod", "p", {"metadata": {"labels": {"seen": "yes"}}})
    await world.lab.advance(10)
    assert await world.get("Pod", "p") is None
    assert (await world.reasons("p")).count("Killing") == 1


async def test_a_pod_without_grace_is_gone_at_once(world) -> None:
    await world.pod("p", terminationGracePeriodSeconds=0, annotations={"mockkube.dev/stop-delay": "10s"})
    await world.delete("Pod", "p")
    assert await world.get("Pod", "p") is None


async def test_finalizers_keep_a_pod_that_is_over(world) -> None:
    await world.create(
        "Pod",
        "p",
        metadata={"finalizers": ["example.com/wait"]},
        spec={"containers": [{"name": "main", "image": "nginx"}]},
    )
    await world.delete("Pod", "p")
    pod = await world.get("Pod", "p")
    assert (pod["status"]["phase"], pod["metadata"]["finalizers"]) == ("Succeeded", ["example.com/wait"])
    await world.merge("Pod", "p", {"metadata": {"finalizers": None}})
    assert await world.get("Pod", "p") is None


async def test_sidecars_stop_after_all_others(world) -> None:
    await world.create(
        "Pod",
        "p",
        metadata={"finalizers": ["example.com/wait"]},
        spec={
            "initContainers": [{"name": "proxy", "image": "envoy", "restartPolicy": "Always"}],
            "containers": [{"name": "main", "image": "nginx"}],
        },
    )
    await world.lab.settle()
    seen: list[tuple[str, str]] = []
    watch = await world.client.watch("Pod", EVERYTHING, (await world.get("Pod", "p"))["metadata"]["resourceVersion"])
    await world.delete("Pod", "p")
    for event in watch.take():
        status = event.object["status"]
        both = (status["initContainerStatuses"][0], status["containerStatuses"][0])
        seen.append(tuple(next(iter(one["state"])) for one in both))
    await watch.close()
    assert list(dict.fromkeys(seen)) == [
        ("running", "running"),
        ("running", "terminated"),
        ("terminated", "terminated"),
    ]


async def test_readiness_follows_the_annotation_as_it_is_now(world, conditions) -> None:
    await world.pod("p")
    await world.merge("Pod", "p", {"metadata": {"annotations": {"mockkube.dev/unready": "main"}}})
    assert conditions(await world.get("Pod", "p"), "Ready")["reason"] == "ContainersNotReady"
    await world.merge("Pod", "p", {"metadata": {"annotations": {"mockkube.dev/unready": None}}})
    assert conditions(await world.get("Pod", "p"), "Ready")["status"] == "True"


async def test_ephemeral_containers_run_beside(world) -> None:
    await world.pod("p")
    debugger = {"name": "debug", "image": "busybox", "targetContainerName": "main"}
    await world.client.patch(
        "Pod", Key("default", "p"), {"spec": {"ephemeralContainers": [debugger]}}, subresource="ephemeralcontainers"
    )
    await world.lab.settle()
    status = await world.status("p")
    assert "running" in status["ephemeralContainerStatuses"][0]["state"]
    assert status["phase"] == "Running"


async def test_mirror_pods_are_left_alone(world) -> None:
    await world.create(
        "Pod",
        "p",
        metadata={"annotations": {"kubernetes.io/config.mirror": "abc"}},
        spec={"nodeName": "node-1", "containers": [{"name": "main", "image": "nginx"}]},
    )
    assert (await world.status("p")).get("startTime") is None


async def test_one_exit_may_start_all_containers_again(world, conditions) -> None:
    rule = {"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [42]}}
    await world.pod(
        "p",
        annotations={"mockkube.dev/exit": "worker=42@5s"},
        restartPolicy="Never",
        initContainers=[{"name": "setup", "image": "busybox"}],
        containers=[
            {"name": "main", "image": "nginx"},
            {"name": "worker", "image": "nginx", "restartPolicy": "Never", "restartPolicyRules": [rule]},
        ],
    )
    await world.lab.advance(5)
    pod = await world.get("Pod", "p")
    counts = {one["name"]: one["restartCount"] for one in pod["status"]["containerStatuses"]}
    assert counts == {"main": 1, "worker": 1}
    assert pod["status"]["initContainerStatuses"][0]["restartCount"] == 1
    assert pod["status"]["containerStatuses"][0]["lastState"]["terminated"]["reason"] == "RestartingAllContainers"
    assert (pod["status"]["phase"], conditions(pod, "AllContainersRestarting")["status"]) == ("Running", "False")


@pytest.mark.parametrize(
    ("version", "created"),
    [
        pytest.param("1.34", "Created container: main", id="the name in the text"),
        pytest.param("1.35", "Container created", id="no name"),
    ],
)
async def test_events_are_worded_as_the_version_words_them(begin, version: str, created: str) -> None:
    world = await begin(version=Version.parse(version))
    await world.pod("p")
    listed = await world.client.list("Event")
    assert created in [one["message"] for one in listed.items if one["reason"] == "Created"]
