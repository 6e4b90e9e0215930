"""Claims and volumes: found, made, protected, lost and reclaimed, in virtual time."""

from dataclasses import replace

import pytest

from mockkube.client.protocol import DELETE_DEFAULT, Key
from mockkube.controllers.framework.options import Options

VOLUMES = (
    "persistentvolume-binder-controller",
    "persistentvolumeclaim-protection-controller",
    "persistentvolume-protection-controller",
    "ephemeral-volume-controller",
    "fake-provisioner",
)
FAKE = "mockkube.dev/fake"


@pytest.fixture
async def binding(sim):
    await sim.start(*VOLUMES)
    return sim


async def volume(sim, name, size="1Gi", policy="Retain", modes=("ReadWriteOnce",), **spec):
    given = {"hostPath": {"path": "/x"}, "storageClassName": "slow", **spec}
    spec = {"capacity": {"storage": size}, "accessModes": list(modes), "persistentVolumeReclaimPolicy": policy, **given}
    await sim.create("PersistentVolume", name, "", spec=spec)


async def claim(sim, name="c", size="1Gi", **spec):
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}, **spec}
    await sim.create("PersistentVolumeClaim", name, spec={"storageClassName": "slow", **spec})


async def storage_class(sim, name="slow", provisioner=FAKE, **more):
    await sim.create("StorageClass", name, "", provisioner=provisioner, **more)


async def phase(sim, kind, name):
    namespace = "default" if kind == "PersistentVolumeClaim" else ""
    return (await sim.get(kind, name, namespace))["status"]["phase"]


async def test_a_claim_gets_the_smallest_volume_that_is_large_enough(binding):
    await volume(binding, "large", "4Gi")
    await volume(binding, "fitting", "2Gi")
    await volume(binding, "small", "512Mi")
    await volume(binding, "other", "1Gi", storageClassName="fast")
    await claim(binding)
    bound = await binding.get("PersistentVolumeClaim", "c")
    assert bound["spec"]["volumeName"] == "fitting"
    assert bound["status"] == {"phase": "Bound", "accessModes": ["ReadWriteOnce"], "capacity": {"storage": "2Gi"}}
    assert bound["metadata"]["annotations"] == {
        "pv.kubernetes.io/bind-completed": "yes",
        "pv.kubernetes.io/bound-by-controller": "yes",
    }
    chosen = await binding.get("PersistentVolume", "fitting", "")
    assert chosen["status"]["phase"] == "Bound"
    assert chosen["spec"]["claimRef"]["uid"] == bound["metadata"]["uid"]
    assert chosen["metadata"]["annotations"] == {"pv.kubernetes.io/bound-by-controller": "yes"}


async def test_a_volume_that_can_do_less_is_preferred(binding):
    await volume(binding, "shared", "1Gi", modes=("ReadWriteOnce", "ReadOnlyMany"))
    await volume(binding, "single", "2Gi")
    await claim(binding)
    assert (await binding.get("PersistentVolumeClaim", "c"))["spec"]["volumeName"] == "single"


async def test_a_claim_that_names_its_volume_is_not_marked_as_bound_by_the_controller(binding):
    await volume(binding, "v")
    await claim(binding, volumeName="v")
    bound = await binding.get("PersistentVolumeClaim", "c")
    assert bound["metadata"]["annotations"] == {"pv.kubernetes.io/bind-completed": "yes"}
    assert await phase(binding, "PersistentVolume", "v") == "Bound"


async def test_a_volume_that_comes_later_is_found_at_the_next_round(binding):
    await claim(binding, storageClassName="")
    assert await binding.events("c") == [
        ("FailedBinding", "no persistent volumes available for this claim and no storage class is set", 1)
    ]
    await volume(binding, "v", storageClassName="")
    assert await phase(binding, "PersistentVolumeClaim", "c") == "Pending"
    await binding.advance(16)
    assert await phase(binding, "PersistentVolumeClaim", "c") == "Bound"


async def test_a_missing_class_and_a_foreign_provisioner_are_told_of(binding):
    await claim(binding)
    assert (await binding.events("c"))[0][:2] == (
        "ProvisioningFailed",
        'storageclass.storage.k8s.io "slow" not found',
    )
    await storage_class(binding, "theirs", "example.com/theirs")
    await claim(binding, "d", storageClassName="theirs")
    waiting = await binding.get("PersistentVolumeClaim", "d")
    assert waiting["metadata"]["annotations"]["volume.kubernetes.io/storage-provisioner"] == "example.com/theirs"
    assert "ExternalProvisioning" in [event[0] for event in await binding.events("d")]


