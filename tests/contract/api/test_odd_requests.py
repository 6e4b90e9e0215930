"""Requests that are unusual, or wrong in a way that needs its own answer."""

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.contract.api.conftest import Api

pytestmark = pytest.mark.asyncio(loop_scope="module")
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"


@pytest.mark.parametrize("path", ["/api", "/api/v1", "/apis/apps/v1", "/version", "/api/v1/namespaces"])
async def test_the_head_of_an_answer_cannot_be_asked_for(api: "Api", path: str) -> None:
    assert (await api.ask("HEAD", path)).status == 405


@pytest.mark.parametrize("path", ["/apis", "/apis/apps"])
async def test_groups_are_told_whatever_the_method(api: "Api", path: str) -> None:
    assert (await api.ask("DELETE", path)).json == (await api.ask("GET", path)).json


@pytest.mark.parametrize("path", ["/apis/nobody.io/v1", "/apis/nobody.io", "/nowhere", "/healthz/", "/openapi/v2/"])
async def test_a_path_nobody_knows_is_answered_in_plain_text(api: "Api", path: str) -> None:
    answer = await api.ask("GET", path)
    assert (answer.status, answer.body) == (404, b"404 page not found\n")
    assert answer.headers["X-Content-Type-Options"] == "nosniff"


async def test_a_version_a_group_does_not_have_is_a_status(api: "Api") -> None:
    assert (await api.ask("GET", "/apis/apps/v9")).json["reason"] == "NotFound"


@pytest.mark.parametrize(
    ("span", "why"),
    [
        ("x", 'invalid duration "x"'),
        ("1", 'missing unit in duration "1"'),
        ("1y", 'unknown unit "y" in duration "1y"'),
    ],
)
async def test_a_timeout_that_is_no_span_of_time_is_refused(api: "Api", lab: str, span: str, why: str) -> None:
    answer = await api.ask("DELETE", f"{lab}/configmaps/c?timeout={span}")
    assert (answer.status, answer.message) == (400, f"invalid timeout specified in the request URL - time: {why}")
    assert (await api.ask("GET", f"{lab}/configmaps?timeout=1m30s")).status == 200


async def test_everything_that_is_served_is_told_once(api: "Api") -> None:
    first = await api.ask("GET", "/apis", accept=AGGREGATED)
    again = await api.ask("GET", "/apis", accept=AGGREGATED, headers={"If-None-Match": first.headers["ETag"]})
    assert (first.status, first.headers["Cache-Control"]) == (200, "public")
    assert (again.status, again.body) == (304, b"")


async def test_what_a_client_does_not_accept_comes_before_what_is_missing(api: "Api", lab: str) -> None:
    nothing = await api.ask("GET", f"{lab}/configmaps/missing", accept="text/plain")
    listed = await api.ask("GET", f"{lab}/configmaps", accept="text/plain")
    told = "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, "
    assert nothing.message == told + "application/vnd.kubernetes.protobuf"
    assert listed.message.endswith("application/vnd.kubernetes.protobuf;stream=watch")
    assert (await api.ask("GET", "/version", accept="application/yaml")).status == 406


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("includeObject=All", "Unable to convert to Table as requested: includeObject: Invalid value"),
        ("fieldSelector=metadata.name=other", "fieldSelector metadata.name doesn't match requested name"),
    ],
)
async def test_a_watch_that_cannot_be_is_refused_before_it_begins(
    api: "Api", lab: str, query: str, message: str
) -> None:
    path = lab.replace("/api/v1/", "/api/v1/watch/")
    answer = await api.ask("GET", f"{path}/configmaps/c?{query}", accept=TABLE)
    assert (answer.status, answer.message[: len(message)]) == (400, message)


async def test_a_watch_does_not_continue_a_list(api: "Api", lab: str) -> None:
    answer = await api.ask("GET", f"{lab}/configmaps?watch=1&continue=x")
    assert (answer.status, answer.json["details"]["causes"][0]["field"]) == (422, "resourceVersionMatch")


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b'{"apiVersion": "a/b/c", "kind": "ConfigMap"}', "unexpected GroupVersion string: a/b/c"),
        (
            b'{"apiVersion": 1, "kind": "ConfigMap"}',
            "couldn't get version/kind; json parse error: json: cannot unmarshal number into Go",
        ),
    ],
)
async def test_a_body_that_does_not_say_what_it_is_is_unrecognized(api: "Api", lab: str, body: bytes, why: str) -> None:
    answer = await api.ask("POST", f"{lab}/configmaps", body)
    assert answer.message.startswith(f"the object provided is unrecognized (must be of type ConfigMap): {why}")


async def test_a_body_of_another_version_is_told_which(api: "Api", lab: str) -> None:
    answer = await api.ask("POST", f"{lab}/configmaps", b'{"apiVersion": "v9", "kind": "ConfigMap"}')
    assert answer.message.startswith('ConfigMap in version "v9" cannot be handled as a ConfigMap: no kind "ConfigMap"')


async def test_what_a_strategic_patch_says_of_the_kind_is_lost(api: "Api", lab: str) -> None:
    await api.create(f"{lab}/configmaps", {"metadata": {"name": "patched"}})
    patch = {"apiVersion": "v9", "kind": "Other", "data": {"a": "b"}}
    media = "application/strategic-merge-patch+json"
    answer = await api.ask("PATCH", f"{lab}/configmaps/patched", patch, media=media)
    assert (answer.json["kind"], answer.json["data"]) == ("ConfigMap", {"a": "b"})


