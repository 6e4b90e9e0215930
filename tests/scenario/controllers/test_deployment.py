"""Deployments and their replica sets against a server in memory, in virtual time; the test is their kubelet."""

import pytest

from mockkube.client.protocol import DeleteOptions, Propagation

CONTROLLERS = ("deployment-controller", "replicaset-controller", "garbage-collector-controller")


def template(image="i:1", **spec):
    pod = {"containers": [{"name": "c", "image": image}], "terminationGracePeriodSeconds": 0, **spec}
    return {"metadata": {"labels": {"app": "web"}}, "spec": pod}


async def make(sim, replicas=4, image="i:1", **spec):
    selector = {"matchLabels": {"app": "web"}}
    fields = {"replicas": replicas, "selector": selector, "template": template(image), **spec}
    await sim.create("Deployment", "web", spec=fields)


async def become_ready(sim, *images):
    """Let the pods of these images run, or all."""
    now = sim.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")
    condition = {"type": "Ready", "status": "True", "lastTransitionTime": now}
    for pod in await sim.all("Pod"):
        wanted = not images or pod["spec"]["containers"][0]["image"] in images
        left = await sim.get("Pod", pod["metadata"]["name"])
        if wanted and left is not None and pod["status"]["phase"] == "Pending":
            await sim.status("Pod", pod["metadata"]["name"], {"phase": "Running", "conditions": [condition]})


async def rolled_out(sim, rounds=12):
    """Let everything run as it comes until nothing new comes."""
    for _ in range(rounds):
        await become_ready(sim)


async def sizes(sim):
    """Return the size of each set by its image."""
    sets = await sim.all("ReplicaSet")
    return {one["spec"]["template"]["spec"]["containers"][0]["image"]: one["spec"]["replicas"] for one in sets}


async def condition(sim, kind):
    conditions = (await sim.get("Deployment", "web"))["status"].get("conditions", ())
    return next(((one["status"], one["reason"]) for one in conditions if one["type"] == kind), None)


async def set_image(sim, image):
    await sim.merge("Deployment", "web", {"spec": {"template": template(image)}})


async def test_a_deployment_makes_a_set_and_becomes_available(sim):
    await sim.start(*CONTROLLERS)
    await make(sim)
    assert await condition(sim, "Available") == ("False", "MinimumReplicasUnavailable")
    await become_ready(sim)
    assert await condition(sim, "Available") == ("True", "MinimumReplicasAvailable")
    assert await condition(sim, "Progressing") == ("True", "NewReplicaSetAvailable")
    [one] = await sim.all("ReplicaSet")
    marks = one["metadata"]["annotations"]
    assert marks["deployment.kubernetes.io/max-replicas"] == "5"
    assert one["metadata"]["name"] == f"web-{one['metadata']['labels']['pod-template-hash']}"
    assert (await sim.events("web", "ScalingReplicaSet"))[0][1].endswith("from 0 to 4")


async def test_an_update_goes_no_further_than_surge_and_unavailability_allow(sim):
    await sim.start(*CONTROLLERS)
    await make(sim)
    await become_ready(sim)
    await set_image(sim, "i:2")
    assert await sizes(sim) == {"i:1": 3, "i:2": 2}
    await become_ready(sim, "i:2")
    await rolled_out(sim)
    assert await sizes(sim) == {"i:1": 0, "i:2": 4}
    deployment = await sim.get("Deployment", "web")
    assert deployment["metadata"]["annotations"]["deployment.kubernetes.io/revision"] == "2"


async def test_a_broken_update_leaves_the_old_pods_and_times_out(sim):
    await sim.start(*CONTROLLERS)
    await make(sim, progressDeadlineSeconds=60)
    await become_ready(sim)
    await set_image(sim, "broken")
    await sim.advance(62)
    assert await sizes(sim) == {"i:1": 3, "broken": 2}
    assert await condition(sim, "Progressing") == ("False", "ProgressDeadlineExceeded")
    assert await condition(sim, "Available") == ("True", "MinimumReplicasAvailable")


async def test_one_that_was_complete_and_grew_is_left_alone_once_it_is_overdue(sim):
    await sim.start(*CONTROLLERS)
    await make(sim, progressDeadlineSeconds=60)
    await become_ready(sim)
    await sim.merge("Deployment", "web", {"spec": {"replicas": 5}})
    await sim.advance(62)
    before = sim.metrics.get_sample_value("workqueue_retries_total", {"name": "deployment"})
    await sim.advance(600)
    assert await condition(sim, "Progressing") == ("True", "NewReplicaSetAvailable")
    assert sim.metrics.get_sample_value("workqueue_retries_total", {"name": "deployment"}) == before > 0


