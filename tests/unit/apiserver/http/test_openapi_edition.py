"""The documents of what is served: paths, operations, parameters, and the types they reach."""

from typing import Any

import orjson
import pytest

from mockkube.api.catalogue import KINDS, is_stable_version
from mockkube.api.schema import Schema
from mockkube.apiserver.http.openapi.openapi_documents import OpenApiDocuments
from mockkube.features.versions import Version

POD = "/api/v1/namespaces/{namespace}/pods/{name}"
SCHEMA = Schema(Version(1, 36))


def edition(schema: Schema = SCHEMA) -> OpenApiDocuments:
    served = [
        (
            kind,
            tuple(
                one
                for one in kind.versions
                if is_stable_version(one) and schema.find_kind_type(kind.group, one, kind.kind)
            ),
        )
        for kind in KINDS
    ]
    return OpenApiDocuments([(kind, versions) for kind, versions in served if versions], schema, {})


@pytest.fixture(scope="module")
def served() -> OpenApiDocuments:
    return edition()


@pytest.fixture(scope="module")
def core(served: OpenApiDocuments) -> dict[str, Any]:
    return read(served, "api/v1")


def read(served: OpenApiDocuments, place: str) -> dict[str, Any]:
    document: dict[str, Any] = orjson.loads(served.get_v3(place).body)
    return document


def names(parameters: list[dict[str, Any]]) -> list[str]:
    return [f"{one['in']} {one['name']}" for one in parameters]


@pytest.mark.parametrize(
    ("place", "path", "method", "identifier", "action"),
    [
        pytest.param("api/v1", "/api/v1/pods", "get", "listCoreV1PodForAllNamespaces", "list", id="everywhere"),
        pytest.param("api/v1", POD, "delete", "deleteCoreV1NamespacedPod", "delete", id="one"),
        pytest.param("api/v1", POD + "/exec", "post", "connectCoreV1PostNamespacedPodExec", "connect", id="connect"),
        pytest.param(
            "api/v1",
            POD + "/proxy/{path}",
            "options",
            "connectCoreV1OptionsNamespacedPodProxyWithPath",
            "connect",
            id="proxy",
        ),
        pytest.param(
            "api/v1", "/api/v1/watch/nodes/{name}", "get", "watchCoreV1Node", "watch", id="the deprecated watch"
        ),
        pytest.param(
            "apis/rbac.authorization.k8s.io/v1",
            "/apis/rbac.authorization.k8s.io/v1/clusterroles",
            "delete",
            "deleteRbacAuthorizationV1CollectionClusterRole",
            "deletecollection",
            id="a group of two words",
        ),
        pytest.param(
            "apis/apps/v1",
            "/apis/apps/v1/namespaces/{namespace}/deployments/{name}/scale",
            "patch",
            "patchAppsV1NamespacedDeploymentScale",
            "patch",
            id="a subresource",
        ),
    ],
)
def test_an_operation_is_named_as_upstream_names_it(
    served: OpenApiDocuments, place: str, path: str, method: str, identifier: str, action: str
) -> None:
    operation = read(served, place)["paths"][path][method]
    assert (operation["operationId"], operation["x-kubernetes-action"]) == (identifier, action)


def test_every_operation_has_a_name_of_its_own(served: OpenApiDocuments) -> None:
    found = [
        operation["operationId"]
        for place in served.v3_paths
        for item in read(served, place)["paths"].values()
        for operation in item.values()
        if isinstance(operation, dict)
    ]
    assert len(found) == len(set(found)) > 500


def test_every_reference_leads_somewhere(served: OpenApiDocuments) -> None:
    for place in served.v3_paths:
        document = read(served, place)
        prefix = b'"$ref":"#/components/schemas/'
        wanted = {part.partition(b'"')[0].decode() for part in served.get_v3(place).body.split(prefix)[1:]}
        assert wanted <= document["components"].get("schemas", {}).keys(), place


def test_parameters_of_all_methods_stand_beside_them(core: dict[str, Any]) -> None:
    item = core["paths"][POD]
    assert names(item["parameters"]) == ["path name", "path namespace", "query pretty"]
    assert names(item["put"]["parameters"]) == ["query dryRun", "query fieldManager", "query fieldValidation"]
    assert "parameters" not in item["get"]


