import pytest

from mockkube.api.kinds.storage.storage_class import StorageClassStrategy, VolumeAttributesClassStrategy

STORAGE, ATTRIBUTES = StorageClassStrategy(), VolumeAttributesClassStrategy()


def storage_class(**fields):
    own = {"provisioner": "a.b/c", "volumeBindingMode": "Immediate", "reclaimPolicy": "Delete"}
    return {"metadata": {"name": "s"}, **own, **fields}


@pytest.mark.parametrize(
    ("obj", "complaints"),
    [
        pytest.param(storage_class(), [], id="fine"),
        pytest.param(storage_class(provisioner=""), ["provisioner: Required value"], id="no provisioner"),
        pytest.param(
            storage_class(reclaimPolicy="Recycle"),
            ['reclaimPolicy: Unsupported value: "Recycle": supported values: "Delete", "Retain"'],
            id="policy",
        ),
        pytest.param(
            storage_class(allowedTopologies=[{"matchLabelExpressions": [{"key": "a"}]}]),
            ["allowedTopologies[0].matchLabelExpressions[0].values: Required value"],
            id="a place without values",
        ),
        pytest.param(
            storage_class(allowedTopologies=[{"matchLabelExpressions": [{"key": "a", "values": ["b"]}]}] * 2),
            ['allowedTopologies[1].matchLabelExpressions: Duplicate value: ""'],
            id="the same place twice",
        ),
    ],
)
def test_a_class_is_judged(judge, obj, complaints):
    assert [str(error) for error in STORAGE.validate(obj, judge())] == complaints


def test_how_volumes_are_made_never_changes(judge):
    errors = STORAGE.validate_update(storage_class(parameters={"b": "1", "a": "2"}), storage_class(), judge())
    assert [str(error) for error in errors] == ['parameters: Invalid value: {"a":"2","b":"1"}: field is immutable']


def test_deprecated_labels_are_warned_of(judge):
    obj = storage_class(
        allowedTopologies=[{"matchLabelExpressions": [{"key": "beta.kubernetes.io/os", "values": ["x"]}]}]
    )
    assert STORAGE.warnings_on_create(obj, judge()) == [
        'allowedTopologies[0].matchLabelExpressions[0].key: deprecated since v1.14; use "kubernetes.io/os" instead'
    ]


def test_attributes_need_parameters(judge):
    obj = {"metadata": {}, "driverName": "a.b"}
    assert [str(error) for error in ATTRIBUTES.validate(obj, judge())] == [
        "parameters: Required value: must contain at least one key/value pair"
    ]
    new = {**obj, "parameters": {"a": "b"}}
    old = {**obj, "parameters": {"a": "c"}}
    assert [str(error) for error in ATTRIBUTES.validate_update(new, old, judge())] == [
        "parameters: Forbidden: updates to parameters are forbidden."
    ]
