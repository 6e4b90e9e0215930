"""What the documents say of a type: defaults that follow from Go, closed sets of values, references."""

from typing import Any

import pytest

from mockkube.api.schema import Schema
from mockkube.apiserver.http.openapi.schemas import V2_PREFIX, V3_PREFIX, Schemas
from mockkube.features.versions import Version

CORE = "io.k8s.api.core.v1."
META = "io.k8s.apimachinery.pkg.apis.meta.v1."
SCHEMA = Schema(Version(1, 36))


def field(definition: str, name: str, *, prefix: str = V3_PREFIX, schema: Schema = SCHEMA) -> dict[str, Any]:
    shown: dict[str, Any] = Schemas(schema, prefix).get_schema(definition)["properties"][name]
    return {key: value for key, value in shown.items() if key != "description"}


@pytest.mark.parametrize(
    ("definition", "name", "shown"),
    [
        pytest.param(CORE + "Container", "name", {"type": "string", "default": ""}, id="a text that is always there"),
        pytest.param(CORE + "Container", "image", {"type": "string"}, id="a text that may be left out"),
        pytest.param(CORE + "PodSpec", "nodeName", {"type": "string"}, id="no set of values"),
        pytest.param(
            CORE + "ContainerPort",
            "containerPort",
            {"type": "integer", "format": "int32", "default": 0},
            id="a number that is always there",
        ),
        pytest.param(
            CORE + "ContainerPort",
            "protocol",
            {"type": "string", "default": "TCP", "enum": ["SCTP", "TCP", "UDP"]},
            id="a default of its own",
        ),
        pytest.param(
            CORE + "ReplicationControllerSpec",
            "replicas",
            {"type": "integer", "format": "int32", "default": 1},
            id="a default of its own behind a pointer",
        ),
        pytest.param(
            CORE + "Container",
            "resources",
            {"allOf": [{"$ref": f"{V3_PREFIX}{CORE}ResourceRequirements"}], "default": {}},
            id="a struct",
        ),
        pytest.param(
            CORE + "Container",
            "lifecycle",
            {"allOf": [{"$ref": f"{V3_PREFIX}{CORE}Lifecycle"}]},
            id="a pointer to a struct",
        ),
        pytest.param(
            CORE + "ResourceRequirements",
            "limits",
            {
                "type": "object",
                "additionalProperties": {"$ref": "#/components/schemas/io.k8s.apimachinery.pkg.api.resource.Quantity"},
            },
            id="a map of what writes itself",
        ),
        pytest.param(
            CORE + "Container",
            "args",
            {"type": "array", "items": {"type": "string", "default": ""}, "x-kubernetes-list-type": "atomic"},
            id="a list of texts",
        ),
    ],
)
def test_a_field_is_shown_as_upstream_shows_it(definition: str, name: str, shown: dict[str, Any]) -> None:
    assert field(definition, name) == shown


def test_version_2_has_references_beside_descriptions_and_no_defaults() -> None:
    assert field(CORE + "Container", "resources", prefix=V2_PREFIX) == {
        "$ref": f"{V2_PREFIX}{CORE}ResourceRequirements"
    }
    assert field(CORE + "Container", "name", prefix=V2_PREFIX) == {"type": "string"}


def test_the_values_of_the_items_of_a_list_stand_with_the_items() -> None:
    rule = field("io.k8s.api.admissionregistration.v1.RuleWithOperations", "operations")
    assert rule["items"] == {"type": "string", "default": "", "enum": ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"]}
    assert "enum" not in rule


def test_the_description_says_what_each_value_means() -> None:
    said = Schemas(SCHEMA, V3_PREFIX).get_schema(CORE + "ContainerPort")["properties"]["protocol"]["description"]
    assert said.endswith(
        '\n\nPossible enum values:\n - `"SCTP"` is the SCTP protocol.\n - `"TCP"` is the TCP protocol.\n'
        ' - `"UDP"` is the UDP protocol.'
    )


def test_values_are_those_of_the_emulated_version() -> None:
    older = field(CORE + "Toleration", "operator", schema=Schema(Version(1, 34)))
    assert older["enum"] == ["Equal", "Exists"]
    assert field(CORE + "Toleration", "operator")["enum"] == ["Equal", "Exists", "Gt", "Lt"]


@pytest.mark.parametrize(
    ("minor", "items"),
    [
        pytest.param(36, {"type": "string", "default": ""}, id="with the default of their type"),
        pytest.param(37, {"type": "string"}, id="without any"),
    ],
)
def test_items_are_shown_as_the_emulated_version_shows_them(minor: int, items: dict[str, Any]) -> None:
    assert field(CORE + "Container", "args", schema=Schema(Version(1, minor)))["items"] == items


def test_a_default_holds_from_its_version_on() -> None:
    scale = "io.k8s.api.autoscaling.v1.ScaleSpec"
    assert "default" not in field(scale, "replicas", schema=Schema(Version(1, 33)))
    assert field(scale, "replicas")["default"] == 0


@pytest.mark.parametrize(
    ("prefix", "shown"),
    [
        pytest.param(
            V3_PREFIX, {"format": "int-or-string", "oneOf": [{"type": "integer"}, {"type": "string"}]}, id="v3"
        ),
        pytest.param(V2_PREFIX, {"format": "int-or-string", "type": "string"}, id="v2"),
    ],
)
def test_a_number_or_text_is_a_union_only_where_there_are_unions(prefix: str, shown: dict[str, Any]) -> None:
    whole = dict(Schemas(SCHEMA, prefix).get_schema("io.k8s.apimachinery.pkg.util.intstr.IntOrString"))
    whole.pop("description", None)
    assert whole == shown


def test_what_a_type_is_made_of_is_reached_once_and_in_order() -> None:
    found = Schemas(SCHEMA, V3_PREFIX).collect_reachable(iter([META + "LabelSelector"]))
    assert list(found) == [META + "LabelSelector", META + "LabelSelectorRequirement"]


def test_a_field_called_like_a_reference_is_none() -> None:
    props = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"
    found = Schemas(SCHEMA, V3_PREFIX).collect_reachable(iter([props]))
    assert found[props]["properties"]["$ref"] == {"type": "string"}
