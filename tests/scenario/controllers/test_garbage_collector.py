"""What becomes of objects when those who own them go."""

import pytest

from mockkube.client.protocol import DeleteOptions, Key, Propagation

MISSING = "22222222-2222-2222-2222-222222222222"


def owned_by(owner, **more):
    metadata = owner["metadata"]
    reference = {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": metadata["name"]}
    return {**reference, "uid": metadata["uid"], **more}


@pytest.fixture
async def collecting(sim):
    await sim.start("garbage-collector-controller")
    return sim


async def family(sim, **reference):
    """A grandparent, a parent and a child."""
    above = await sim.create("ConfigMap", "a")
    between = await sim.create("Secret", "b", metadata={"ownerReferences": [owned_by(above, **reference)]})
    await sim.create("ConfigMap", "c", metadata={"ownerReferences": [owned_by(between, **reference)]})


async def test_dependents_follow_their_owner_in_the_background(collecting):
    await family(collecting)
    await collecting.delete("ConfigMap", "a", options=DeleteOptions(propagation=Propagation.BACKGROUND))
    assert await collecting.names("Secret", "default") == []
    assert "c" not in await collecting.names("ConfigMap", "default")


async def test_a_foreground_deletion_ends_with_the_owner(collecting):
    await family(collecting, blockOwnerDeletion=True)
    await collecting.merge("ConfigMap", "c", {"metadata": {"finalizers": ["example.com/held"]}})
    await collecting.delete("ConfigMap", "a", options=DeleteOptions(propagation=Propagation.FOREGROUND))
    for kind, name in (("ConfigMap", "a"), ("Secret", "b")):
        held = await collecting.get(kind, name)
        assert held["metadata"]["finalizers"] == ["foregroundDeletion"]
    await collecting.merge("ConfigMap", "c", {"metadata": {"finalizers": None}})
    assert await collecting.get("Secret", "b") is None
    assert await collecting.get("ConfigMap", "a") is None


async def test_orphans_lose_the_reference_and_stay(collecting):
    await family(collecting)
    await collecting.delete("ConfigMap", "a", options=DeleteOptions(propagation=Propagation.ORPHAN))
    assert await collecting.get("ConfigMap", "a") is None
    assert "ownerReferences" not in (await collecting.get("Secret", "b"))["metadata"]
    assert (await collecting.get("ConfigMap", "c"))["metadata"]["ownerReferences"][0]["name"] == "b"


async def test_an_object_goes_whose_only_owner_does_not_exist(collecting):
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "gone", "uid": MISSING}
    await collecting.create("ConfigMap", "dead", metadata={"ownerReferences": [reference]})
    assert await collecting.get("ConfigMap", "dead") is None


async def test_one_owner_that_lives_keeps_an_object_and_the_others_are_dropped(collecting):
    live = await collecting.create("ConfigMap", "live")
    dead = {"apiVersion": "v1", "kind": "ConfigMap", "name": "gone", "uid": MISSING}
    await collecting.create("ConfigMap", "half", metadata={"ownerReferences": [dead, owned_by(live)]})
    assert (await collecting.get("ConfigMap", "half"))["metadata"]["ownerReferences"] == [owned_by(live)]


async def test_an_owner_in_another_namespace_counts_as_missing_and_is_reported(collecting):
    live = await collecting.create("ConfigMap", "live")
    await collecting.create("Namespace", "other", "")
    await collecting.create("ConfigMap", "far", "other", metadata={"ownerReferences": [owned_by(live)]})
    assert await collecting.get("ConfigMap", "far", "other") is None
    (event,) = await collecting.events("far")
    assert event[0] == "OwnerRefInvalidNamespace"
    uid = live["metadata"]["uid"]
    assert event[1] == (
        f'ownerRef [v1/ConfigMap, namespace: other, name: live, uid: {uid}] does not exist in namespace "other"'
    )


async def test_what_was_missed_while_nobody_ran_is_made_up_for(sim):
    await family(sim)
    await sim.client.delete("ConfigMap", Key("default", "a"), DeleteOptions(propagation=Propagation.BACKGROUND))
    await sim.start("garbage-collector-controller")
    await sim.advance(1)
    assert await sim.names("Secret", "default") == []
    assert "c" not in await sim.names("ConfigMap", "default")


async def test_an_owner_of_an_unknown_kind_keeps_its_dependents(collecting):
    reference = {"apiVersion": "example.com/v1", "kind": "Thing", "name": "t", "uid": MISSING}
    await collecting.create("ConfigMap", "c", metadata={"ownerReferences": [reference]})
    await collecting.advance(60)
    assert await collecting.get("ConfigMap", "c")
