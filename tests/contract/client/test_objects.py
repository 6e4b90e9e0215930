"""What every client promises about single objects and collections."""

from copy import deepcopy
from typing import Any

import pytest

from mockkube.api.errors import AlreadyExists, Conflict, Forbidden, Invalid, MethodNotAllowed, NotFound
from mockkube.api.patching.patch_type import PatchType
from mockkube.client.protocol import DELETE_NOW, Client, DeleteOptions, Key, Selection

P = Key("default", "p")


def pod(name: str = "p", **spec: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "default", "labels": {"app": name}, "finalizers": ["example.com/stay"]}
    return {"metadata": metadata, "spec": {"containers": [{"name": "c", "image": "i"}], **spec}}


def plain(name: str = "p", **spec: Any) -> dict[str, Any]:
    made = pod(name, **spec)
    del made["metadata"]["finalizers"]
    return made


async def test_what_was_created_is_got(client: Client) -> None:
    created = await client.create("Pod", pod())
    assert await client.get("Pod", P) == created
    assert (created["kind"], created["apiVersion"]) == ("Pod", "v1")


async def test_what_is_sent_stays_the_senders(client: Client) -> None:
    sent = pod(tolerations=[{"key": "a", "operator": "Exists"}], nodeSelector={"a": "b"})
    kept = deepcopy(sent)
    await client.create("Pod", sent)
    await client.patch("Pod", P, patch := {"metadata": {"labels": {"more": "yes"}}})
    assert (sent, patch) == (kept, {"metadata": {"labels": {"more": "yes"}}})


async def test_whether_somebody_may_do_something_can_be_asked(client: Client) -> None:
    wanted = {"verb": "get", "resource": "pods", "namespace": "default"}
    for groups, allowed in (["system:masters"], True), (["nobody"], False):
        spec = {"user": "joe", "groups": groups, "resourceAttributes": wanted}
        answer = await client.create("SubjectAccessReview", {"metadata": {}, "spec": spec})
        assert answer["status"]["allowed"] is allowed
    with pytest.raises(Invalid, match="at least one of user or group must be specified"):
        await client.create("SubjectAccessReview", {"metadata": {}, "spec": {"resourceAttributes": wanted}})


async def test_a_name_is_taken_once(client: Client) -> None:
    await client.create("Pod", pod())
    with pytest.raises(AlreadyExists, match='pods "p" already exists'):
        await client.create("Pod", pod())


async def test_what_is_not_there_is_not_found(client: Client) -> None:
    with pytest.raises(NotFound, match='pods "p" not found'):
        await client.get("Pod", P)


async def test_a_kind_nobody_serves_is_not_found(client: Client) -> None:
    with pytest.raises(NotFound):
        await client.list("Gizmo")


async def test_what_breaks_the_rules_is_invalid(client: Client) -> None:
    with pytest.raises(Invalid, match=r"spec\.containers: Required value") as caught:
        await client.create("Pod", pod(containers=[]))
    assert caught.value.details is not None
    assert caught.value.details["causes"][0]["field"] == "spec.containers"


async def test_a_namespace_that_ends_forbids_what_is_new(client: Client) -> None:
    await client.create("Namespace", {"metadata": {"name": "ending"}})
    await client.delete("Namespace", Key("", "ending"))
    made = pod()
    made["metadata"]["namespace"] = "ending"
    with pytest.raises(Forbidden, match="because it is being terminated"):
        await client.create("Pod", made)


async def test_an_update_of_an_old_version_is_a_conflict(client: Client) -> None:
    old = await client.create("Pod", plain())
    await client.patch("Pod", P, {"metadata": {"labels": {"a": "b"}}})
    with pytest.raises(Conflict, match="the object has been modified"):
        await client.update("Pod", {**old, "metadata": {**old["metadata"], "labels": {}}})


async def test_a_status_is_written_alone(client: Client) -> None:
    made = await client.create("Pod", plain())
    changed = {**made, "spec": {**made["spec"], "nodeName": "n"}, "status": {**made["status"], "phase": "Running"}}
    updated = await client.update("Pod", changed, subresource="status")
    assert (updated["status"]["phase"], updated["spec"].get("nodeName")) == ("Running", None)


@pytest.mark.parametrize(
    ("media", "patch"),
    [
        (PatchType.STRATEGIC, {"metadata": {"labels": {"a": "b"}}}),
        (PatchType.MERGE, {"metadata": {"labels": {"a": "b"}}}),
        (PatchType.JSON, [{"op": "add", "path": "/metadata/labels/a", "value": "b"}]),
        (PatchType.APPLY, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "labels": {"a": "b"}}}),
    ],
)
async def test_a_patch_changes_what_it_says(client: Client, media: PatchType, patch: object) -> None:
    await client.create("Pod", plain())
    patched = await client.patch("Pod", P, patch, patch_type=media)
    assert patched["metadata"]["labels"] == {"app": "p", "a": "b"}


async def test_writes_are_remembered_under_the_program(client: Client) -> None:
    created = await client.create("Pod", plain())
    assert [entry["manager"] for entry in created["metadata"]["managedFields"]] == ["kube-controller-manager"]


async def test_a_deletion_of_another_uid_is_a_conflict(client: Client) -> None:
    await client.create("Pod", plain())
    with pytest.raises(Conflict, match="does not match the UID in record"):
        await client.delete("Pod", P, DeleteOptions(uid="other"))
    assert await client.get("Pod", P)


async def test_a_deletion_of_another_version_is_a_conflict(client: Client) -> None:
    await client.create("Pod", plain())
    with pytest.raises(Conflict, match="does not match the ResourceVersion in record"):
        await client.delete("Pod", P, DeleteOptions(resource_version="1"))


