from mockkube.api.kinds.storage.csi_storage_capacity import CSIStorageCapacityStrategy

STRATEGY = CSIStorageCapacityStrategy()


def capacity(**fields):
    return {"metadata": {"name": "c"}, "storageClassName": "s", "capacity": "1Gi", **fields}


def test_a_capacity_is_not_negative(judge):
    assert STRATEGY.validate(capacity(), judge()) == []
    assert [error.field for error in STRATEGY.validate(capacity(capacity="-1"), judge())] == ["capacity"]


def test_nodes_and_class_never_change(judge):
    new = capacity(storageClassName="t", nodeTopology={"matchLabels": {"a": "b"}})
    assert [error.field for error in STRATEGY.validate_update(new, capacity(), judge())] == [
        "nodeTopology",
        "storageClassName",
    ]


def test_deprecated_labels_are_warned_of(judge):
    topology = {
        "matchLabels": {"beta.kubernetes.io/os": "x"},
        "matchExpressions": [{"key": "beta.kubernetes.io/arch", "operator": "Exists"}],
    }
    assert STRATEGY.warnings_on_create(capacity(nodeTopology=topology), judge()) == [
        "nodeTopology.matchExpressions[0].key: beta.kubernetes.io/arch is deprecated since v1.14; use "
        '"kubernetes.io/arch" instead',
        'nodeTopology.matchLabels.beta.kubernetes.io/os: deprecated since v1.14; use "kubernetes.io/os" instead',
    ]
