"""Stateful sets against a server in memory, in virtual time; the test is their kubelet."""

import pytest

from mockkube.client.protocol import DELETE_DEFAULT, Key
from mockkube.features.versions import Version

NAME = "statefulset-controller"
TEMPLATE = {
    "metadata": {"labels": {"app": "s"}},
    "spec": {"containers": [{"name": "c", "image": "i"}], "terminationGracePeriodSeconds": 0},
}
CLAIM = {
    "metadata": {"name": "data"},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
}


async def make(sim, name="s", template=TEMPLATE, **spec):
    selector = {"matchLabels": {"app": "s"}}
    fields = {"replicas": 3, "serviceName": "svc", "selector": selector, "template": template, **spec}
    await sim.create("StatefulSet", name, spec=fields)


async def run(sim, *names, ready="True"):
    """Let pods run, ready or not."""
    now = sim.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")
    condition = {"type": "Ready", "status": ready, "lastTransitionTime": now}
    for name in names:
        await sim.status("Pod", name, {"phase": "Running", "conditions": [condition]})


async def run_all(sim, rounds=8):
    """Let every pod run as it comes, until no more come."""
    for _ in range(rounds):
        waiting = [pod["metadata"]["name"] for pod in await sim.all("Pod") if pod["status"]["phase"] == "Pending"]
        await run(sim, *waiting)


async def revisions(sim):
    """Return the pods by the number of the revision they are of."""
    numbers = {one["metadata"]["name"]: one["revision"] for one in await sim.all("ControllerRevision")}
    pods = await sim.all("Pod")
    return {pod["metadata"]["name"]: numbers[pod["metadata"]["labels"]["controller-revision-hash"]] for pod in pods}


def with_image(image):
    return {"spec": {"template": {"spec": {"containers": [{"name": "c", "image": image}]}}}}


async def test_pods_come_one_by_one_each_after_the_one_before_is_ready(sim):
    await sim.start(NAME)
    await make(sim)
    assert await sim.names("Pod") == ["s-0"]
    await run(sim, "s-0", ready="False")
    assert await sim.names("Pod") == ["s-0"]
    await run(sim, "s-0")
    assert await sim.names("Pod") == ["s-0", "s-1"]
    await run_all(sim)
    status = (await sim.get("StatefulSet", "s"))["status"]
    assert {name: status[name] for name in status if name.endswith("Replicas")} == {
        "availableReplicas": 3,
        "currentReplicas": 3,
        "readyReplicas": 3,
        "updatedReplicas": 3,
    }
    assert status["currentRevision"] == status["updateRevision"]
    assert await sim.events("s", "SuccessfulCreate") == [
        ("SuccessfulCreate", f"Create Pod s-{ordinal} in StatefulSet s successful", 1) for ordinal in range(3)
    ]


async def test_a_pod_bears_its_name_its_number_and_the_name_of_its_revision(sim):
    await sim.start(NAME)
    await make(sim, ordinals={"start": 7})
    pod = await sim.get("Pod", "s-7")
    status = (await sim.get("StatefulSet", "s"))["status"]
    assert pod["metadata"]["labels"] == {
        "app": "s",
        "apps.kubernetes.io/pod-index": "7",
        "statefulset.kubernetes.io/pod-name": "s-7",
        "controller-revision-hash": status["updateRevision"],
    }
    assert (pod["spec"]["hostname"], pod["spec"]["subdomain"]) == ("s-7", "svc")
    assert pod["metadata"]["generateName"] == "s-"


async def test_a_parallel_set_makes_all_pods_at_once_and_takes_all_surplus_at_once(sim):
    await sim.start(NAME)
    await make(sim, podManagementPolicy="Parallel")
    assert await sim.names("Pod") == ["s-0", "s-1", "s-2"]
    await sim.merge("StatefulSet", "s", {"spec": {"replicas": 1}})
    assert await sim.names("Pod") == ["s-0"]


async def test_scaling_down_takes_the_highest_and_waits_while_it_goes(sim):
    await sim.start(NAME)
    await make(sim, template={**TEMPLATE, "metadata": {"labels": {"app": "s"}, "finalizers": ["example.com/held"]}})
    await run_all(sim)
    await sim.merge("StatefulSet", "s", {"spec": {"replicas": 1}})
    going = [pod["metadata"]["name"] for pod in await sim.all("Pod") if "deletionTimestamp" in pod["metadata"]]
    assert going == ["s-2"]
    await sim.merge("Pod", "s-2", {"metadata": {"finalizers": None}})
    going = [pod["metadata"]["name"] for pod in await sim.all("Pod") if "deletionTimestamp" in pod["metadata"]]
    assert going == ["s-1"]


