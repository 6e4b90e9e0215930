"""Creating, updating and patching, as any client may do it over HTTP."""

import re
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.contract.api.conftest import Api

Object = dict[str, Any]
pytestmark = pytest.mark.asyncio(loop_scope="module")


def config(name: str, **data: str) -> Object:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def pod(name: str, **spec: Any) -> Object:
    containers = [{"name": "main", "image": "image:1"}]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": containers, **spec}}


def deployment(name: str, replicas: int) -> Object:
    template = {"metadata": {"labels": {"app": name}}, "spec": {"containers": [{"name": "main", "image": "image:1"}]}}
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": spec}


def apps(lab: str) -> str:
    return lab.replace("/api/v1/", "/apis/apps/v1/") + "/deployments"


async def test_what_was_created_is_what_is_read(api: "Api", lab: str) -> None:
    created = await api.create(f"{lab}/configmaps", config("a", key="value"))
    assert created == await api.get(f"{lab}/configmaps/a")
    assert created["data"] == {"key": "value"}


async def test_the_server_says_who_when_and_at_which_revision(api: "Api", lab: str) -> None:
    created = (await api.create(f"{lab}/configmaps", config("a")))["metadata"]
    assert re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", created["uid"])
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", created["creationTimestamp"])
    assert int(created["resourceVersion"]) > 0
    assert created["namespace"] == lab.rpartition("/")[2]


async def test_a_client_cannot_say_what_the_server_does(api: "Api", lab: str) -> None:
    given = config("a")
    given["metadata"] |= {"uid": "mine", "creationTimestamp": "2001-01-01T00:00:00Z", "selfLink": "/here"}
    created = (await api.create(f"{lab}/configmaps", given))["metadata"]
    assert created["uid"] != "mine"
    assert created["creationTimestamp"] > "2001-01-01T00:00:00Z"
    assert "selfLink" not in created


async def test_a_name_is_taken_once(api: "Api", lab: str) -> None:
    await api.create(f"{lab}/configmaps", config("a"))
    answer = await api.ask("POST", f"{lab}/configmaps", config("a"))
    assert (answer.status, answer.message) == (409, 'configmaps "a" already exists')
    assert answer.json["details"] == {"name": "a", "kind": "configmaps"}


async def test_kind_and_version_may_be_left_to_the_path(api: "Api", lab: str) -> None:
    created = await api.create(f"{lab}/configmaps", {"metadata": {"name": "a"}})
    assert (created["kind"], created["apiVersion"]) == ("ConfigMap", "v1")


async def test_the_namespace_of_the_body_must_be_that_of_the_path(api: "Api", lab: str) -> None:
    given = config("a")
    given["metadata"]["namespace"] = "elsewhere"
    answer = await api.ask("POST", f"{lab}/configmaps", given)
    assert answer.status == 400
    assert answer.message == "the namespace of the provided object does not match the namespace sent on the request"


async def test_what_is_in_no_namespace_forgets_the_one_it_names(api: "Api", lab: str) -> None:
    path, name = "/apis/rbac.authorization.k8s.io/v1/clusterroles", lab.rpartition("/")[2]
    role = {"metadata": {"name": name, "namespace": "elsewhere"}}
    created = await api.create(path, role)
    patched = await api.patch(f"{path}/{name}", {"metadata": {"namespace": "elsewhere", "labels": {"a": "b"}}})
    replaced = (await api.ask("PUT", f"{path}/{name}", role)).json
    assert ["namespace" in one["metadata"] for one in (created, patched, replaced)] == [False, False, False]


async def test_nothing_is_created_in_a_namespace_that_is_not_there(api: "Api") -> None:
    answer = await api.ask("POST", "/api/v1/namespaces/nowhere/configmaps", config("a"))
    assert (answer.status, answer.message) == (404, 'namespaces "nowhere" not found')


