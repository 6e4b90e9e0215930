"""Metadata of objects, on creation and on update."""

import pytest

from mockkube.api import names
from mockkube.api.validation.metadata import (
    ANNOTATIONS_BYTES_MAX,
    validate_field_manager,
    validate_metadata,
    validate_metadata_update,
    validate_native_metadata_update,
)

OWNER = {"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "u"}


def meta(**fields):
    return {"metadata": {"name": "a", "namespace": "default", "uid": "u", "resourceVersion": "1", **fields}}


def texts(errors):
    return [str(error) for error in errors]


def create(**fields):
    return texts(validate_metadata(meta(**fields), names.check_dns_subdomain, True))


def test_a_good_object_passes():
    assert create(labels={"a/b": "c"}, annotations={"A": "any text"}, finalizers=["example.com/f"]) == []


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        pytest.param({"name": ""}, ["metadata.name: Required value: name or generateName is required"], id="no name"),
        pytest.param({"namespace": ""}, ["metadata.namespace: Required value"], id="no namespace"),
        pytest.param(
            {"generation": -1},
            ["metadata.generation: Invalid value: -1: must be greater than or equal to 0"],
            id="negative generation",
        ),
        pytest.param(
            {"ownerReferences": [{**OWNER, "apiVersion": "a/b/c", "uid": ""}]},
            [
                'metadata.ownerReferences.apiVersion: Invalid value: "a/b/c": version must not be empty',
                'metadata.ownerReferences.uid: Invalid value: "": must not be empty',
            ],
            id="incomplete owner",
        ),
        pytest.param(
            {"finalizers": ["odd"]},
            [
                'metadata.finalizers[0]: Invalid value: "odd": '
                "name is neither a standard finalizer name nor is it fully qualified"
            ],
            id="finalizer without a domain",
        ),
        pytest.param(
            {"finalizers": ["orphan", "foregroundDeletion"]},
            [
                'metadata.finalizers: Invalid value: ["orphan","foregroundDeletion"]: '
                "finalizer orphan and foregroundDeletion cannot be both set"
            ],
            id="both ways of treating dependents",
        ),
        pytest.param(
            {"managedFields": [{"operation": "Odd", "fieldsType": "FieldsV2", "manager": "a"}]},
            [
                'metadata.managedFields[0].operation: Invalid value: "Odd": must be `Apply` or `Update`',
                'metadata.managedFields[0].fieldsType: Invalid value: "FieldsV2": must be `FieldsV1`',
            ],
            id="odd managed fields",
        ),
        pytest.param(
            {"annotations": {"a": "x" * ANNOTATIONS_BYTES_MAX}},
            ["metadata.annotations: Too long: may not be more than 262144 bytes"],
            id="annotations too big",
        ),
    ],
)
def test_bad_metadata_is_told_why(fields, says):
    assert create(**fields) == says


def test_two_owners_cannot_both_be_controllers():
    owners = [{**OWNER, "controller": True}, {**OWNER, "name": "m", "controller": True}]
    (error,) = create(ownerReferences=owners)
    assert error.endswith('Found "true" in references for Node/n and Node/m')


def test_an_event_owns_nothing():
    (error,) = create(ownerReferences=[{**OWNER, "kind": "Event"}])
    assert error.endswith("/v1, Kind=Event is disallowed from being an owner")


def test_a_cluster_scoped_kind_has_no_namespace():
    errors = validate_metadata(meta(), names.check_dns_subdomain, False)
    assert texts(errors) == ["metadata.namespace: Forbidden: not allowed on this type"]


def test_a_bad_stem_is_named_besides_the_name_made_of_it():
    errors = create(name="AB-x", generateName="AB-")
    assert [error.partition(":")[0] for error in errors] == ["metadata.generateName", "metadata.name"]


def test_finalizers_of_custom_resources_may_lack_a_domain():
    assert validate_metadata(meta(finalizers=["odd"]), names.check_dns_subdomain, True, native=False) == []


@pytest.mark.parametrize(
    ("new", "old", "says"),
    [
        pytest.param({"uid": "v"}, {}, 'metadata.uid: Invalid value: "v": field is immutable', id="uid"),
        pytest.param({"name": "b"}, {}, 'metadata.name: Invalid value: "b": field is immutable', id="name"),
        pytest.param(
            {"deletionGracePeriodSeconds": 5},
            {},
            "metadata.deletionGracePeriodSeconds: Invalid value: 5: field is immutable",
            id="grace period",
        ),
        pytest.param(
            {"resourceVersion": ""},
            {},
            'metadata.resourceVersion: Invalid value: "": must be specified for an update',
            id="no version",
        ),
        pytest.param(
            {"generation": 1},
            {"generation": 2},
            "metadata.generation: Invalid value: 1: must not be decremented",
            id="generation falls",
        ),
        pytest.param(
            {"finalizers": ["b/c", "a/b"], "deletionTimestamp": "t"},
            {"finalizers": ["a/b"], "deletionTimestamp": "t"},
            "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, "
            'found new finalizers []string{"b/c"}',
            id="finalizer added while being deleted",
        ),
    ],
)
def test_an_update_keeps_what_identifies_the_object(new, old, says):
    assert texts(validate_metadata_update(meta(**new), meta(**old))) == [says]


def test_native_kinds_know_their_finalizers_on_update_too():
    new = meta(finalizers=["odd"])
    assert validate_metadata_update(new, meta()) == []
    assert len(validate_native_metadata_update(new, meta())) == 1


def test_a_field_manager_is_short_and_printable():
    assert validate_field_manager("kubectl edit", "fieldManager") == []
    (error,) = validate_field_manager("é\n", "fieldManager")
    assert error.detail == "invalid character U+000A (at position 2)"
    assert str(validate_field_manager("a" * 129, "fieldManager")[0]).endswith("may not be more than 128 bytes")