async def test_a_claim_whose_volume_is_gone_is_lost(binding):
    await volume(binding, "v")
    await claim(binding)
    await binding.client.delete("PersistentVolume", Key("", "v"), DELETE_DEFAULT)
    await binding.settle()
    assert (await binding.get("PersistentVolume", "v", ""))["metadata"]["deletionTimestamp"]
    await binding.merge("PersistentVolume", "v", {"metadata": {"finalizers": None}}, "")
    assert await phase(binding, "PersistentVolumeClaim", "c") == "Lost"
    assert await binding.events("c", "ClaimLost") == [
        ("ClaimLost", "Bound claim has lost its PersistentVolume. Data on the volume is lost!", 1)
    ]


@pytest.mark.parametrize(
    ("policy", "path", "after", "message"),
    [
        pytest.param("Retain", "/x", "Released", "", id="retained"),
        pytest.param("Recycle", "/x", "Failed", "No recycler plugin found for the volume!", id="cannot be recycled"),
        pytest.param(
            "Delete",
            "/x",
            "Failed",
            "host_path deleter only supports /tmp/.+ but received provided /x",
            id="cannot be deleted",
        ),
    ],
)
async def test_what_becomes_of_a_volume_without_its_claim(binding, policy, path, after, message):
    await volume(binding, "v", policy=policy, hostPath={"path": path})
    await claim(binding)
    await binding.delete("PersistentVolumeClaim", "c")
    status = (await binding.get("PersistentVolume", "v", ""))["status"]
    assert (status["phase"], status.get("message", "")) == (after, message)


async def test_a_scratch_volume_goes_with_its_claim(binding):
    await volume(binding, "v", policy="Delete", hostPath={"path": "/tmp/scratch"})
    await claim(binding)
    await binding.delete("PersistentVolumeClaim", "c")
    assert await binding.get("PersistentVolume", "v", "") is None


async def test_a_claim_in_use_stays_until_the_pod_is_gone(binding):
    await volume(binding, "v")
    await claim(binding)
    await binding.node("n1")
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]
    await binding.pod("p", on="n1", spec={"volumes": volumes})
    await binding.delete("PersistentVolumeClaim", "c")
    assert (await binding.get("PersistentVolumeClaim", "c"))["metadata"]["deletionTimestamp"]
    await binding.delete("Pod", "p")
    assert await binding.get("PersistentVolumeClaim", "c") is None


async def test_the_fake_provisioner_makes_a_volume_and_forgets_it(binding):
    await storage_class(binding)
    await claim(binding, size="3Gi")
    bound = await binding.get("PersistentVolumeClaim", "c")
    name = f"pvc-{bound['metadata']['uid']}"
    assert (bound["status"]["phase"], bound["spec"]["volumeName"]) == ("Bound", name)
    assert bound["status"]["capacity"] == {"storage": "3Gi"}
    assert ("ProvisioningSucceeded", f"Successfully provisioned volume {name}", 1) in await binding.events("c")
    await binding.delete("PersistentVolumeClaim", "c")
    assert await binding.names("PersistentVolume") == []


async def test_a_class_that_waits_is_provisioned_once_a_node_is_selected(binding):
    await storage_class(binding, volumeBindingMode="WaitForFirstConsumer")
    await claim(binding)
    waiting = "waiting for first consumer to be created before binding"
    assert await binding.events("c") == [("WaitForFirstConsumer", waiting, 1)]
    await binding.merge(
        "PersistentVolumeClaim", "c", {"metadata": {"annotations": {"volume.kubernetes.io/selected-node": "n1"}}}
    )
    assert await phase(binding, "PersistentVolumeClaim", "c") == "Bound"


async def test_a_claim_without_a_class_gets_the_default_one(sim):
    await sim.start(*VOLUMES, options=replace(Options(), default_storage_class="standard"))
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    await sim.create("PersistentVolumeClaim", "c", spec=spec)
    bound = await sim.get("PersistentVolumeClaim", "c")
    assert (bound["spec"]["storageClassName"], bound["status"]["phase"]) == ("standard", "Bound")


async def test_a_pod_gets_the_claim_of_its_ephemeral_volume(binding):
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, "storageClassName": ""}
    volumes = [{"name": "v", "ephemeral": {"volumeClaimTemplate": {"spec": spec}}}]
    await binding.pod("p", spec={"volumes": volumes})
    made = await binding.get("PersistentVolumeClaim", "p-v")
    assert made["metadata"]["ownerReferences"][0]["name"] == "p"
