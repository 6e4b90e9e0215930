"""Persistent volumes."""

import pytest

from mockkube.api.kinds.core.persistent_volume_validation import (
    VolumeValidationOptions,
    persistent_volume_warnings,
    validate_mount_options,
    validate_volume_spec,
    validate_volume_update,
    volume_validation_options,
)
from mockkube.api.validation.extensions import (
    NO_EXTENSIONS,
    OperatorRule,
    ValidationExtensions,
    reject_requirement_operator,
)
from mockkube.api.validation.node_selector import NodeSelectorOptions
from mockkube.features.capabilities import Capabilities

GOOD = {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}, "hostPath": {"path": "/a", "type": ""}}


def volume(_without=(), **spec):
    merged = {name: value for name, value in {**GOOD, **spec}.items() if name not in _without}
    return {"metadata": {"name": "v", "resourceVersion": "1"}, "spec": merged}


def affinity(key="a", operator="In", values=("b",)):
    requirement = {"key": key, "operator": operator, "values": list(values)}
    return {"required": {"nodeSelectorTerms": [{"matchExpressions": [requirement]}]}}


def judge(obj, rules=VolumeValidationOptions()):  # noqa: B008 - frozen
    return [str(error).partition(" (e.g.")[0] for error in validate_volume_spec(obj, rules)]


@pytest.mark.parametrize(
    ("obj", "says"),
    [
        pytest.param(volume(), [], id="in order"),
        pytest.param(
            {"metadata": {"name": "v"}, "spec": {}},
            [
                "spec.accessModes: Required value",
                "spec.capacity: Required value",
                'spec.capacity: Unsupported value: null: supported values: "storage"',
                "spec: Required value: must specify a volume type",
            ],
            id="empty",
        ),
        pytest.param(
            volume(capacity={"storage": "1Gi", "cpu": "1"}),
            ['spec.capacity: Unsupported value: {"cpu":"1","storage":"1Gi"}: supported values: "storage"'],
            id="more than storage",
        ),
        pytest.param(
            volume(capacity={"storage": "-1"}),
            [
                "spec.capacity[storage]: Invalid value: -1: must be a valid resource quantity",
                'spec.capacity[storage]: Invalid value: "-1": must be greater than zero',
            ],
            id="less than nothing",
        ),
        pytest.param(
            volume(hostPath={"path": "/a/.."}, persistentVolumeReclaimPolicy="Recycle"),
            [
                "spec.hostPath.path: Invalid value: \"/a/..\": must not contain '..'",
                "spec.persistentVolumeReclaimPolicy: Forbidden: may not be 'recycle' for a hostPath mount of '/'",
            ],
            id="recycling the node",
        ),
        pytest.param(
            volume(_without=("hostPath",), local={"path": "/a"}),
            ["spec.nodeAffinity: Required value: Local volume requires node affinity"],
            id="local to no node",
        ),
        pytest.param(volume(_without=("hostPath",), local={"path": "/a"}, nodeAffinity=affinity()), [], id="local"),
        pytest.param(
            volume(nodeAffinity={}),
            ["spec.nodeAffinity.required: Required value: must specify required node constraints"],
            id="affinity to nothing",
        ),
        pytest.param(
            volume(nfs={"server": "s", "path": "/"}),
            ["spec.nfs: Forbidden: may not specify more than 1 volume type"],
            id="two sources",
        ),
        pytest.param(
            volume(flexVolume={}), ["spec.flexVolume.driver: Required value"], id="flexVolume is looked at all the same"
        ),
        pytest.param(
            volume(
                iscsi={"targetPortal": "1.2.3.4", "iqn": "iqn.2001-04.com.example:a", "lun": 0},
                flexVolume={},
                _without=("hostPath",),
            ),
            ["spec.flexVolume.driver: Required value"],
            id="beside iscsi too",
        ),
        pytest.param(
            volume(volumeAttributesClassName=""),
            [
                "spec.volumeAttributesClassName: Required value: an empty string is disallowed",
                "spec.csi: Required value: has to be specified when using volumeAttributesClassName",
            ],
            id="attributes of no class",
        ),
    ],
)
def test_a_volume_is_told_what_is_wrong(obj, says):
    assert judge(obj) == says