async def test_only_an_object_is_applied(api: "Api", lab: str) -> None:
    path = f"{lab}/configmaps/applied?fieldManager=m"
    answer = await api.ask("PATCH", path, b"[]", media="application/apply-patch+yaml")
    assert answer.message == (
        "error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal array into Go value"
        " of type map[string]interface {}"
    )


async def test_no_options_are_the_usual_options_of_a_deletion(api: "Api", lab: str) -> None:
    await api.create(f"{lab}/configmaps", {"metadata": {"name": "gone"}})
    assert (await api.ask("DELETE", f"{lab}/configmaps/gone", b"null")).status == 200


async def test_classes_of_the_system_stay(api: "Api") -> None:
    answer = await api.ask("DELETE", "/apis/scheduling.k8s.io/v1/priorityclasses/system-node-critical")
    assert answer.message.endswith("is forbidden: this is a system priority class and cannot be deleted")


async def test_warnings_stand_beside_what_a_review_is_refused_for(api: "Api") -> None:
    body = {"spec": {"user": "jane"}}
    answer = await api.ask("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", body)
    assert (answer.status, answer.warnings) == (422, ['unknown field \\"spec.user\\"'])


async def test_a_status_that_this_version_has_not_is_not_served(api: "Api") -> None:
    resources = (await api.get("/apis/storage.k8s.io/v1"))["resources"]
    assert "csinodes/status" not in [resource["name"] for resource in resources]
    assert (await api.ask("GET", "/apis/storage.k8s.io/v1/csinodes/n/status")).status == 404


async def test_what_is_not_served_has_no_metrics(api: "Api", lab: str) -> None:
    for path in ("/apis/nobody.io/v1/things", "/api/v1/nothings", f"{lab}/pods/p/nothing", "/apis/apps/v9/deployments"):
        await api.ask("GET", path)
    await api.ask("POST", f"{lab}/configmaps?dryRun=some-{lab[-5:]}", {})
    text = (await api.ask("GET", "/metrics")).body.decode()
    assert 'resource="configmaps",scope="resource",subresource="",verb="POST"' in text
    assert 'dry_run="invalid"' in text
    for odd in ("nobody.io", "nothings", '"nothing"', '"v9"', "some-"):
        assert odd not in text


async def test_a_definition_whose_accepted_names_are_emptied_leaves_the_schema_to_others(api: "Api") -> None:
    names = {"plural": "gaps", "singular": "gap", "kind": "Gap", "listKind": "GapList"}
    schema = {"openAPIV3Schema": {"type": "object"}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    spec = {"group": "gaps.example", "scope": "Cluster", "names": names, "versions": [version]}
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    await api.create(path, {"metadata": {"name": "gaps.gaps.example"}, "spec": spec})
    emptied = {"status": {"acceptedNames": {"plural": "", "kind": ""}}}
    await api.patch(f"{path}/gaps.gaps.example/status", emptied)
    assert (await api.ask("GET", "/openapi/v3")).status == 200
    assert (await api.ask("GET", "/openapi/v2")).status == 200


@pytest.mark.parametrize("kind", ["G", "MuchLongerThanThat"])
async def test_objects_of_a_definition_that_is_given_another_kind_stay_readable(api: "Api", kind: str) -> None:
    plural = f"renamed{len(kind)}s"
    names = {"plural": plural, "singular": plural[:-1], "kind": "Renamed", "listKind": "RenamedList"}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
    spec = {"group": f"{plural}.example", "scope": "Cluster", "names": names, "versions": [version]}
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    await api.create(definitions, {"metadata": {"name": f"{plural}.{plural}.example"}, "spec": spec})
    path = f"/apis/{plural}.example/v1/{plural}"
    given = {"apiVersion": f"{plural}.example/v1", "kind": "Renamed", "metadata": {"name": "one"}}
    await api.create(path, given)
    changed = {"status": {"acceptedNames": {**names, "kind": kind}}}
    await api.patch(f"{definitions}/{plural}.{plural}.example/status", changed)
    for _ in range(3):  # while the name is settled again
        assert (await api.get(f"{path}/one"))["metadata"]["name"] == "one"
        assert [one["metadata"]["name"] for one in (await api.get(path))["items"]] == ["one"]


@pytest.mark.parametrize("field", ["kind", "apiVersion", "metadata", "spec"])
@pytest.mark.parametrize("change", ["removed", None, 1, "Other", "a/b/c", [], {}, True])
async def test_a_patch_may_make_anything_of_a_custom_resource_but_a_bug(api: "Api", field: str, change: object) -> None:
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    names = {"plural": "odds", "singular": "odd", "kind": "Odd", "listKind": "OddList"}
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema, "subresources": {"status": {}}}
    spec = {"group": "odds.example", "scope": "Cluster", "names": names, "versions": [version]}
    await api.ask("POST", path, {"metadata": {"name": "odds.odds.example"}, "spec": spec})
    odd = {"apiVersion": "odds.example/v1", "kind": "Odd", "metadata": {"name": "one"}, "spec": {"a": 1}}
    await api.ask("POST", "/apis/odds.example/v1/odds", odd)
    removed = {"op": "remove", "path": f"/{field}"}
    operation = removed if change == "removed" else {"op": "replace", "path": f"/{field}", "value": change}
    for part in ("", "/status"):
        at = f"/apis/odds.example/v1/odds/one{part}"
        answer = await api.ask("PATCH", at, [operation], media="application/json-patch+json")
        assert answer.status != 500
        merge = {field: None if change == "removed" else change}
        answer = await api.ask("PATCH", at, merge, media="application/merge-patch+json")
        assert answer.status != 500
    assert (await api.get("/apis/odds.example/v1/odds/one"))["kind"] == "Odd"
