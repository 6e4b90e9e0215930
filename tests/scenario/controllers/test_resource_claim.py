"""Claims for devices: made from templates, reserved, and given back."""

import pytest

FINALIZER = "resource.kubernetes.io/delete-protection"
REQUESTS = {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu"}}]}}
ALLOCATION = {"devices": {"results": [{"request": "r", "driver": "d.example.com", "pool": "p", "device": "g"}]}}


@pytest.fixture
async def claiming(sim):
    await sim.start("resourceclaim-controller")
    await sim.node("n1")
    return sim


async def template(sim, name="t"):
    await sim.create("ResourceClaimTemplate", name, spec={"metadata": {"labels": {"a": "b"}}, "spec": REQUESTS})


async def wishing(sim, name="p", **more):
    claims = [{"name": "c", "resourceClaimTemplateName": "t"}]
    container = {"name": "c", "image": "i", "resources": {"claims": [{"name": "c"}]}}
    await sim.pod(name, spec={"resourceClaims": claims, "containers": [container]}, **more)


async def made(sim):
    (claim,) = await sim.all("ResourceClaim")
    return claim


async def allocated(sim, pod):
    claim = await made(sim)
    await sim.merge("ResourceClaim", claim["metadata"]["name"], {"metadata": {"finalizers": [FINALIZER]}})
    consumer = {"resource": "pods", "name": pod, "uid": (await sim.get("Pod", pod))["metadata"]["uid"]}
    status = {"allocation": ALLOCATION, "reservedFor": [consumer]}
    await sim.status("ResourceClaim", claim["metadata"]["name"], status)


async def test_a_pod_gets_a_claim_of_its_template(claiming):
    await template(claiming)
    await wishing(claiming)
    claim = await made(claiming)
    assert claim["metadata"]["generateName"] == "p-c-"
    assert claim["metadata"]["annotations"] == {"resource.kubernetes.io/pod-claim-name": "c"}
    assert claim["metadata"]["labels"] == {"a": "b"}
    status = (await claiming.get("Pod", "p"))["status"]
    assert status["resourceClaimStatuses"] == [{"name": "c", "resourceClaimName": claim["metadata"]["name"]}]


async def test_a_missing_template_is_told_of_and_waited_for(claiming):
    await wishing(claiming)
    (event,) = {event[:2] for event in await claiming.events("p")}
    assert event == (
        "FailedResourceClaimCreation",
        'PodResourceClaim c: resource claim template "t": resourceclaimtemplate.resource.k8s.io "t" not found',
    )
    await template(claiming)
    assert await made(claiming)


async def test_a_finished_pod_gives_its_claim_back(claiming):
    await template(claiming)
    await wishing(claiming)
    await allocated(claiming, "p")
    await claiming.status("Pod", "p", {"phase": "Succeeded"})
    assert await claiming.all("ResourceClaim") == []


async def test_a_claim_made_by_hand_stays_and_is_free_again(claiming):
    await claiming.create("ResourceClaim", "mine", spec=REQUESTS)
    claims = [{"name": "c", "resourceClaimName": "mine"}]
    await claiming.pod("p", spec={"resourceClaims": claims})
    await allocated(claiming, "p")
    await claiming.delete("Pod", "p")
    claim = await made(claiming)
    assert not claim.get("status")
    assert "finalizers" not in claim["metadata"]


async def test_a_pod_bound_by_hand_gets_its_allocated_claim_reserved(claiming):
    await claiming.create("ResourceClaim", "mine", spec=REQUESTS)
    await claiming.merge("ResourceClaim", "mine", {"metadata": {"finalizers": [FINALIZER]}})
    await claiming.status("ResourceClaim", "mine", {"allocation": ALLOCATION})
    await claiming.pod("p", on="n1", spec={"resourceClaims": [{"name": "c", "resourceClaimName": "mine"}]})
    assert [one["name"] for one in (await made(claiming))["status"]["reservedFor"]] == ["p"]