async def test_a_deletion_waits_for_finalizers(client: Client) -> None:
    made = await client.create("Pod", pod())
    await client.delete("Pod", P, DeleteOptions(uid=made["metadata"]["uid"], grace_seconds=0))
    assert (await client.get("Pod", P))["metadata"]["deletionTimestamp"]


async def test_a_deletion_at_once_is_done(client: Client) -> None:
    await client.create("Pod", plain())
    await client.delete("Pod", P, DELETE_NOW)
    with pytest.raises(NotFound):
        await client.get("Pod", P)


async def test_a_collection_is_deleted_as_selected(client: Client) -> None:
    for name in ("a", "b", "c"):
        await client.create("Pod", plain(name))
    await client.delete_collection("Pod", Selection("default", labels="app in (a,b)"), DELETE_NOW)
    assert [item["metadata"]["name"] for item in (await client.list("Pod")).items] == ["c"]


async def test_a_list_says_of_its_items_what_they_are(client: Client) -> None:
    await client.create("Pod", plain())
    listed = await client.list("Pod", Selection("default", fields="metadata.name=p"))
    assert [(item["kind"], item["apiVersion"]) for item in listed.items] == [("Pod", "v1")]
    assert int(listed.resource_version) >= int(listed.items[0]["metadata"]["resourceVersion"])


async def test_a_pod_is_bound(client: Client) -> None:
    await client.create("Pod", plain())
    binding = {"metadata": {"name": "p", "namespace": "default"}, "target": {"kind": "Node", "name": "n1"}}
    await client.create("Pod", binding, subresource="binding")
    assert (await client.get("Pod", P))["spec"]["nodeName"] == "n1"
    with pytest.raises(Conflict, match="already assigned to node"):
        await client.create("Pod", binding, subresource="binding", name="p")


async def test_a_pod_is_evicted(client: Client) -> None:
    await client.create("Pod", plain())
    eviction = {"metadata": {"name": "p", "namespace": "default"}, "deleteOptions": {"gracePeriodSeconds": 0}}
    await client.create("Pod", eviction, subresource="eviction")
    with pytest.raises(NotFound):
        await client.get("Pod", P)


async def test_a_workload_is_scaled(client: Client) -> None:
    labels = {"app": "d"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
    await client.create("Deployment", {"metadata": {"name": "d", "namespace": "default"}, "spec": spec})
    key = Key("default", "d")
    scale = {"metadata": {"name": "d", "namespace": "default"}, "spec": {"replicas": 3}}
    assert (await client.update("Deployment", scale, subresource="scale"))["kind"] == "Scale"
    read = await client.get("Deployment", key, subresource="scale")
    assert (read["kind"], read["spec"]["replicas"]) == ("Scale", 3)
    for kind in ("Pod", "Nothing"):
        with pytest.raises(NotFound):
            await client.get(kind, Key("default", "d"), subresource="scale")
    assert (await client.get("Deployment", key))["spec"]["replicas"] == 3
    patch = {"spec": {"replicas": 5}}
    await client.patch("Deployment", key, patch, patch_type=PatchType.MERGE, subresource="scale")
    assert (await client.get("Deployment", key))["spec"]["replicas"] == 5


async def test_a_verb_a_subresource_lacks_is_not_allowed(client: Client) -> None:
    made = await client.create("Pod", plain())
    with pytest.raises(MethodNotAllowed):
        await client.update("Pod", dict(made), subresource="binding")


async def test_one_object_has_a_face_in_each_group(client: Client) -> None:
    about = {"kind": "Pod", "name": "p", "namespace": "default"}
    moment = "2030-01-01T00:00:00.000000Z"
    event = {
        "metadata": {"name": "p.1", "namespace": "default"}, "regarding": about, "note": "hello", "reason": "Said",
        "action": "Saying", "type": "Normal", "eventTime": moment,
        "reportingController": "c.example.com", "reportingInstance": "i",
    }  # fmt: skip
    created = await client.create("Event.events.k8s.io", event)
    core = await client.get("Event", Key("default", "p.1"))
    assert (created["note"], core["message"], core["apiVersion"]) == ("hello", "hello", "v1")


async def test_an_older_component_does_not_see_what_it_does_not_know(client: Client, older: Client) -> None:
    await client.create("Pod", plain(hostnameOverride="other"))
    seen = await older.get("Pod", P)
    assert "hostnameOverride" not in seen["spec"]
    assert [item["spec"] for item in (await older.list("Pod")).items] == [seen["spec"]]
    assert (await client.get("Pod", P))["spec"]["hostnameOverride"] == "other"


async def test_an_older_component_speaks_the_version_it_has(client: Client, older: Client) -> None:
    assert await client.list("DeviceClass")
    with pytest.raises(NotFound):
        await older.list("DeviceClass")


async def test_what_an_older_component_sends_back_has_lost_what_it_does_not_know(client: Client, older: Client) -> None:
    labels = {"app": "d"}
    template = {
        "metadata": {"labels": labels},
        "spec": {"containers": [{"name": "c", "image": "i"}], "hostnameOverride": "other"},
    }
    spec = {"selector": {"matchLabels": labels}, "template": template}
    await client.create("ReplicaSet", {"metadata": {"name": "d", "namespace": "default"}, "spec": spec})
    seen = await older.get("ReplicaSet", Key("default", "d"))
    await older.update("ReplicaSet", {**seen, "spec": {**seen["spec"], "replicas": 2}})
    kept = await client.get("ReplicaSet", Key("default", "d"))
    assert (kept["spec"]["replicas"], kept["spec"]["template"]["spec"].get("hostnameOverride")) == (2, None)