async def test_a_generated_name_has_the_stem_and_five_more_characters(api: "Api", lab: str) -> None:
    names = [
        (await api.create(f"{lab}/configmaps", {"metadata": {"generateName": "web-"}}))["metadata"]["name"]
        for _ in range(5)
    ]
    assert len(set(names)) == 5
    assert all(re.fullmatch(r"web-[bcdfghjklmnpqrstvwxz2456789]{5}", name) for name in names)


async def test_a_name_goes_before_a_generated_one(api: "Api", lab: str) -> None:
    given = {"metadata": {"name": "mine", "generateName": "web-"}}
    assert (await api.create(f"{lab}/configmaps", given))["metadata"]["name"] == "mine"


async def test_without_a_name_nothing_is_created(api: "Api", lab: str) -> None:
    answer = await api.ask("POST", f"{lab}/configmaps", {"metadata": {}})
    assert answer.status == 422
    assert "metadata.name: Required value: name or generateName is required" in answer.message


async def test_a_resource_version_has_no_place_in_a_creation(api: "Api", lab: str) -> None:
    given = config("a")
    given["metadata"]["resourceVersion"] = "7"
    answer = await api.ask("POST", f"{lab}/configmaps", given)
    assert answer.message == "resourceVersion should not be set on objects to be created"
    tried = await api.ask("POST", f"{lab}/configmaps?dryRun=All", given)
    assert (tried.status, tried.json["metadata"]["resourceVersion"]) == (201, "7")


async def test_an_update_replaces_and_raises_the_revision(api: "Api", lab: str) -> None:
    before = await api.create(f"{lab}/configmaps", config("a", old="1"))
    answer = await api.ask("PUT", f"{lab}/configmaps/a", {**before, "data": {"new": "2"}})
    assert answer.status == 200
    assert answer.json["data"] == {"new": "2"}
    assert answer.json["metadata"]["uid"] == before["metadata"]["uid"]
    assert int(answer.json["metadata"]["resourceVersion"]) > int(before["metadata"]["resourceVersion"])


async def test_an_update_that_changes_nothing_keeps_the_revision(api: "Api", lab: str) -> None:
    before = await api.create(f"{lab}/configmaps", config("a", key="1"))
    answer = await api.ask("PUT", f"{lab}/configmaps/a", before)
    assert answer.json == before


async def test_an_update_of_an_old_version_is_a_conflict(api: "Api", lab: str) -> None:
    first = await api.create(f"{lab}/configmaps", config("a"))
    await api.patch(f"{lab}/configmaps/a", {"data": {"key": "1"}})
    answer = await api.ask("PUT", f"{lab}/configmaps/a", {**first, "data": {"key": "2"}})
    assert answer.status == 409
    assert answer.message == (
        'Operation cannot be fulfilled on configmaps "a": the object has been modified; '
        "please apply your changes to the latest version and try again"
    )
    assert (await api.get(f"{lab}/configmaps/a"))["data"] == {"key": "1"}


async def test_an_update_without_a_version_overwrites(api: "Api", lab: str) -> None:
    await api.create(f"{lab}/configmaps", config("a", key="1"))
    answer = await api.ask("PUT", f"{lab}/configmaps/a", config("a", key="2"))
    assert (answer.status, answer.json["data"]) == (200, {"key": "2"})


async def test_an_update_with_the_uid_of_another_object_is_a_conflict(api: "Api", lab: str) -> None:
    await api.create(f"{lab}/configmaps", config("a"))
    given = config("a")
    given["metadata"]["uid"] = "another"
    answer = await api.ask("PUT", f"{lab}/configmaps/a", given)
    assert answer.status == 409
    assert "Precondition failed: UID in precondition: another" in answer.message


@pytest.mark.parametrize(
    ("name", "message"),
    [
        pytest.param("b", "the name of the object (b) does not match the name on the URL (a)", id="another"),
        pytest.param(
            "", "the name of the object (a based on URL) was undeterminable: name must be provided", id="none"
        ),
    ],
)
async def test_an_update_names_the_object_of_its_path(api: "Api", lab: str, name: str, message: str) -> None:
    await api.create(f"{lab}/configmaps", config("a"))
    answer = await api.ask("PUT", f"{lab}/configmaps/a", config(name))
    assert (answer.status, answer.message) == (400, message)


