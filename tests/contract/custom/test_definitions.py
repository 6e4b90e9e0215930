"""A stored definition is served, listed, changed and taken away like a kind that was always there."""

import asyncio
from typing import Any

import pytest

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
OPEN = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

pytestmark = pytest.mark.asyncio(loop_scope="module")


def conditions(definition: dict[str, Any]) -> dict[str, tuple[str, str]]:
    return {one["type"]: (one["status"], one["reason"]) for one in definition["status"]["conditions"]}


async def gone(client: Any, path: str) -> bool:
    """Whether nothing is there any more, soon."""
    async with asyncio.timeout(10):
        while (await client.ask("GET", path)).status != 404:
            pass
    return True


async def test_a_definition_is_established_once_its_creation_is_answered(client: Any, things: Any) -> None:
    created = await things.define(OPEN)
    assert created["status"]["conditions"] is None
    stored = await client.get(f"{DEFINITIONS}/{things.name}")
    assert conditions(stored) == {
        "NamesAccepted": ("True", "NoConflicts"),
        "Established": ("True", "InitialNamesAccepted"),
    }
    names = {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"}
    assert stored["status"]["acceptedNames"] == names
    assert stored["metadata"]["generation"] == 1


async def test_discovery_and_openapi_follow_the_definitions(client: Any, things: Any) -> None:
    assert (await client.ask("GET", f"/apis/{things.group}")).status == 404
    scale = {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"}
    await things.define(OPEN, subresources={"status": {}, "scale": scale})
    listed = await client.get(f"/apis/{things.group}/v1")
    assert [(one["name"], one["kind"]) for one in listed["resources"]] == [
        ("things", "Thing"),
        ("things/status", "Thing"),
        ("things/scale", "Scale"),
    ]
    document = await client.get(f"/openapi/v3/apis/{things.group}/v1")
    assert any(name.endswith("v1.Thing") for name in document["components"]["schemas"])
    await client.ask("DELETE", f"{DEFINITIONS}/{things.name}")
    assert await gone(client, f"/apis/{things.group}/v1")
    assert (await client.ask("GET", f"/openapi/v3/apis/{things.group}/v1")).status == 404


async def test_a_group_that_nobody_defined_has_no_page(client: Any, things: Any) -> None:
    answer = await client.ask("GET", things.path())
    assert (answer.status, answer.media, answer.text) == (404, "text/plain", b"404 page not found\n")


async def test_names_that_are_taken_are_not_granted_until_they_are_free(client: Any, things: Any) -> None:
    await things.define(OPEN)
    other = things.definition(OPEN)
    other["metadata"]["name"] = f"others.{things.group}"
    other["spec"]["names"] = {"plural": "others", "kind": "Thing", "listKind": "OtherList"}
    await client.create(DEFINITIONS, other)
    path = f"{DEFINITIONS}/others.{things.group}"
    assert conditions(await client.get(path)) == {
        "NamesAccepted": ("False", "KindConflict"),
        "Established": ("False", "NotAccepted"),
    }
    await client.ask("DELETE", f"{DEFINITIONS}/{things.name}")
    async with asyncio.timeout(10):
        while conditions(await client.get(path))["Established"][0] != "True":
            pass


async def test_a_changed_schema_holds_at_once_for_what_is_stored(client: Any, things: Any) -> None:
    await things.define(OPEN)
    await client.create(things.path(), things.thing("t", kept=1, lost=2))
    fields = {"type": "object", "properties": {"kept": {"type": "integer"}, "new": {"default": "n", "type": "string"}}}
    stored = await client.get(f"{DEFINITIONS}/{things.name}")
    stored["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"] = fields
    assert (await client.ask("PUT", f"{DEFINITIONS}/{things.name}", stored)).status == 200
    assert (await client.get(things.path("t")))["spec"] == {"kept": 1, "new": "n"}


async def test_versions_differ_by_name_and_by_what_they_know(client: Any, things: Any) -> None:
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"a": {"type": "integer"}}}}}
    beta = {"name": "v1beta1", "served": True, "storage": False, "deprecated": True}
    await things.define(OPEN, {**beta, "schema": {"openAPIV3Schema": schema}})
    await client.create(things.path(), things.thing("t", a=1, b=2))
    answer = await client.ask("GET", things.path("t", "v1beta1"))
    assert answer.body["apiVersion"] == f"{things.group}/v1beta1"
    assert answer.body["spec"] == {"a": 1}
    api_version = f"{things.group}/v1"
    assert answer.warnings == [f"{api_version}beta1 Thing is deprecated; use {api_version} Thing"]
    listed = await client.get(things.path(version="v1beta1"))
    assert [item["apiVersion"] for item in listed["items"]] == [f"{things.group}/v1beta1"]


async def test_a_definition_goes_when_its_objects_are_gone(client: Any, things: Any) -> None:
    await things.define(OPEN)
    held = things.thing("held")
    held["metadata"]["finalizers"] = ["example.com/hold"]
    await client.create(things.path(), held)
    await client.create(things.path(), things.thing("free"))
    path = f"{DEFINITIONS}/{things.name}"
    deleted = await client.ask("DELETE", path)
    assert deleted.body["metadata"]["finalizers"] == ["customresourcecleanup.apiextensions.k8s.io"]
    assert conditions(deleted.body)["Terminating"] == ("True", "InstanceDeletionPending")
    assert await gone(client, things.path("free"))
    refused = await client.ask("POST", things.path(), things.thing("late"))
    assert refused.status == 403
    assert "create not allowed while custom resource definition is terminating" in refused.message
    await client.patch(things.path("held"), {"metadata": {"finalizers": None}})
    assert await gone(client, path)
    assert (await client.ask("GET", things.path())).status == 404


async def test_a_watch_ends_when_its_kind_is_gone(client: Any, things: Any) -> None:
    await things.define(OPEN)
    async with client.watch(things.path()) as response:
        await client.ask("DELETE", f"{DEFINITIONS}/{things.name}")
        async with asyncio.timeout(10):
            assert await response.content.read() == b""


async def test_rules_that_cannot_be_compiled_or_paid_are_refused(client: Any, things: Any) -> None:
    items = {"type": "array", "items": {"type": "string"}}
    dear = {**items, "x-kubernetes-validations": [{"rule": "self.all(x, self.exists_one(y, x == y))"}]}
    wrong = {"type": "object", "x-kubernetes-validations": [{"rule": "self.nosuch > 1"}]}
    schema = {"type": "object", "properties": {"dear": dear, "wrong": wrong}}
    answer = await client.ask("POST", DEFINITIONS, things.definition(schema))
    assert answer.status == 422
    told = [
        (cause["field"].rpartition("properties")[2], cause["message"]) for cause in answer.body["details"]["causes"]
    ]
    assert any("exceeds budget by factor of more than 100x" in text for at, text in told if at.startswith("[dear]"))
    assert any("undefined field 'nosuch'" in text for at, text in told if at.startswith("[wrong]"))


async def test_formats_that_nothing_is_checked_by_are_warned_of(client: Any, things: Any) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string", "format": "odd"}, "b": {"type": "string"}}}
    answer = await client.ask("POST", DEFINITIONS, things.definition(schema))
    assert answer.warnings == ['unrecognized format \\"odd\\"']