async def test_going_back_uses_the_old_set_under_a_new_revision(sim):
    await sim.start(*CONTROLLERS)
    await make(sim)
    await become_ready(sim)
    await set_image(sim, "i:2")
    await rolled_out(sim)
    await set_image(sim, "i:1")
    await rolled_out(sim)
    assert await sizes(sim) == {"i:1": 4, "i:2": 0}
    sets = {one["spec"]["replicas"]: one["metadata"]["annotations"] for one in await sim.all("ReplicaSet")}
    assert sets[4]["deployment.kubernetes.io/revision"] == "3"
    assert sets[4]["deployment.kubernetes.io/revision-history"] == "1"


async def test_recreation_waits_until_the_old_pods_are_gone(sim):
    await sim.start(*CONTROLLERS)
    await make(sim, strategy={"type": "Recreate"})
    await become_ready(sim)
    for pod in await sim.all("Pod"):
        await sim.merge("Pod", pod["metadata"]["name"], {"metadata": {"finalizers": ["x.io/hold"]}})
    await set_image(sim, "i:2")
    assert await sizes(sim) == {"i:1": 0}
    for pod in await sim.all("Pod"):
        await sim.merge("Pod", pod["metadata"]["name"], {"metadata": {"finalizers": None}})
    assert await sizes(sim) == {"i:1": 0, "i:2": 4}


async def test_scaling_in_the_midst_of_a_rollout_is_spread(sim):
    await sim.start(*CONTROLLERS)
    await make(sim, replicas=10, strategy={"rollingUpdate": {"maxSurge": 3, "maxUnavailable": 2}})
    await become_ready(sim)
    await set_image(sim, "broken")
    assert await sizes(sim) == {"i:1": 8, "broken": 5}
    await sim.merge("Deployment", "web", {"spec": {"replicas": 15}})
    assert await sizes(sim) == {"i:1": 11, "broken": 7}


async def test_a_paused_deployment_scales_but_does_not_roll(sim):
    await sim.start(*CONTROLLERS)
    await make(sim)
    await become_ready(sim)
    await sim.merge("Deployment", "web", {"spec": {"paused": True, "replicas": 6, "template": template("i:2")}})
    assert await sizes(sim) == {"i:1": 6}
    assert await condition(sim, "Progressing") == ("Unknown", "DeploymentPaused")
    await sim.merge("Deployment", "web", {"spec": {"paused": False}})
    await rolled_out(sim)
    assert await sizes(sim) == {"i:1": 0, "i:2": 6}


async def test_old_sets_beyond_the_history_are_deleted(sim):
    await sim.start(*CONTROLLERS)
    await make(sim, replicas=1, revisionHistoryLimit=1)
    await rolled_out(sim, 1)
    for image in ("i:2", "i:3", "i:4"):
        await sim.advance(1)
        await set_image(sim, image)
        await rolled_out(sim, 3)
    assert await sizes(sim) == {"i:3": 0, "i:4": 1}


async def test_a_set_that_cannot_make_pods_shows_in_the_deployment(sim):
    await sim.start(*CONTROLLERS)
    await sim.create("ResourceQuota", "none", spec={"hard": {"pods": "0"}})
    await sim.status("ResourceQuota", "none", {"hard": {"pods": "0"}, "used": {"pods": "0"}})
    await make(sim)
    assert await condition(sim, "ReplicaFailure") == ("True", "FailedCreate")


async def test_deleting_a_deployment_deletes_its_sets_and_pods(sim):
    await sim.start(*CONTROLLERS)
    await make(sim)
    await become_ready(sim)
    await sim.delete("Deployment", "web", options=DeleteOptions(propagation=Propagation.BACKGROUND))
    assert await sim.names("ReplicaSet") == []
    assert await sim.names("Pod") == []


@pytest.mark.parametrize("restarts", [pytest.param(1, id="once"), pytest.param(3, id="thrice")])
async def test_a_restart_in_the_midst_of_a_rollout_changes_nothing(sim, restarts):
    await sim.start(*CONTROLLERS)
    await make(sim)
    await become_ready(sim)
    await set_image(sim, "i:2")
    for _ in range(restarts):
        await sim.start(*CONTROLLERS)
        assert await sizes(sim) == {"i:1": 3, "i:2": 2}
    await rolled_out(sim)
    assert await sizes(sim) == {"i:1": 0, "i:2": 4}