async def test_an_update_of_what_is_not_there_is_not_found(api: "Api", lab: str) -> None:
    answer = await api.ask("PUT", f"{lab}/pods/a", pod("a"))
    assert (answer.status, answer.message) == (404, 'pods "a" not found')


async def test_some_kinds_are_created_by_an_update(api: "Api", lab: str) -> None:
    path = lab.replace("/api/v1/", "/apis/coordination.k8s.io/v1/") + "/leases/a"
    answer = await api.ask("PUT", path, {"metadata": {"name": "a"}, "spec": {}})
    assert answer.status == 201
    assert await api.get(path) == answer.json


async def test_the_generation_rises_with_the_spec_alone(api: "Api", lab: str) -> None:
    created = await api.create(apps(lab), deployment("web", 1))
    labelled = await api.patch(f"{apps(lab)}/web", {"metadata": {"labels": {"a": "b"}}})
    scaled = await api.patch(f"{apps(lab)}/web", {"spec": {"replicas": 2}})
    assert [one["metadata"]["generation"] for one in (created, labelled, scaled)] == [1, 1, 2]


async def test_status_is_written_through_its_subresource_alone(api: "Api", lab: str) -> None:
    created = await api.create(apps(lab), {**deployment("web", 1), "status": {"replicas": 7}})
    assert "replicas" not in created["status"]
    report = {"spec": {"replicas": 9}, "status": {"replicas": 1}}
    main = await api.patch(f"{apps(lab)}/web", {"status": {"replicas": 7}})
    reported = await api.patch(f"{apps(lab)}/web/status", report)
    assert "replicas" not in main["status"]
    assert reported["status"]["replicas"] == 1
    assert reported["spec"]["replicas"] == 1
    assert await api.get(f"{apps(lab)}/web/status") == reported


async def test_scale_reads_and_writes_the_replicas(api: "Api", lab: str) -> None:
    await api.create(apps(lab), deployment("web", 1))
    scale = await api.get(f"{apps(lab)}/web/scale")
    assert (scale["kind"], scale["apiVersion"]) == ("Scale", "autoscaling/v1")
    assert (scale["spec"]["replicas"], scale["status"]["selector"]) == (1, "app=web")
    answer = await api.ask("PUT", f"{apps(lab)}/web/scale", {**scale, "spec": {"replicas": 3}})
    patched = await api.patch(f"{apps(lab)}/web/scale", {"spec": {"replicas": 5}})
    assert (answer.status, answer.json["spec"]["replicas"], patched["spec"]["replicas"]) == (200, 3, 5)
    assert (await api.get(f"{apps(lab)}/web"))["spec"]["replicas"] == 5


@pytest.mark.parametrize(
    ("kind", "patch"),
    [
        pytest.param("merge", {"data": {"gone": None, "new": "3"}}, id="merge"),
        pytest.param("strategic-merge", {"data": {"gone": None, "new": "3"}}, id="strategic merge"),
        pytest.param(
            "json",
            [
                {"op": "test", "path": "/data/kept", "value": "1"},
                {"op": "remove", "path": "/data/gone"},
                {"op": "add", "path": "/data/new", "value": "3"},
            ],
            id="JSON",
        ),
    ],
)
async def test_each_type_of_patch_adds_and_removes(api: "Api", lab: str, kind: str, patch: Any) -> None:
    await api.create(f"{lab}/configmaps", config("a", kept="1", gone="2"))
    patched = await api.patch(f"{lab}/configmaps/a", patch, kind)
    assert patched["data"] == {"kept": "1", "new": "3"}
    assert await api.get(f"{lab}/configmaps/a") == patched