def test_a_patch_takes_every_patch_format_and_a_write_any(core: dict[str, Any]) -> None:
    assert list(core["paths"][POD]["patch"]["requestBody"]["content"]) == [
        "application/apply-patch+yaml",
        "application/json-patch+json",
        "application/merge-patch+json",
        "application/strategic-merge-patch+json",
    ]
    body = core["paths"][POD]["put"]["requestBody"]
    assert body == {
        "required": True,
        "content": {"*/*": {"schema": {"$ref": "#/components/schemas/io.k8s.api.core.v1.Pod"}}},
    }


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        pytest.param(POD, "core.v1.Pod", id="the object itself"),
        pytest.param("/api/v1/nodes/{name}", "meta.v1.Status", id="a status"),
    ],
)
def test_a_deletion_answers_as_its_kind_does(core: dict[str, Any], path: str, kind: str) -> None:
    for code in ("200", "202"):
        content = core["paths"][path]["delete"]["responses"][code]["content"]
        assert content["application/json"]["schema"]["$ref"].endswith(kind)


def test_a_shared_type_names_only_the_kinds_of_its_document(served: OpenApiDocuments) -> None:
    schema = read(served, "apis/apps/v1")["components"]["schemas"]["io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"]
    assert schema["x-kubernetes-group-version-kind"] == [
        {"group": "", "kind": "DeleteOptions", "version": "v1"},
        {"group": "apps", "kind": "DeleteOptions", "version": "v1"},
    ]


def test_the_index_names_the_content_of_each_document(served: OpenApiDocuments) -> None:
    index = orjson.loads(served.index())["paths"]
    assert list(index) == sorted(served.v3_paths)
    assert {"api", "apis", "version", "api/v1", "apis/apps", "apis/apps/v1"} <= index.keys()
    assert index["api/v1"]["serverRelativeURL"] == f"/openapi/v3/api/v1?hash={served.get_v3('api/v1').hash}"


def test_equal_content_has_equal_names_in_any_process(served: OpenApiDocuments) -> None:
    assert edition(Schema(Version(1, 36))).index() == served.index()


def test_a_subresource_that_a_later_version_brought_is_not_shown() -> None:
    path = "/apis/storage.k8s.io/v1/csinodes/{name}/status"
    assert path not in read(edition(), "apis/storage.k8s.io/v1")["paths"]
    assert path in read(edition(Schema(Version(1, 37))), "apis/storage.k8s.io/v1")["paths"]


def test_older_versions_lack_newer_parameters_and_name_all_kinds_of_shared_types() -> None:
    older = read(edition(Schema(Version(1, 35))), "apis/apps/v1")
    listing = older["paths"]["/apis/apps/v1/deployments"]["parameters"]
    assert "query sendInitialEvents" in names(listing)
    assert "query shardSelector" not in names(listing)
    options = older["components"]["schemas"]["io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"]
    assert len(options["x-kubernetes-group-version-kind"]) > 40


@pytest.mark.parametrize("minor", range(33, 38))
def test_every_version_has_its_documents(minor: int) -> None:
    document = orjson.loads(edition(Schema(Version(1, minor))).v2.body)
    assert ("io.k8s.api.resource.v1.DeviceClass" in document["definitions"]) is (minor >= 34)


def test_version_2_holds_all_groups_and_each_parameter_once(served: OpenApiDocuments) -> None:
    document = orjson.loads(served.v2.body)
    assert {path for place in served.v3_paths for path in read(served, place)["paths"]} == document["paths"].keys()
    pods = document["paths"]["/api/v1/namespaces/{namespace}/pods"]
    assert pods["post"]["parameters"][0] == {
        "name": "body",
        "in": "body",
        "required": True,
        "schema": {"$ref": "#/definitions/io.k8s.api.core.v1.Pod"},
    }
    shared = [document["parameters"][one["$ref"].rpartition("/")[2]] for one in pods["parameters"]]
    assert names(shared) == ["path namespace", "query pretty"]
