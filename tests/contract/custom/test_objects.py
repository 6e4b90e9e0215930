"""Custom objects are written, judged, patched, scaled and printed as their definition says."""

import asyncio
from typing import Any

import pytest

pytestmark = pytest.mark.asyncio(loop_scope="module")

OPEN = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
UNCHECKED = (
    "<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the "
    "existing errors to complete validation"
)
SCALE = {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size", "labelSelectorPath": ".status.chosen"}


def fields(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


async def test_what_the_schema_does_not_know_is_lost_with_a_warning(client: Any, things: Any) -> None:
    await things.define(fields(known={"type": "integer"}))
    answer = await client.ask("POST", things.path(), things.thing("t", known=1, other=2))
    assert answer.body["spec"] == {"known": 1}
    assert answer.warnings == ['unknown field \\"spec.other\\"']
    strict = await client.ask("POST", f"{things.path()}?fieldValidation=Strict", things.thing("s", other=2))
    assert strict.status == 400
    assert strict.message.endswith('strict decoding error: unknown field "spec.other"')


async def test_empty_values_are_kept_as_they_were_given(client: Any, things: Any) -> None:
    await things.define(OPEN)
    spec = {"text": "", "zero": 0, "no": False, "list": [], "map": {}, "null": None, "deep": [{"a": None}]}
    assert (await client.create(things.path(), things.thing("t", **spec)))["spec"] == spec
    assert (await client.get(things.path("t")))["spec"] == spec


async def test_items_of_a_list_name_their_kind(client: Any, things: Any) -> None:
    await things.define(OPEN)
    created = await client.create(things.path(), things.thing("t"))
    listed = await client.get(things.path())
    assert (listed["kind"], listed["items"], listed["metadata"]["continue"]) == ("ThingList", [created], "")


async def test_values_are_judged_by_the_schema(client: Any, things: Any) -> None:
    await things.define(fields(size={"type": "integer", "maximum": 10}))
    assert await things.refused(size=11) == (
        "spec.size: Invalid value: 11: spec.size in body should be less than or equal to 10"
    )


async def test_rules_are_not_asked_of_what_has_the_wrong_type(client: Any, things: Any) -> None:
    rule = {"rule": "self < 10", "message": "too much"}
    await things.define(fields(size={"type": "integer", "x-kubernetes-validations": [rule]}))
    text = 'spec.size: Invalid value: "string": spec.size in body must be of type integer: "string"'
    assert await things.refused(size="x") == f"[{text}, {UNCHECKED}]"
    assert await things.refused(size=11) == "spec.size: Invalid value: 11: too much"


async def test_a_rule_compares_with_what_was(client: Any, things: Any) -> None:
    await things.define(fields(fixed={"type": "string", "x-kubernetes-validations": [{"rule": "self == oldSelf"}]}))
    await client.create(things.path(), things.thing("t", fixed="a"))
    patch = {"spec": {"fixed": "b"}}
    answer = await client.ask("PATCH", things.path("t"), patch, media="application/merge-patch+json")
    assert answer.message.endswith('spec.fixed: Invalid value: "b": failed rule: self == oldSelf')


async def test_what_a_stricter_schema_forbids_may_stay(client: Any, things: Any) -> None:
    await things.define(fields(size={"type": "integer"}, note={"type": "string"}))
    await client.create(things.path(), things.thing("t", size=100))
    path = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{things.name}"
    stored = await client.get(path)
    spec = stored["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    spec["properties"]["size"]["maximum"] = 10
    assert (await client.ask("PUT", path, stored)).status == 200
    assert (await client.patch(things.path("t"), {"spec": {"note": "n"}}))["spec"] == {"size": 100, "note": "n"}
    answer = await client.ask("PATCH", things.path("t"), {"spec": {"size": 50}}, media="application/merge-patch+json")
    assert answer.status == 422


async def test_the_status_is_written_apart(client: Any, things: Any) -> None:
    await things.define(OPEN, subresources={"status": {}})
    created = await client.create(things.path(), {**things.thing("t", size=1), "status": {"early": True}})
    assert "status" not in created
    told = await client.patch(things.path("t/status"), {"status": {"ready": 1}, "spec": {"size": 2}})
    assert (told["spec"], told["status"], told["metadata"]["generation"]) == ({"size": 1}, {"ready": 1}, 1)
    changed = await client.patch(things.path("t"), {"status": {"ready": 5}, "spec": {"size": 2}})
    assert (changed["spec"], changed["status"], changed["metadata"]["generation"]) == ({"size": 2}, {"ready": 1}, 2)


async def test_without_a_subresource_the_status_is_a_field_like_any_other(client: Any, things: Any) -> None:
    await things.define(OPEN)
    created = await client.create(things.path(), {**things.thing("t"), "status": {"a": 1}})
    assert created["status"] == {"a": 1}
    assert (await client.patch(things.path("t"), {"status": {"a": 2}}))["metadata"]["generation"] == 2
    assert (await client.ask("GET", things.path("t/status"))).status == 404


async def test_a_scale_is_where_the_definition_says(client: Any, things: Any) -> None:
    await things.define(OPEN, subresources={"status": {}, "scale": SCALE})
    await client.create(things.path(), things.thing("t", size=3))
    await client.patch(things.path("t/status"), {"status": {"size": 2, "chosen": "a=b"}})
    scale = await client.get(things.path("t/scale"))
    assert (scale["spec"], scale["status"]) == ({"replicas": 3}, {"replicas": 2, "selector": "a=b"})
    await client.patch(things.path("t/scale"), {"spec": {"replicas": 5}})
    assert (await client.get(things.path("t")))["spec"] == {"size": 5}
    await client.create(things.path(), things.thing("none"))
    assert (await client.ask("GET", things.path("none/scale"))).status == 500


async def test_a_scale_may_be_replaced_whatever_its_version(client: Any, things: Any) -> None:
    await things.define(OPEN, subresources={"scale": SCALE})
    await client.create(things.path(), things.thing("t", size=3))
    whole = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "t"}, "spec": {"replicas": 4}}
    answer = await client.ask("PUT", things.path("t/scale"), whole)
    assert (answer.status, answer.body["spec"]) == (200, {"replicas": 4})


async def test_the_type_of_a_value_that_may_be_two_is_cheap_to_compare(client: Any, things: Any) -> None:
    rule = {"rule": "type(self) == int ? self > 1 : true"}
    await things.define(fields(size={"x-kubernetes-int-or-string": True, "x-kubernetes-validations": [rule]}))
    assert (await client.ask("POST", things.path(), things.thing("few", size=1))).status == 422
    assert (await client.ask("POST", things.path(), things.thing("all", size="100%"))).status == 201


async def test_an_object_without_a_kind_is_unrecognized(client: Any, things: Any) -> None:
    await things.define(OPEN)
    answer = await client.ask("POST", things.path(), {"metadata": {"name": "t"}})
    assert answer.status == 400
    assert "is unrecognized (must be of type Thing): Object 'Kind' is missing in '{" in answer.message


async def test_columns_and_selectable_fields_are_the_definitions_own(client: Any, things: Any) -> None:
    columns = [{"name": "Mode", "type": "string", "jsonPath": ".spec.mode"}]
    schema = fields(mode={"type": "string"})
    selectable = [{"jsonPath": ".spec.mode"}]
    await things.define(schema, additionalPrinterColumns=columns, selectableFields=selectable)
    for name in ("a", "b"):
        await client.create(things.path(), things.thing(name, mode=name))
    listed = await client.get(f"{things.path()}?fieldSelector=spec.mode%3Db")
    assert [item["metadata"]["name"] for item in listed["items"]] == ["b"]
    unknown = await client.ask("GET", f"{things.path()}?fieldSelector=spec.size%3D1")
    assert (unknown.status, unknown.message) == (400, "field label not supported: spec.size")


async def test_apply_merges_lists_by_their_keys(client: Any, things: Any) -> None:
    part = fields(name={"type": "string"}, n={"type": "integer"}) | {"required": ["name"]}
    keyed = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]}
    await things.define(fields(parts={"type": "array", "items": part, **keyed}))
    for manager, name in (("one", "a"), ("two", "b")):
        path = f"{things.path('t')}?fieldManager={manager}"
        body = things.thing("t", parts=[{"name": name, "n": 1}])
        answer = await client.ask("PATCH", path, body, media="application/apply-patch+yaml")
        assert answer.status in (200, 201), answer.text
    assert [one["name"] for one in (await client.get(things.path("t")))["spec"]["parts"]] == ["a", "b"]
    clash = things.thing("t", parts=[{"name": "a", "n": 5}])
    path = f"{things.path('t')}?fieldManager=three"
    answer = await client.ask("PATCH", path, clash, media="application/apply-patch+yaml")
    assert (answer.status, answer.body["reason"]) == (409, "Conflict")
    wrong = things.thing("u", nosuch=1)
    path = f"{things.path('u')}?fieldManager=one"
    answer = await client.ask("PATCH", path, wrong, media="application/apply-patch+yaml")
    assert ".spec.nosuch: field not declared in schema" in answer.message


