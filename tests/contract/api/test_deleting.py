"""Deleting over HTTP: at once, when the finalizers are gone, after a grace, many at a time, under preconditions."""

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.contract.api.conftest import Api

Object = dict[str, Any]
pytestmark = pytest.mark.asyncio(loop_scope="module")


def config(name: str, *finalizers: str, **labels: str) -> Object:
    return {"metadata": {"name": name, "finalizers": list(finalizers), "labels": labels}}


def pod(name: str, *finalizers: str) -> Object:
    spec = {"containers": [{"name": "main", "image": "image:1"}], "nodeName": "n1"}
    return {"metadata": {"name": name, "finalizers": list(finalizers)}, "spec": spec}


async def gone(api: "Api", path: str) -> bool:
    return (await api.ask("GET", path)).status == 404


async def test_what_was_deleted_is_gone(api: "Api", lab: str) -> None:
    created = await api.create(f"{lab}/configmaps", config("a"))
    answer = await api.delete(f"{lab}/configmaps/a")
    assert answer.json["status"] == "Success"
    assert answer.json["details"] == {"name": "a", "kind": "configmaps", "uid": created["metadata"]["uid"]}
    assert await gone(api, f"{lab}/configmaps/a")


async def test_what_is_not_there_cannot_be_deleted(api: "Api", lab: str) -> None:
    answer = await api.ask("DELETE", f"{lab}/configmaps/a")
    assert (answer.status, answer.message) == (404, 'configmaps "a" not found')


async def test_a_finalizer_holds_the_object_until_it_is_removed(api: "Api", lab: str) -> None:
    await api.create(f"{lab}/configmaps", config("a", "example.com/hold"))
    await api.delete(f"{lab}/configmaps/a")
    held = await api.get(f"{lab}/configmaps/a")
    assert held["metadata"]["deletionTimestamp"]
    assert held["metadata"]["deletionGracePeriodSeconds"] == 0
    await api.patch(f"{lab}/configmaps/a", {"metadata": {"finalizers": None}})
    assert await gone(api, f"{lab}/configmaps/a")


async def test_deleting_again_what_is_held_changes_nothing(api: "Api", lab: str) -> None:
    await api.create(f"{lab}/configmaps", config("a", "example.com/hold"))
    await api.delete(f"{lab}/configmaps/a")
    held = await api.get(f"{lab}/configmaps/a")
    await api.delete(f"{lab}/configmaps/a")
    assert await api.get(f"{lab}/configmaps/a") == held


async def test_what_is_being_deleted_gets_no_new_finalizer(api: "Api", lab: str) -> None:
    await api.create(f"{lab}/configmaps", config("a", "example.com/hold"))
    await api.delete(f"{lab}/configmaps/a")
    patch = {"metadata": {"finalizers": ["example.com/hold", "example.com/more"]}}
    answer = await api.ask("PATCH", f"{lab}/configmaps/a", patch, media="application/merge-patch+json")
    assert answer.status == 422
    assert "no new finalizers can be added if the object is being deleted" in answer.message


async def test_a_name_is_free_again_only_after_the_last_finalizer(api: "Api", lab: str) -> None:
    await api.create(f"{lab}/configmaps", config("a", "example.com/hold"))
    await api.delete(f"{lab}/configmaps/a")
    answer = await api.ask("POST", f"{lab}/configmaps", config("a"))
    assert (answer.status, answer.message) == (409, 'object is being deleted: configmaps "a" already exists')


async def test_a_pod_on_a_node_is_deleted_gracefully(api: "Api", lab: str) -> None:
    await api.create(f"{lab}/pods", pod("a"))
    answer = await api.delete(f"{lab}/pods/a")
    metadata = answer.json["metadata"]
    assert metadata["deletionGracePeriodSeconds"] == 30
    assert metadata["deletionTimestamp"]
    assert (await api.get(f"{lab}/pods/a"))["metadata"] == metadata


async def test_a_grace_can_be_shortened_but_not_prolonged(api: "Api", lab: str) -> None:
    await api.create(f"{lab}/pods", pod("a"))
    graces = []
    for seconds in (20, 10, 60):
        await api.delete(f"{lab}/pods/a?gracePeriodSeconds={seconds}")
        graces.append((await api.get(f"{lab}/pods/a"))["metadata"]["deletionGracePeriodSeconds"])
    assert graces == [20, 10, 10]


@pytest.mark.parametrize(
    ("query", "body"),
    [
        pytest.param("?gracePeriodSeconds=0", None, id="in the query"),
        pytest.param("", {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0}, id="in the body"),
    ],
)
async def test_no_grace_deletes_at_once(api: "Api", lab: str, query: str, body: Object | None) -> None:
    await api.create(f"{lab}/pods", pod("a"))
    await api.delete(f"{lab}/pods/a{query}", body)
    assert await gone(api, f"{lab}/pods/a")


async def test_a_pod_without_a_node_goes_at_once(api: "Api", lab: str) -> None:
    unscheduled = pod("a")
    del unscheduled["spec"]["nodeName"]
    await api.create(f"{lab}/pods", unscheduled)
    await api.delete(f"{lab}/pods/a")
    assert await gone(api, f"{lab}/pods/a")


@pytest.mark.parametrize("what", ["uid", "resourceVersion"])
async def test_a_precondition_that_does_not_hold_is_a_conflict(api: "Api", lab: str, what: str) -> None:
    created = await api.create(f"{lab}/configmaps", config("a"))
    answer = await api.ask("DELETE", f"{lab}/configmaps/a", {"preconditions": {what: "1"}})
    assert answer.status == 409
    assert await api.get(f"{lab}/configmaps/a") == created