async def test_a_lower_pod_that_is_not_ready_holds_up_scaling_down(sim):
    await sim.start(NAME)
    await make(sim)
    await run_all(sim)
    await run(sim, "s-0", ready="False")
    await sim.merge("StatefulSet", "s", {"spec": {"replicas": 1}})
    assert await sim.names("Pod") == ["s-0", "s-1", "s-2"]
    await run(sim, "s-0")
    assert await sim.names("Pod") == ["s-0"]


@pytest.mark.parametrize("phase", ["Failed", "Succeeded"])
async def test_a_pod_that_has_ended_is_deleted_and_made_again(sim, phase):
    await sim.start(NAME)
    await make(sim, replicas=1)
    before = (await sim.get("Pod", "s-0"))["metadata"]["uid"]
    await sim.status("Pod", "s-0", {"phase": phase})
    after = await sim.get("Pod", "s-0")
    assert (after["metadata"]["uid"] != before, after["status"]["phase"]) == (True, "Pending")


async def test_an_update_replaces_pods_from_the_highest_down_to_the_partition(sim):
    await sim.start(NAME)
    await make(sim, updateStrategy={"type": "RollingUpdate", "rollingUpdate": {"partition": 1}})
    await run_all(sim)
    await sim.merge("StatefulSet", "s", with_image("new"))
    assert await revisions(sim) == {"s-0": 1, "s-1": 1, "s-2": 2}
    await run(sim, "s-2")
    assert await revisions(sim) == {"s-0": 1, "s-1": 2, "s-2": 2}
    await run(sim, "s-1")
    status = (await sim.get("StatefulSet", "s"))["status"]
    assert (status["updatedReplicas"], status["currentReplicas"]) == (2, 1)
    assert status["currentRevision"] != status["updateRevision"]
    await sim.delete("Pod", "s-0")
    assert (await revisions(sim))["s-0"] == 1


async def test_a_finished_update_makes_the_new_revision_the_current_one(sim):
    await sim.start(NAME)
    await make(sim)
    await run_all(sim)
    await sim.merge("StatefulSet", "s", with_image("new"))
    await run_all(sim)
    status = (await sim.get("StatefulSet", "s"))["status"]
    assert status["currentRevision"] == status["updateRevision"]
    assert set((await revisions(sim)).values()) == {2}


async def test_going_back_renumbers_the_old_revision(sim):
    await sim.start(NAME)
    await make(sim, replicas=0)
    await sim.merge("StatefulSet", "s", with_image("new"))
    await sim.merge("StatefulSet", "s", with_image("i"))
    assert sorted(one["revision"] for one in await sim.all("ControllerRevision")) == [2, 3]


async def test_old_revisions_beyond_the_limit_are_forgotten(sim):
    await sim.start(NAME)
    await make(sim, replicas=0, revisionHistoryLimit=1)
    for image in ("a", "b", "c", "d"):
        await sim.merge("StatefulSet", "s", with_image(image))
    # the current one is that of replicas which never were
    assert sorted(one["revision"] for one in await sim.all("ControllerRevision")) == [4, 5]


async def test_on_delete_only_who_is_deleted_is_replaced(sim):
    await sim.start(NAME)
    await make(sim, updateStrategy={"type": "OnDelete"})
    await run_all(sim)
    await sim.merge("StatefulSet", "s", with_image("new"))
    assert set((await revisions(sim)).values()) == {1}
    await sim.delete("Pod", "s-1")
    assert await revisions(sim) == {"s-0": 1, "s-1": 2, "s-2": 1}


async def test_pods_wait_until_the_one_before_has_been_ready_for_long_enough(sim):
    await sim.start(NAME)
    await make(sim, minReadySeconds=30)
    await run(sim, "s-0")
    await sim.advance(29)
    assert await sim.names("Pod") == ["s-0"]
    await sim.advance(1)
    assert await sim.names("Pod") == ["s-0", "s-1"]
    assert (await sim.get("StatefulSet", "s"))["status"]["availableReplicas"] == 1


async def test_claims_come_before_pods_and_stay_after_them(sim):
    await sim.start(NAME)
    await make(sim, replicas=2, volumeClaimTemplates=[CLAIM], podManagementPolicy="Parallel")
    assert await sim.names("PersistentVolumeClaim") == ["data-s-0", "data-s-1"]
    claim, pod = await sim.get("PersistentVolumeClaim", "data-s-0"), await sim.get("Pod", "s-0")
    assert (claim["metadata"]["labels"], claim["metadata"].get("ownerReferences")) == ({"app": "s"}, None)
    assert pod["spec"]["volumes"][0] == {"name": "data", "persistentVolumeClaim": {"claimName": "data-s-0"}}
    assert ("SuccessfulCreate", "Create Claim data-s-0 Pod s-0 in StatefulSet s success", 1) in await sim.events("s")
    await sim.merge("StatefulSet", "s", {"spec": {"replicas": 0}})
    assert (await sim.names("Pod"), len(await sim.names("PersistentVolumeClaim"))) == ([], 2)