async def test_a_strategic_patch_merges_lists_by_key_where_a_merge_patch_replaces_them(api: "Api", lab: str) -> None:
    await api.create(apps(lab), deployment("web", 1))
    more = {"spec": {"template": {"spec": {"containers": [{"name": "side", "image": "image:2"}]}}}}
    merged = await api.patch(f"{apps(lab)}/web", more, "strategic-merge")
    replaced = await api.patch(f"{apps(lab)}/web", more, "merge")
    names = [[one["name"] for one in it["spec"]["template"]["spec"]["containers"]] for it in (merged, replaced)]
    assert names == [["side", "main"], ["side"]]


async def test_a_json_patch_whose_test_fails_changes_nothing(api: "Api", lab: str) -> None:
    before = await api.create(f"{lab}/configmaps", config("a", key="1"))
    patch = [
        {"op": "add", "path": "/data/new", "value": "2"},
        {"op": "test", "path": "/data/key", "value": "another"},
    ]
    answer = await api.ask("PATCH", f"{lab}/configmaps/a", patch, media="application/json-patch+json")
    assert answer.status == 422
    assert await api.get(f"{lab}/configmaps/a") == before


async def test_a_patch_that_names_an_old_version_is_a_conflict(api: "Api", lab: str) -> None:
    first = await api.create(f"{lab}/configmaps", config("a"))
    await api.patch(f"{lab}/configmaps/a", {"data": {"key": "1"}})
    patch = {"metadata": {"resourceVersion": first["metadata"]["resourceVersion"]}, "data": {"key": "2"}}
    answer = await api.ask("PATCH", f"{lab}/configmaps/a", patch, media="application/merge-patch+json")
    assert answer.status == 409


async def test_a_patch_of_what_is_not_there_is_not_found(api: "Api", lab: str) -> None:
    answer = await api.ask("PATCH", f"{lab}/configmaps/a", {}, media="application/merge-patch+json")
    assert (answer.status, answer.message) == (404, 'configmaps "a" not found')


@pytest.mark.parametrize("field", ["name", "namespace", "uid", "creationTimestamp"])
async def test_a_patch_cannot_give_an_object_another_identity(api: "Api", lab: str, field: str) -> None:
    before = await api.create(f"{lab}/configmaps", config("a"))
    patch = {"metadata": {field: "2001-01-01T00:00:00Z" if field == "creationTimestamp" else "another"}}
    answer = await api.ask("PATCH", f"{lab}/configmaps/a", patch, media="application/merge-patch+json")
    after = await api.get(f"{lab}/configmaps/a")
    assert answer.status in (200, 400, 409, 422)
    assert after["metadata"] == before["metadata"]


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        pytest.param("POST", "/configmaps", config("new"), id="create"),
        pytest.param("PUT", "/configmaps/a", config("a", key="2"), id="update"),
        pytest.param("PATCH", "/configmaps/a", {"data": {"key": "2"}}, id="patch"),
        pytest.param("DELETE", "/configmaps/a", None, id="delete"),
        pytest.param("DELETE", "/configmaps", None, id="delete the collection"),
    ],
)
async def test_a_dry_run_answers_and_changes_nothing(
    api: "Api", lab: str, method: str, path: str, body: Object | None
) -> None:
    await api.create(f"{lab}/configmaps", config("a", key="1"))
    before = (await api.get(f"{lab}/configmaps"))["items"]
    media = "application/merge-patch+json" if method == "PATCH" else "application/json"
    answer = await api.ask(method, f"{lab}{path}?dryRun=All", body, media=media)
    assert answer.status in (200, 201), answer.body
    assert (await api.get(f"{lab}/configmaps"))["items"] == before


async def test_a_dry_run_finds_what_a_real_one_would(api: "Api", lab: str) -> None:
    await api.create(f"{lab}/configmaps", config("a"))
    taken = await api.ask("POST", f"{lab}/configmaps?dryRun=All", config("a"))
    wrong = await api.ask("POST", f"{lab}/configmaps?dryRun=All", config("A"))
    other = await api.ask("POST", f"{lab}/configmaps?dryRun=Some", config("b"))
    assert [taken.status, wrong.status, other.status] == [409, 422, 422]


