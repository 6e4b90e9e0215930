"""The types of a Kubernetes version."""

import pytest

from mockkube.api.schema import Schema, Shape
from mockkube.features.versions import Version

CORE = "io.k8s.api.core.v1."


@pytest.fixture(scope="module")
def schema() -> Schema:
    return Schema(Version.parse("1.36"))


def test_a_kind_is_found_by_group_version_and_name(schema: Schema) -> None:
    assert schema.find_definition("apps", "v1", "Deployment") == "io.k8s.api.apps.v1.Deployment"
    assert schema.find_definition("", "v1", "Pod") == CORE + "Pod"
    assert schema.find_definition("apps", "v1", "Nothing") is None
    assert schema.find_kind_type("apps", "v1beta1", "Deployment") is None


@pytest.mark.parametrize(
    ("definition", "field", "shape"),
    [
        pytest.param("Pod", "metadata", Shape.STRUCT, id="struct"),
        pytest.param("PodSpec", "containers", Shape.LIST, id="list"),
        pytest.param("PodSpec", "nodeSelector", Shape.MAP, id="map"),
        pytest.param("PodSpec", "nodeName", Shape.STRING, id="string"),
        pytest.param("PodSpec", "hostNetwork", Shape.BOOL, id="bool"),
        pytest.param("PodSpec", "priority", Shape.INT32, id="int32"),
        pytest.param("PodSpec", "activeDeadlineSeconds", Shape.INT64, id="int64"),
        pytest.param("ServicePort", "targetPort", Shape.INT_OR_STRING, id="int or string"),
        pytest.param("ContainerStateRunning", "startedAt", Shape.TIME, id="time"),
        pytest.param("Event", "eventTime", Shape.MICRO_TIME, id="micro time"),
    ],
)
def test_a_field_has_the_shape_of_its_go_type(schema: Schema, definition: str, field: str, shape: Shape) -> None:
    assert schema.get_type(CORE + definition).fields[field].node.shape is shape


def test_values_of_maps_and_items_of_lists_are_types_too(schema: Schema) -> None:
    limits = schema.get_type(CORE + "ResourceRequirements").fields["limits"].node
    data = schema.get_type(CORE + "Secret").fields["data"].node
    containers = schema.get_type(CORE + "PodSpec").fields["containers"].node
    assert limits.item is not None
    assert limits.item.shape is Shape.QUANTITY
    assert data.item is not None
    assert data.item.shape is Shape.BYTES
    assert containers.item is schema.get_type(CORE + "Container")


def test_fields_stand_in_the_order_of_go(schema: Schema) -> None:
    assert list(schema.get_type(CORE + "Pod").fields) == ["kind", "apiVersion", "metadata", "spec", "status"]
    assert list(schema.get_type(CORE + "PodSpec").fields)[:3] == ["volumes", "initContainers", "containers"]


def test_what_is_written_when_empty_is_known(schema: Schema) -> None:
    spec = schema.get_type("io.k8s.api.apps.v1.DeploymentSpec").fields
    assert (spec["replicas"].pointer, spec["replicas"].always_written) == (True, False)
    assert (spec["template"].pointer, spec["template"].always_written) == (False, True)
    assert (spec["paused"].pointer, spec["paused"].always_written) == (False, False)
    assert schema.get_type(CORE + "Container").fields["name"].always_written


def test_lists_know_how_they_are_merged(schema: Schema) -> None:
    containers = schema.get_type(CORE + "PodSpec").fields["containers"]
    tolerations = schema.get_type(CORE + "PodSpec").fields["tolerations"]
    assert (containers.patch_strategy, containers.merge_key) == ("merge", "name")
    assert (containers.node.list_type, containers.node.map_keys) == ("map", ("name",))
    assert (tolerations.patch_strategy, tolerations.node.list_type) == ("", "atomic")


def test_a_type_that_contains_itself_is_one_node(schema: Schema) -> None:
    node = schema.get_type("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps")
    properties = node.fields["properties"].node
    assert properties.item is not None
    assert properties.item.fields is node.fields


def test_versions_differ_by_their_fields() -> None:
    older, newer = Schema(Version.parse("1.33")), Schema(Version.parse("1.36"))
    assert "workloads" not in newer.definitions
    assert set(newer.get_type(CORE + "PodSpec").fields) - set(older.get_type(CORE + "PodSpec").fields)
    assert older.find_kind_type("resource.k8s.io", "v1", "ResourceClaim") is None
    assert newer.find_kind_type("resource.k8s.io", "v1", "ResourceClaim") is not None


def test_an_overlay_adds_fields_to_its_schema_alone(schema: Schema) -> None:
    definition = CORE + "Toleration"
    extended = Schema(schema.version, {definition: {"expression": {"type": "string"}}})
    assert extended.get_type(definition).fields["expression"].node.shape is Shape.STRING
    assert set(extended.get_type(definition).fields) - set(schema.get_type(definition).fields) == {"expression"}


def test_every_kind_can_be_built(schema: Schema) -> None:
    for definition in schema.definitions:
        assert schema.get_type(definition).definition == definition


def test_a_described_type_keeps_what_a_proposal_adds() -> None:
    added = {"effect": {"type": "string"}, "note": {"type": "string", "description": "A note."}}
    schema = Schema(Version(1, 36), {CORE + "Taint": added})
    described = schema.describe_definition(CORE + "Taint")
    assert described["description"].startswith("The node this Taint is attached to")
    assert described["properties"]["key"]["description"].startswith("Required. The taint key")
    assert {name: described["properties"][name] for name in added} == added
    assert "description" not in schema.definitions[CORE + "Taint"]


def test_versions_share_types_that_did_not_change() -> None:
    oldest, newest = (Schema(Version(1, minor)).definitions[CORE + "Taint"] for minor in (33, 37))
    assert oldest is newest
