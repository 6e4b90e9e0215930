import pytest

from mockkube.api.kinds.resource.resource_slice import ResourceSliceStrategy

STRATEGY = ResourceSliceStrategy()


def resource_slice(*devices, **spec):
    pool = {"name": "p", "generation": 1, "resourceSliceCount": 1}
    own = {"driver": "a.b", "nodeName": "n", "pool": pool, "devices": list(devices)}
    return {
        "metadata": {"name": "s"},
        "spec": {name: value for name, value in {**own, **spec}.items() if value is not None},
    }


@pytest.mark.parametrize(
    ("obj", "complaints"),
    [
        pytest.param(resource_slice({"name": "d"}), [], id="fine"),
        pytest.param(
            resource_slice(nodeName=None),
            [
                "spec: Required value: exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` "
                "is required"
            ],
            id="nowhere",
        ),
        pytest.param(
            resource_slice(allNodes=True),
            [
                'spec: Invalid value: "{`nodeName`, `allNodes`}": exactly one of `nodeName`, '
                "`nodeSelector`, `allNodes`, "
                "`perDeviceNodeSelection` is required, but multiple fields are set"
            ],
            id="here and everywhere",
        ),
        pytest.param(
            resource_slice(allNodes=False),
            ["spec.allNodes: Invalid value: false: must be either unset or set to true"],
            id="not everywhere",
        ),
        pytest.param(
            resource_slice({"name": "a"}, {"name": "a"}), ['spec.devices[1]: Duplicate value: "a"'], id="twice"
        ),
        pytest.param(
            resource_slice(*({"name": f"d{i}", "taints": [{"key": "k", "effect": "None"}]} for i in range(65))),
            ["spec.devices: Too many: 65: must have at most 64 items"],
            id="too many with taints",
        ),
    ],
)
def test_a_slice_is_judged(judge, obj, complaints):
    assert [str(error) for error in STRATEGY.validate(obj, judge())] == complaints


def test_pool_driver_and_node_never_change(judge):
    new = resource_slice(driver="a.c", nodeName="m")
    assert [error.field for error in STRATEGY.validate_update(new, resource_slice(), judge())] == [
        "spec.driver",
        "spec.nodeName",
    ]


def test_taints_are_behind_a_gate(judge):
    tainted = {"name": "d", "taints": [{"key": "k", "effect": "None"}]}
    obj = resource_slice(dict(tainted))
    STRATEGY.prepare_for_update(obj, resource_slice(tainted), judge())
    assert "taints" in obj["spec"]["devices"][0]
    STRATEGY.prepare_for_create(obj, judge())
    assert "taints" not in obj["spec"]["devices"][0]


def test_compatibility_groups_are_behind_a_gate(judge):
    consumption = {"counterSet": "c", "counters": {"m": {"value": "1"}}, "compatibilityGroups": ["a"]}
    grouped = {"name": "d", "consumesCounters": [consumption]}
    obj = resource_slice(grouped)
    STRATEGY.prepare_for_update(obj, resource_slice(grouped), judge())
    assert obj["spec"]["devices"] == [grouped]
    STRATEGY.prepare_for_create(obj, judge("DRAPartitionableDevices"))
    assert "compatibilityGroups" not in obj["spec"]["devices"][0]["consumesCounters"][0]


def test_a_slice_is_found_by_node_driver_and_pool():
    assert STRATEGY.selectable_fields(resource_slice(nodeName=None)) == {
        "spec.nodeName": "",
        "spec.driver": "a.b",
        "spec.pool.name": "p",
    }


def test_capitals_in_the_driver_earn_a_warning(judge):
    assert STRATEGY.warnings_on_create(resource_slice(driver="A.b"), judge()) == [
        'spec.driver: driver names should be lowercase; "A.b" contains uppercase characters'
    ]