@pytest.mark.parametrize(
    ("new", "old", "fields"),
    [
        pytest.param(volume(capacity={"storage": "2Gi"}), volume(), [], id="capacity"),
        pytest.param(
            volume(hostPath={"path": "/b", "type": ""}), volume(), ["spec.persistentvolumesource"], id="other place"
        ),
        pytest.param(volume(volumeMode="Block"), volume(volumeMode="Filesystem"), ["volumeMode"], id="other mode"),
        pytest.param(volume(nodeAffinity=affinity()), volume(), [], id="affinity added"),
        pytest.param(volume(), volume(nodeAffinity=affinity()), ["nodeAffinity"], id="affinity removed"),
        pytest.param(
            volume(nodeAffinity=affinity("topology.kubernetes.io/zone")),
            volume(nodeAffinity=affinity("failure-domain.beta.kubernetes.io/zone")),
            [],
            id="beta label becomes GA",
        ),
        pytest.param(
            volume(nodeAffinity=affinity("failure-domain.beta.kubernetes.io/zone")),
            volume(nodeAffinity=affinity("topology.kubernetes.io/zone")),
            ["nodeAffinity"],
            id="GA label becomes beta",
        ),
    ],
)
def test_where_the_data_lies_stays(new, old, fields):
    assert [error.field for error in validate_volume_update(new, old, VolumeValidationOptions())] == fields


def test_a_secret_for_growing_may_be_added():
    csi = {"driver": "d", "volumeHandle": "h"}
    secret = {"name": "s", "namespace": "n"}
    old = volume(_without=("hostPath",), csi=csi)
    new = volume(_without=("hostPath",), csi={**csi, "controllerExpandSecretRef": secret})
    assert validate_volume_update(new, old, VolumeValidationOptions()) == []
    assert validate_volume_update(old, new, VolumeValidationOptions()) != []


def test_affinity_is_mutable_behind_its_gate():
    old, new = volume(nodeAffinity=affinity()), volume()
    rules = volume_validation_options(Capabilities(gates=frozenset({"MutablePVNodeAffinity"})), NO_EXTENSIONS, old)
    assert validate_volume_update(new, old, rules) == []


def test_the_value_of_a_changed_affinity_is_shown_in_its_internal_form():
    (error,) = validate_volume_update(
        volume(nodeAffinity=affinity(values=("c",))), volume(nodeAffinity=affinity()), VolumeValidationOptions()
    )
    assert error.message.startswith(
        "Invalid value: "
        '{"Required":{"NodeSelectorTerms":[{"MatchExpressions":[{"Key":"a","Operator":"In","Values":["c"]}]'
    )


def test_a_stored_volume_keeps_the_operator_of_a_gate_that_was_turned_off():
    extensions = ValidationExtensions(
        node_selectors={"Newer": OperatorRule("G", lambda r, at: [], reject_requirement_operator)}
    )
    stored = volume(nodeAffinity=affinity(operator="Newer"))
    off, on = Capabilities(), Capabilities(gates=frozenset({"G"}))
    assert judge(stored, volume_validation_options(off, extensions)) != []
    assert judge(stored, volume_validation_options(on, extensions)) == []
    assert judge(stored, volume_validation_options(off, extensions, stored)) == []


def test_values_no_label_can_have_stay_where_they_were_stored():
    stored = volume(nodeAffinity=affinity(values=("b c",)))
    assert judge(stored, VolumeValidationOptions(selectors=NodeSelectorOptions())) != []
    assert judge(stored, volume_validation_options(Capabilities(), NO_EXTENSIONS, stored)) == []


def test_annotated_mount_options_need_a_source_that_is_mounted_so():
    obj = volume()
    obj["metadata"]["annotations"] = {"volume.beta.kubernetes.io/mount-options": "ro"}
    (error,) = validate_mount_options(obj)
    assert error.detail == "may not specify mount options for this volume type"
    assert validate_mount_options({**obj, "spec": {"nfs": {}}}) == []


def test_what_is_deprecated_is_warned_of():
    obj = volume(persistentVolumeReclaimPolicy="Recycle", nodeAffinity=affinity("beta.kubernetes.io/os"), rbd={})
    assert [text.partition(":")[0] for text in persistent_volume_warnings(obj)] == [
        "spec.persistentVolumeReclaimPolicy",
        "spec.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions[0].key",
        "spec.rbd",
    ]