UNKNOWN = {"metadata": {"name": "a"}, "data": {"key": "1"}, "surplus": 1, "more": {}}


async def test_strict_validation_refuses_unknown_fields(api: "Api", lab: str) -> None:
    answer = await api.ask("POST", f"{lab}/configmaps?fieldValidation=Strict", UNKNOWN)
    assert answer.status == 400
    assert answer.message == (
        'ConfigMap in version "v1" cannot be handled as a ConfigMap: '
        'strict decoding error: unknown field "surplus", unknown field "more"'
    )


@pytest.mark.parametrize(
    ("query", "warnings"),
    [
        pytest.param("", [r"unknown field \"surplus\"", r"unknown field \"more\""], id="warn is the default"),
        pytest.param(
            "?fieldValidation=Warn", [r"unknown field \"surplus\"", r"unknown field \"more\""], id="warn when asked"
        ),
        pytest.param("?fieldValidation=Ignore", [], id="ignore"),
    ],
)
async def test_unknown_fields_are_dropped(api: "Api", lab: str, query: str, warnings: list[str]) -> None:
    answer = await api.ask("POST", f"{lab}/configmaps{query}", UNKNOWN)
    assert answer.status == 201
    assert answer.warnings == warnings
    assert {"surplus", "more"} & set(answer.json) == set()


async def test_strict_validation_refuses_a_field_that_stands_twice(api: "Api", lab: str) -> None:
    text = '{"metadata": {"name": "a"}, "data": {"key": "1", "key": "2"}}'
    strict = await api.ask("POST", f"{lab}/configmaps?fieldValidation=Strict", text)
    warned = await api.ask("POST", f"{lab}/configmaps", text)
    assert strict.status == 400
    assert 'strict decoding error: duplicate field "data.key"' in strict.message
    assert (warned.status, warned.json["data"], warned.warnings) == (
        201,
        {"key": "2"},
        [r"duplicate field \"data.key\""],
    )


async def test_an_unknown_way_to_validate_is_refused(api: "Api", lab: str) -> None:
    answer = await api.ask("POST", f"{lab}/configmaps?fieldValidation=Perhaps", config("a"))
    assert answer.status == 422
    assert "fieldValidation: Unsupported value" in answer.message


async def test_yaml_is_read_as_json_is(api: "Api", lab: str) -> None:
    text = "metadata:\n  name: a\ndata:\n  key: '1'\n"
    answer = await api.ask("POST", f"{lab}/configmaps", text, media="application/yaml")
    assert (answer.status, answer.json["data"]) == (201, {"key": "1"})


async def test_every_complaint_is_told_at_once(api: "Api", lab: str) -> None:
    answer = await api.ask("POST", f"{lab}/pods", pod("A", restartPolicy="Sometimes", dnsPolicy="Never"))
    assert answer.status == 422
    causes = [cause["field"] for cause in answer.json["details"]["causes"]]
    assert causes == ["metadata.name", "spec.restartPolicy", "spec.dnsPolicy"]


async def test_two_versions_of_a_group_show_the_same_object(api: "Api", lab: str) -> None:
    path = lab.replace("/api/v1/", "/apis/autoscaling/v2/") + "/horizontalpodautoscalers"
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    cpu = {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 70}}
    spec = {"scaleTargetRef": target, "maxReplicas": 3, "metrics": [{"type": "Resource", "resource": cpu}]}
    created = await api.create(path, {"metadata": {"name": "a"}, "spec": spec})
    other = await api.get(path.replace("/v2/", "/v1/") + "/a")
    assert other["apiVersion"] == "autoscaling/v1"
    assert other["spec"]["targetCPUUtilizationPercentage"] == 70
    assert other["metadata"]["uid"] == created["metadata"]["uid"]


async def test_an_event_is_seen_in_both_its_groups(api: "Api", lab: str) -> None:
    involved = {"kind": "Pod", "name": "p", "namespace": lab.rpartition("/")[2]}
    await api.create(f"{lab}/events", {"metadata": {"name": "a"}, "involvedObject": involved, "message": "said"})
    other = await api.get(lab.replace("/api/v1/", "/apis/events.k8s.io/v1/") + "/events/a")
    assert (other["apiVersion"], other["note"], other["regarding"]["name"]) == ("events.k8s.io/v1", "said", "p")