async def test_preconditions_that_hold_let_it_go(api: "Api", lab: str) -> None:
    metadata = (await api.create(f"{lab}/configmaps", config("a")))["metadata"]
    preconditions = {"uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"]}
    await api.delete(f"{lab}/configmaps/a", {"preconditions": preconditions})
    assert await gone(api, f"{lab}/configmaps/a")


@pytest.mark.parametrize(
    ("policy", "finalizers"),
    [
        pytest.param("Foreground", ["foregroundDeletion"], id="dependents first"),
        pytest.param("Orphan", ["orphan"], id="dependents stay"),
    ],
)
async def test_what_becomes_of_dependents_is_noted_for_the_collector(
    api: "Api", lab: str, policy: str, finalizers: list[str]
) -> None:
    await api.create(f"{lab}/configmaps", config("a"))
    await api.delete(f"{lab}/configmaps/a?propagationPolicy={policy}")
    assert (await api.get(f"{lab}/configmaps/a"))["metadata"]["finalizers"] == finalizers


async def test_a_propagation_nobody_knows_is_refused(api: "Api", lab: str) -> None:
    await api.create(f"{lab}/configmaps", config("a"))
    answer = await api.ask("DELETE", f"{lab}/configmaps/a?propagationPolicy=Sideways")
    assert answer.status == 422
    assert 'propagationPolicy: Unsupported value: "Sideways"' in answer.message


async def test_a_collection_is_deleted_as_far_as_it_is_selected(api: "Api", lab: str) -> None:
    for name, side in (("a", "left"), ("b", "right"), ("c", "left")):
        await api.create(f"{lab}/configmaps", config(name, side=side))
    answer = await api.delete(f"{lab}/configmaps?labelSelector=side%3Dleft")
    left = [item["metadata"]["name"] for item in (await api.get(f"{lab}/configmaps"))["items"]]
    assert [item["metadata"]["name"] for item in answer.json["items"]] == ["a", "c"]
    assert "b" in left
    assert not {"a", "c"} & set(left)


async def test_deleting_a_collection_keeps_to_its_namespace(api: "Api", lab: str) -> None:
    await api.create(f"{lab}/secrets", config("a"))
    other = await api.create("/api/v1/namespaces/default/secrets", {"metadata": {"generateName": "other-"}})
    await api.delete(f"{lab}/secrets")
    assert await gone(api, f"{lab}/secrets/a")
    await api.get(f"/api/v1/namespaces/default/secrets/{other['metadata']['name']}")


async def test_held_members_of_a_deleted_collection_stay_marked(api: "Api", lab: str) -> None:
    await api.create(f"{lab}/secrets", config("a", "example.com/hold"))
    await api.create(f"{lab}/secrets", config("b"))
    await api.delete(f"{lab}/secrets")
    items = (await api.get(f"{lab}/secrets"))["items"]
    assert [(item["metadata"]["name"], "deletionTimestamp" in item["metadata"]) for item in items] == [("a", True)]


async def test_a_deleted_namespace_is_terminating_until_it_is_finalized(api: "Api", lab: str) -> None:
    answer = await api.delete(lab)
    assert answer.json["status"]["phase"] == "Terminating"
    refused = await api.ask("POST", f"{lab}/configmaps", config("late"))
    assert refused.status == 403
    assert "because it is being terminated" in refused.message
    namespace = await api.get(lab)
    finalized = await api.ask("PUT", f"{lab}/finalize", {**namespace, "spec": {"finalizers": []}})
    assert finalized.status == 200
    assert await gone(api, lab)


async def test_an_eviction_deletes_the_pod(api: "Api", lab: str) -> None:
    await api.create(f"{lab}/pods", pod("a"))
    eviction = {"kind": "Eviction", "apiVersion": "policy/v1", "metadata": {"name": "a"}}
    answer = await api.ask("POST", f"{lab}/pods/a/eviction", eviction)
    assert (answer.status, answer.json["status"]) == (201, "Success")
    assert "deletionTimestamp" in (await api.get(f"{lab}/pods/a"))["metadata"]


async def test_an_eviction_that_a_budget_forbids_is_refused_for_now(api: "Api", lab: str) -> None:
    guarded = pod("a")
    guarded["metadata"]["labels"] = {"app": "web"}
    await api.create(f"{lab}/pods", guarded)
    await api.patch(f"{lab}/pods/a/status", {"status": {"phase": "Running"}})
    budgets = lab.replace("/api/v1/", "/apis/policy/v1/") + "/poddisruptionbudgets"
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}}
    await api.create(budgets, {"metadata": {"name": "pdb"}, "spec": spec})
    answer = await api.ask("POST", f"{lab}/pods/a/eviction", {"metadata": {"name": "a"}})
    assert answer.status == 429
    assert answer.json["reason"] == "TooManyRequests"
    assert "deletionTimestamp" not in (await api.get(f"{lab}/pods/a"))["metadata"]


async def test_a_binding_puts_a_pod_on_its_node_once(api: "Api", lab: str) -> None:
    unscheduled = pod("a")
    del unscheduled["spec"]["nodeName"]
    await api.create(f"{lab}/pods", unscheduled)
    binding = {"metadata": {"name": "a"}, "target": {"kind": "Node", "name": "n2"}}
    first = await api.ask("POST", f"{lab}/pods/a/binding", binding)
    second = await api.ask("POST", f"{lab}/pods/a/binding", binding)
    assert (first.status, second.status) == (201, 409)
    bound = await api.get(f"{lab}/pods/a")
    assert bound["spec"]["nodeName"] == "n2"
    assert [one["type"] for one in bound["status"]["conditions"]] == ["PodScheduled"]