@pytest.mark.parametrize(
    ("deleted", "scaled", "kept", "condemned"),
    [
        pytest.param("Retain", "Retain", [], [], id="both kept"),
        pytest.param("Delete", "Retain", ["StatefulSet"], ["StatefulSet"], id="deleted with the set"),
        pytest.param("Retain", "Delete", [], ["Pod"], id="deleted with the pod"),
        pytest.param("Delete", "Delete", ["StatefulSet"], ["Pod"], id="deleted with either"),
    ],
)
async def test_claims_belong_to_whom_the_retention_policy_says(sim, deleted, scaled, kept, condemned):
    await sim.start(NAME)
    policy = {"whenDeleted": deleted, "whenScaled": scaled}
    held = {**TEMPLATE, "metadata": {"labels": {"app": "s"}, "finalizers": ["example.com/held"]}}
    await make(
        sim, template=held, replicas=2, volumeClaimTemplates=[CLAIM], persistentVolumeClaimRetentionPolicy=policy
    )
    await run_all(sim)
    await sim.merge("StatefulSet", "s", {"spec": {"replicas": 1}})
    owners = {
        claim["metadata"]["name"]: [owner["kind"] for owner in claim["metadata"].get("ownerReferences", ())]
        for claim in await sim.all("PersistentVolumeClaim")
    }
    assert owners == {"data-s-0": kept, "data-s-1": condemned}


async def test_a_pod_waits_for_the_claims_of_the_pod_before_it_to_go(sim):
    await sim.start(NAME, "persistentvolumeclaim-protection-controller")
    policy = {"whenScaled": "Delete"}
    reference = {"apiVersion": "v1", "kind": "Pod", "name": "s-0", "uid": "former"}
    await sim.create("PersistentVolumeClaim", "data-s-0", metadata={"ownerReferences": [reference]}, spec=CLAIM["spec"])
    await make(sim, volumeClaimTemplates=[CLAIM], persistentVolumeClaimRetentionPolicy=policy)
    assert await sim.names("Pod") == []
    await sim.delete("PersistentVolumeClaim", "data-s-0")
    await sim.merge("StatefulSet", "s", {"metadata": {"labels": {"touched": "yes"}}})
    assert await sim.names("Pod") == ["s-0"]


async def test_refused_pods_are_tried_again_ever_later_and_told_in_one_event(sim):
    await sim.create("ResourceQuota", "none", spec={"hard": {"pods": "0"}})
    await sim.status("ResourceQuota", "none", {"hard": {"pods": "0"}, "used": {"pods": "0"}})
    await sim.start(NAME)
    await make(sim)
    await sim.advance(20)
    ((reason, message, count),) = await sim.events("s")
    assert (reason, count) == ("FailedCreate", 12)
    assert message.startswith('Create Pod s-0 in StatefulSet s failed error: pods "s-0" is forbidden: exceeded quota')


async def test_older_releases_begin_messages_in_small_letters(sim):
    await sim.start(NAME, version=Version(1, 34))
    await make(sim, replicas=1)
    assert [message for _, message, _ in await sim.events("s")] == ["create Pod s-0 in StatefulSet s successful"]


async def test_a_set_on_its_way_out_only_counts(sim):
    await sim.start(NAME)
    await sim.create(
        "StatefulSet",
        "s",
        metadata={"finalizers": ["example.com/held"]},
        spec={"serviceName": "svc", "selector": {"matchLabels": {"app": "s"}}, "template": TEMPLATE},
    )
    await run_all(sim)
    await sim.client.delete("StatefulSet", Key("default", "s"), DELETE_DEFAULT)
    await sim.delete("Pod", "s-0")
    assert await sim.names("Pod") == []
    assert (await sim.get("StatefulSet", "s"))["status"]["replicas"] == 0


async def test_a_revision_that_means_the_same_in_other_words_is_not_a_new_one(sim):
    await sim.start(NAME)
    await make(sim, replicas=1)
    (revision,) = await sim.all("ControllerRevision")
    (container,) = revision["data"]["spec"]["template"]["spec"]["containers"]
    del container["imagePullPolicy"]
    changed = {**revision, "data": {"spec": {"template": {**revision["data"]["spec"]["template"], "later": True}}}}
    await sim.stop()
    await sim.client.delete("ControllerRevision", Key("default", revision["metadata"]["name"]))
    del changed["metadata"]["resourceVersion"], changed["metadata"]["uid"]
    await sim.client.create("ControllerRevision", changed)
    await sim.start(NAME)
    assert len(await sim.all("ControllerRevision")) == 1


async def test_a_revision_tells_its_hash_in_a_label_of_its_own(sim):
    await sim.start(NAME)
    await make(sim)
    [revision] = await sim.all("ControllerRevision")
    labels = revision["metadata"]["labels"]
    assert labels == {"app": "s", "controller.kubernetes.io/hash": revision["metadata"]["name"].removeprefix("s-")}