@pytest.mark.parametrize(
    ("method", "name", "body", "media"),
    [
        pytest.param("PATCH", "configmaps", config("new"), "application/apply-patch+yaml", id="apply"),
        pytest.param("PUT", "endpoints", {"metadata": {"name": "new"}}, "application/json", id="put"),
        pytest.param("PUT", "events", {"metadata": {"name": "new"}}, "application/json", id="put an event"),
    ],
)
async def test_who_may_only_change_creates_nothing(
    api: "Api", lab: str, method: str, name: str, body: Object, media: str
) -> None:
    group, namespace = "rbac.authorization.k8s.io", lab.rpartition("/")[2]
    rbac = f"/apis/{group}/v1/namespaces/{namespace}"
    rule = {"apiGroups": [""], "resources": [name], "verbs": ["get", "update", "patch"]}
    await api.create(f"{rbac}/roles", {"metadata": {"name": "change"}, "rules": [rule]})
    binding = {
        "metadata": {"name": "change"},
        "subjects": [{"kind": "User", "name": "jane", "apiGroup": group}],
        "roleRef": {"kind": "Role", "name": "change", "apiGroup": group},
    }
    await api.create(f"{rbac}/rolebindings", binding)
    if name == "events":
        body = {
            **body,
            "involvedObject": {"namespace": namespace},
            "metadata": {**body["metadata"], "namespace": namespace},
        }
    headers, path = {"Impersonate-User": "jane", "Content-Type": media}, f"{lab}/{name}/new"
    query = "?fieldManager=test" if media != "application/json" else ""
    refused = await api.ask(method, path + query, body, headers=headers)
    assert refused.status == 403
    assert f'User "jane" cannot create resource "{name}" in API group "" in the namespace' in refused.message
    assert (await api.ask("GET", path)).status == 404
    await api.patch(f"{rbac}/roles/change", {"rules": [{**rule, "verbs": ["*"]}]})
    assert (await api.ask(method, path + query, body, headers=headers)).status == 201


async def test_policies_judge_requests_for_tokens(api: "Api", lab: str) -> None:
    group, namespace = "/apis/admissionregistration.k8s.io/v1", lab.rpartition("/")[2]
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["serviceaccounts/token"]}
    validation = {
        "expression": "object.spec.boundObjectRef != null",
        "messageExpression": "request.kind.kind + ' for ' + request.name",
    }
    only_here = {"matchLabels": {"kubernetes.io/metadata.name": namespace}}
    constraints = {"resourceRules": [rule], "namespaceSelector": only_here}
    spec = {"matchConstraints": constraints, "validations": [validation]}
    await api.create(f"{group}/validatingadmissionpolicies", {"metadata": {"name": "tokens"}, "spec": spec})
    binding = {"policyName": "tokens", "validationActions": ["Deny"]}
    await api.create(f"{group}/validatingadmissionpolicybindings", {"metadata": {"name": "tokens"}, "spec": binding})
    secret = await api.create(f"{lab}/secrets", {"metadata": {"name": "s"}})
    refused = await api.ask("POST", f"{lab}/serviceaccounts/default/token", {"spec": {}})
    assert (refused.status, refused.message.rpartition("request: ")[2]) == (422, "TokenRequest for default")
    bound = {"apiVersion": "v1", "kind": "Secret", "name": "s", "uid": secret["metadata"]["uid"]}
    answer = await api.ask("POST", f"{lab}/serviceaccounts/default/token", {"spec": {"boundObjectRef": bound}})
    assert (answer.status, answer.json["kind"]) == (201, "TokenRequest")
    await api.delete(f"{group}/validatingadmissionpolicybindings/tokens")
    await api.delete(f"{group}/validatingadmissionpolicies/tokens")
