"""Persistent volume claims."""

import pytest

from mockkube.api.kinds.core.persistent_volume_claim_validation import (
    ClaimValidationOptions,
    claim_validation_options,
    validate_claim_spec,
    validate_claim_status,
    validate_claim_template,
    validate_claim_update,
)
from mockkube.features.capabilities import Capabilities
from mockkube.features.versions import Version

GOOD = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, "volumeMode": "Filesystem"}
RULES = ClaimValidationOptions()


def claim(spec=None, status=None, **meta):
    return {"metadata": {"name": "c", "resourceVersion": "1", **meta}, "spec": spec or GOOD, "status": status or {}}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        pytest.param({}, [], id="in order"),
        pytest.param(
            {"accessModes": []}, ["s.accessModes: Required value: at least 1 access mode is required"], id="no mode"
        ),
        pytest.param(
            {"accessModes": ["ReadWriteOncePod", "ReadOnlyMany"]},
            ["s.accessModes: Forbidden: may not use ReadWriteOncePod with other access modes"],
            id="one pod and many",
        ),
        pytest.param({"resources": {}}, ["s.resources[storage]: Required value"], id="no storage"),
        pytest.param(
            {"resources": {"requests": {"storage": "0"}}},
            ['s.resources[storage]: Invalid value: "0": must be greater than zero'],
            id="nothing",
        ),
        pytest.param(
            {"volumeMode": "Odd"},
            ['s.volumeMode: Unsupported value: "Odd": supported values: "Block", "Filesystem"'],
            id="unknown mode",
        ),
        pytest.param(
            {"dataSource": {"kind": "Odd", "name": "n"}},
            [
                's.dataSource: Invalid value: "Odd": '
                "must be 'PersistentVolumeClaim' when referencing the default apiGroup"
            ],
            id="odd source",
        ),
        pytest.param(
            {
                "dataSource": {"kind": "PersistentVolumeClaim", "name": "n"},
                "dataSourceRef": {"kind": "PersistentVolumeClaim", "name": "m"},
            },
            ["s: Invalid value: {}: must match dataSourceRef"],
            id="two sources that differ",
        ),
    ],
)
def test_what_is_claimed(change, says):
    assert [str(error) for error in validate_claim_spec({**GOOD, **change}, "s", RULES)] == says


def test_a_template_brings_labels_and_annotations_only():
    template = {"metadata": {"name": "x", "uid": "u", "labels": {"a": "b"}, "creationTimestamp": None}, "spec": GOOD}
    assert [str(error) for error in validate_claim_template(template, "t", RULES)] == [
        "t.metadata.name: Forbidden: cannot be set",
        "t.metadata.uID: Forbidden: cannot be set",
    ]


def resized(storage):
    return {**GOOD, "resources": {"requests": {"storage": storage}}}


BOUND = {"phase": "Bound", "capacity": {"storage": "2Gi"}}


@pytest.mark.parametrize(
    ("new", "old", "fields"),
    [
        pytest.param(claim(), claim(), [], id="nothing"),
        pytest.param(claim({**GOOD, "volumeName": "v"}), claim(), [], id="bound to a volume"),
        pytest.param(claim({**GOOD, "storageClassName": "s"}), claim(), [], id="class given later"),
        pytest.param(claim(resized("2Gi")), claim(), ["spec"], id="grown, not bound"),
        pytest.param(claim(resized("3Gi"), BOUND), claim(resized("2Gi"), BOUND), [], id="grown, bound"),
        pytest.param(
            claim(resized("1Gi"), BOUND),
            claim(resized("3Gi"), BOUND),
            ["spec.resources.requests.storage"],
            id="below what it has",
        ),
        pytest.param(claim({**GOOD, "volumeMode": "Block"}), claim(), ["spec", "volumeMode"], id="other mode"),
        pytest.param(
            claim(annotations={"volume.beta.kubernetes.io/storage-class": "b"}),
            claim(annotations={"volume.beta.kubernetes.io/storage-class": "a"}),
            ["metadata.annotations.volume.beta.kubernetes.io/storage-class"],
            id="annotated class changed",
        ),
        pytest.param(
            claim({**GOOD, "storageClassName": "a"}),
            claim(annotations={"volume.beta.kubernetes.io/storage-class": "a"}),
            [],
            id="annotated class becomes the field",
        ),
        pytest.param(
            claim({**GOOD, "volumeAttributesClassName": "b"}, BOUND),
            claim({**GOOD, "volumeAttributesClassName": "a"}, BOUND),
            [],
            id="other attributes, bound",
        ),
    ],
)
def test_what_was_claimed_stays_but_for_growth(new, old, fields):
    assert [error.field for error in validate_claim_update(new, old, RULES)] == fields


def test_a_refused_change_comes_with_a_diff_of_the_internal_form():
    (error,) = validate_claim_update(claim(resized("2Gi")), claim(), RULES)
    assert error.detail == (
        "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims\n"
        "@@ -6,7 +6,7 @@\n"
        '  "Resources": {\n   "Limits": null,\n   "Requests": {\n'
        '-   "storage": "1Gi"\n+   "storage": "2Gi"\n   }\n  },\n  "VolumeName": "",\n'
    )


def test_attributes_cannot_be_given_up():
    status = {**BOUND, "currentVolumeAttributesClassName": "a"}
    old = claim({**GOOD, "volumeAttributesClassName": "a"}, status)
    (error,) = validate_claim_update(claim(GOOD, status), old, RULES)
    assert error.detail == "update to nil is forbidden when status.currentVolumeAttributesClassName is not nil"


def test_a_stored_claim_keeps_what_was_allowed_once():
    caps = Capabilities(Version(1, 33))
    assert not claim_validation_options(caps).attributes_class
    assert claim_validation_options(caps, claim({**GOOD, "volumeAttributesClassName": "a"})).attributes_class
    assert claim_validation_options(caps, claim({**GOOD, "dataSource": {"apiGroup": "A"}})).allow_invalid_api_group


def test_what_is_reported_of_a_claim():
    status = {
        "capacity": {"storage": "-1"},
        "allocatedResources": {"cpu": "1"},
        "allocatedResourceStatuses": {"storage": "Odd"},
    }
    assert [str(error) for error in validate_claim_status(claim(status=status), RULES)] == [
        "status.capacity[storage]: Invalid value: -1: must be a valid resource quantity",
        'status.allocatedResourceStatuses: Unsupported value: "storage": supported values: '
        '"ControllerResizeInProgress", "ControllerResizeInfeasible", "NodeResizeInProgress", '
        '"NodeResizeInfeasible", "NodeResizePending"',
        'status.allocatedResources: Unsupported value: "cpu": supported values: "storage"',
    ]