async def test_strategic_patches_are_not_taken(client: Any, things: Any) -> None:
    await things.define(OPEN)
    await client.create(things.path(), things.thing("t"))
    media = "application/strategic-merge-patch+json"
    assert (await client.ask("PATCH", things.path("t"), {"spec": {}}, media=media)).status == 415


async def test_an_object_of_another_kind_or_version_is_refused(client: Any, things: Any) -> None:
    await things.define(OPEN)
    kind = await client.ask("POST", things.path(), {**things.thing("t"), "kind": "Other"})
    assert kind.message == f'Other.{things.group} "t" is invalid: kind: Invalid value: "Other": must be Thing'
    version = await client.ask("POST", things.path(), things.thing("t", version="v2"))
    assert version.status == 400
    assert "does not match the expected API version" in version.message


async def test_a_put_must_know_what_it_replaces(client: Any, things: Any) -> None:
    await things.define(OPEN)
    created = await client.create(things.path(), things.thing("t", a=1))
    blind = await client.ask("PUT", things.path("t"), things.thing("t", a=2))
    assert blind.message.endswith("metadata.resourceVersion: Invalid value: 0: must be specified for an update")
    created["spec"] = {"a": 2}
    assert (await client.ask("PUT", things.path("t"), created)).body["metadata"]["generation"] == 2


async def test_finalizers_without_a_domain_are_warned_of(client: Any, things: Any) -> None:
    await things.define(OPEN)
    thing = things.thing("t")
    thing["metadata"]["finalizers"] = ["bare", "example.com/full"]
    answer = await client.ask("POST", things.path(), thing)
    assert len(answer.warnings) == 1
    assert "prefer a domain-qualified finalizer name" in answer.warnings[0]


async def test_concurrent_patches_all_succeed(client: Any, things: Any) -> None:
    await things.define(OPEN)
    await client.create(things.path(), things.thing("t"))
    patches = [{"spec": {f"k{number}": number}} for number in range(10)]
    await asyncio.gather(*(client.patch(things.path("t"), patch) for patch in patches))
    assert len((await client.get(things.path("t")))["spec"]) == 10
