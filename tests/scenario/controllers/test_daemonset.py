"""Daemon sets against a server in memory, in virtual time; the test binds their pods."""

import json

import pytest

from mockkube.features.versions import Version

NAME = "daemonset-controller"
TEMPLATE = {
    "metadata": {"labels": {"app": "d"}},
    "spec": {"containers": [{"name": "c", "image": "i:1"}], "terminationGracePeriodSeconds": 0},
}


async def make(sim, template=TEMPLATE, **spec):
    await sim.create("DaemonSet", "ds", spec={"selector": {"matchLabels": {"app": "d"}}, "template": template, **spec})
    await run(sim)


def wanted_node(pod):
    required = pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    return required["nodeSelectorTerms"][0]["matchFields"][0]["values"][0]


async def run(sim, ready="True"):
    """Bind every pod to the node it is for, and let it run."""
    now = sim.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")
    for pod in await sim.all("Pod"):
        name = pod["metadata"]["name"]
        if not pod["spec"].get("nodeName"):
            binding = {"metadata": {"name": name, "namespace": "default"}, "target": {"name": wanted_node(pod)}}
            await sim.client.create("Pod", binding, subresource="binding", name=name)
            condition = {"type": "Ready", "status": ready, "lastTransitionTime": now}
            await sim.status("Pod", name, {"phase": "Running", "conditions": [condition]})


async def placed(sim):
    """Return the nodes with a pod, sorted."""
    return sorted(wanted_node(pod) for pod in await sim.all("Pod"))


async def status(sim):
    return (await sim.get("DaemonSet", "ds"))["status"]


async def images(sim):
    return sorted(pod["spec"]["containers"][0]["image"] for pod in await sim.all("Pod"))


async def test_every_node_gets_a_pod_and_so_does_one_that_comes_later(sim):
    await sim.start(NAME)
    await sim.node("n1")
    await make(sim)
    await sim.node("n2")
    await run(sim)
    assert await placed(sim) == ["n1", "n2"]
    assert (await status(sim))["numberAvailable"] == 2


async def test_pods_tolerate_what_happens_to_nodes(sim):
    await sim.start(NAME)
    await sim.node("n1", taints=[{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}])
    await make(sim)
    [pod] = await sim.all("Pod")
    added = [one["key"].removeprefix("node.kubernetes.io/") for one in pod["spec"]["tolerations"]]
    assert added == ["not-ready", "unreachable", "disk-pressure", "memory-pressure", "pid-pressure", "unschedulable"]


@pytest.mark.parametrize(
    ("effect", "left"),
    [pytest.param("NoExecute", [], id="no-execute"), pytest.param("NoSchedule", ["n1"], id="no-schedule")],
)
async def test_a_taint_that_evicts_ends_a_pod_and_one_that_only_keeps_out_does_not(sim, effect, left):
    await sim.start(NAME)
    await sim.node("n1")
    await make(sim)
    await sim.taint("n1", {"key": "x", "effect": effect})
    assert await placed(sim) == left


async def test_an_update_replaces_one_pod_after_the_other(sim):
    await sim.start(NAME)
    for name in ("n1", "n2", "n3"):
        await sim.node(name)
    await make(sim)
    spec = {"containers": [{"name": "c", "image": "i:2"}], "terminationGracePeriodSeconds": 0}
    await sim.merge("DaemonSet", "ds", {"spec": {"template": {"spec": spec}}})
    seen = [await images(sim)]
    for _ in range(4):
        await run(sim)
        seen.append(await images(sim))
    assert seen[0] == ["i:1", "i:1", "i:2"]
    assert seen[1] == ["i:1", "i:2", "i:2"]
    assert seen[-1] == ["i:2", "i:2", "i:2"]
    assert [one["revision"] for one in await sim.all("ControllerRevision")] in ([1, 2], [2, 1])


async def test_the_data_of_a_revision_are_the_bytes_that_go_makes(sim):
    await sim.start(NAME)
    await make(sim)
    [revision] = await sim.all("ControllerRevision")
    data = revision["data"]
    assert data["spec"]["template"]["$patch"] == "replace"
    assert json.dumps(data) == json.dumps(data, sort_keys=True)


async def test_an_update_on_deletion_waits_for_somebody_to_delete(sim):
    await sim.start(NAME)
    await sim.node("n1")
    await make(sim, updateStrategy={"type": "OnDelete"})
    spec = {"containers": [{"name": "c", "image": "i:2"}], "terminationGracePeriodSeconds": 0}
    await sim.merge("DaemonSet", "ds", {"spec": {"template": {"spec": spec}}})
    assert await images(sim) == ["i:1"]
    await sim.delete("Pod", (await sim.names("Pod"))[0])
    assert await images(sim) == ["i:2"]


async def test_a_surge_lets_the_old_pod_run_until_the_new_one_is_available(sim):
    await sim.start(NAME)
    await sim.node("n1")
    await make(sim, updateStrategy={"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}})
    spec = {"containers": [{"name": "c", "image": "i:2"}], "terminationGracePeriodSeconds": 0}
    await sim.merge("DaemonSet", "ds", {"spec": {"template": {"spec": spec}}})
    assert await images(sim) == ["i:1", "i:2"]
    await run(sim)
    assert await images(sim) == ["i:2"]


async def test_failed_pods_are_remade_ever_more_slowly(sim):
    await sim.start(NAME)
    await sim.node("n1")
    await make(sim)
    for _ in range(40):
        for pod in await sim.all("Pod"):
            await sim.status("Pod", pod["metadata"]["name"], {"phase": "Failed"})
        await sim.advance(1)
    failures = sum(count for _, _, count in await sim.events("ds", "FailedDaemonPod"))
    assert 5 <= failures <= 7


async def test_a_pod_that_waits_for_a_node_that_is_gone_is_deleted(sim):
    await sim.start(NAME)
    await sim.node("n1")
    await sim.create("DaemonSet", "ds", spec={"selector": {"matchLabels": {"app": "d"}}, "template": TEMPLATE})
    await sim.delete("Node", "n1", "")
    await sim.node("n2")
    assert await placed(sim) == ["n2"]


async def test_an_older_controller_manager_places_daemons_as_well(sim):
    await sim.start(NAME, version=Version(1, 33))
    await sim.node("n1")
    await make(sim)
    assert await placed(sim) == ["n1"]
