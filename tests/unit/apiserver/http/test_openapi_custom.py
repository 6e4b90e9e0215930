"""Custom resources in the documents: their own schemas, and what every object has."""

from typing import Any

import orjson
import pytest

from mockkube.api.catalogue import KindInfo
from mockkube.api.protobuf.envelope import GroupVersionKind
from mockkube.api.schema import Schema
from mockkube.apiserver.http.openapi.openapi_documents import OpenApiDocuments
from mockkube.features.versions import Version

GIZMO = KindInfo("kc.example.com", "Gizmo", "gizmos", namespaced=False, versions=("v1",))
SUBJECT = GroupVersionKind("kc.example.com", "v1", "Gizmo")
NAME = "com.example.kc.v1.Gizmo"
OPEN: dict[str, Any] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
SCHEMA = Schema(Version(1, 36))


def third(schema: dict[str, Any] | None) -> dict[str, Any]:
    custom = {} if schema is None else {SUBJECT: schema}
    document: dict[str, Any] = orjson.loads(
        OpenApiDocuments([(GIZMO, ("v1",))], SCHEMA, custom).get_v3("apis/kc.example.com/v1").body
    )
    return document


def second(schema: dict[str, Any]) -> dict[str, Any]:
    document = orjson.loads(OpenApiDocuments([(GIZMO, ("v1",))], SCHEMA, {SUBJECT: schema}).v2.body)
    shown: dict[str, Any] = document["definitions"][NAME]
    return shown


def spec_in_second(spec: dict[str, Any]) -> dict[str, Any]:
    shown: dict[str, Any] = second({"type": "object", "properties": {"spec": spec}})["properties"]["spec"]
    return shown


def test_an_object_has_its_fields_and_those_of_every_object() -> None:
    schema = third({"type": "object", "properties": {"size": {"type": "integer"}}})["components"]["schemas"][NAME]
    assert list(schema["properties"]) == ["size", "apiVersion", "kind", "metadata"]
    assert schema["properties"]["metadata"]["allOf"] == [
        {"$ref": "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}
    ]
    assert schema["x-kubernetes-group-version-kind"] == [{"group": "kc.example.com", "version": "v1", "kind": "Gizmo"}]


def test_a_list_has_items_of_its_kind() -> None:
    schema = third(OPEN)["components"]["schemas"]["com.example.kc.v1.GizmoList"]
    assert schema["required"] == ["items"]
    assert schema["properties"]["items"]["items"] == {"$ref": f"#/components/schemas/{NAME}"}


def test_without_a_schema_an_object_is_anything() -> None:
    schema = third(None)["components"]["schemas"][NAME]
    assert schema.keys() == {"type", "x-kubernetes-group-version-kind"}


def test_operations_know_no_strategic_patch_no_protobuf_and_no_watch_path() -> None:
    paths = third(OPEN)["paths"]
    assert [path for path in paths if "/watch/" in path] == []
    item = paths["/apis/kc.example.com/v1/gizmos/{name}"]
    assert item["patch"]["operationId"] == "patchKcExampleComV1Gizmo"
    assert list(item["patch"]["requestBody"]["content"]) == [
        "application/apply-patch+yaml",
        "application/json-patch+json",
        "application/merge-patch+json",
    ]
    assert list(item["get"]["responses"]["200"]["content"]) == ["application/json", "application/yaml"]


def test_an_embedded_object_has_the_fields_of_every_object() -> None:
    template = {"type": "object", "x-kubernetes-embedded-resource": True, "required": ["kind"]}
    schema = third({"type": "object", "properties": {"template": template}})["components"]["schemas"][NAME]
    shown = schema["properties"]["template"]
    assert shown["properties"].keys() == {"apiVersion", "kind", "metadata"}
    assert shown["required"] == ["kind", "apiVersion"]


def test_version_2_shows_no_fields_of_an_open_object_lest_kubectl_refuse_the_others() -> None:
    assert "properties" not in second(OPEN)


@pytest.mark.parametrize(
    ("spec", "shown"),
    [
        pytest.param({"type": "string", "nullable": True}, {}, id="nullable, so of no one type"),
        pytest.param(
            {"type": "integer", "anyOf": [{"minimum": 1}], "maximum": 9},
            {"type": "integer", "maximum": 9},
            id="junctors",
        ),
        pytest.param(OPEN, {"x-kubernetes-preserve-unknown-fields": True}, id="open"),
        pytest.param(
            {"type": "object", "required": ["a"], "properties": {"a": {"type": "string", "nullable": True}}},
            {"type": "object", "properties": {"a": {}}},
            id="a nullable field is not required",
        ),
        pytest.param(
            {"type": "array", "items": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            {"type": "array", "items": {"x-kubernetes-preserve-unknown-fields": True}},
            id="items are changed too",
        ),
    ],
)
def test_version_2_leaves_out_what_kubectl_cannot_read(spec: dict[str, Any], shown: dict[str, Any]) -> None:
    assert spec_in_second(spec) == shown


def test_an_edition_of_other_schemas_has_other_documents() -> None:
    one = OpenApiDocuments([(GIZMO, ("v1",))], SCHEMA, {SUBJECT: OPEN})
    other = OpenApiDocuments([(GIZMO, ("v1",))], SCHEMA, {})
    assert one.index() != other.index()
