import pytest

from mockkube.api.kinds.resource.devices import validate_device

CONSUMPTION = {"counterSet": "c", "counters": {"m": {"value": "1"}}}


@pytest.mark.parametrize(
    ("device", "complaints"),
    [
        pytest.param({"attributes": {"a": {"string": "x"}, "b": {"version": "1.2.3-rc.1+x"}}}, [], id="fine"),
        pytest.param(
            {"attributes": {"a": {}}},
            ['d.attributes[a]: Invalid value: "": exactly one value must be specified'],
            id="none",
        ),
        pytest.param(
            {"attributes": {"a": {"int": 1, "bool": False}}},
            [
                "d.attributes[a]: Invalid value: "
                '{"IntValue":1,"BoolValue":false,"StringValue":null,"VersionValue":null,'
                '"IntValues":null,"BoolValues":null,"StringValues":null,"VersionValues":null}: exactly one value must '
                "be specified"
            ],
            id="two values",
        ),
        pytest.param(
            {"attributes": {"a": {"version": "1.2"}}},
            ['d.attributes[a].version: Invalid value: "1.2": must be a string compatible with semver.org spec 2.0.0'],
            id="half a version",
        ),
        pytest.param(
            {"attributes": {f"a{i}": {"ints": [1] * 5} for i in range(10)}},
            ["d: Invalid value: 50: the total number of attribute values must not exceed 48"],
            id="too many values",
        ),
        pytest.param(
            {"nodeName": "n"},
            [
                "d: Invalid value: null: `nodeName`, `nodeSelector` and `allNodes` can only be set if "
                "`perDeviceNodeSelection` is set to true in the ResourceSlice spec"
            ],
            id="a node of its own",
        ),
        pytest.param(
            {"consumesCounters": [{"counterSet": "c"}]},
            ["d.consumesCounters[0].counters: Required value"],
            id="consumes nothing",
        ),
        pytest.param(
            {"consumesCounters": [{**CONSUMPTION, "compatibilityGroups": ["a", "a"]}]},
            ['d.consumesCounters[0].compatibilityGroups[1]: Duplicate value: "a"'],
            id="a group twice",
        ),
        pytest.param(
            {"consumesCounters": [{**CONSUMPTION, "compatibilityGroups": ["a", "b", "c"]}]},
            ["d.consumesCounters[0].compatibilityGroups: Too many: 3: must have at most 2 items"],
            id="three groups",
        ),
        pytest.param(
            {"nodeAllocatableResourceMappings": {"cpu": {"capacityKey": "x"}}},
            ['d.nodeAllocatableResourceMappings[cpu].capacityKey: Not found: "x"'],
            id="maps what is not there",
        ),
    ],
)
def test_a_device_is_judged(device, complaints):
    errors = validate_device({"name": "n", **device}, None, "d", per_device=False)
    assert [str(error) for error in errors] == complaints


def test_each_device_has_its_place_if_the_slice_says_so():
    assert validate_device({"name": "n", "nodeName": "m"}, None, "d", per_device=True) == []
    assert len(validate_device({"name": "n"}, None, "d", per_device=True)) == 1
    assert len(validate_device({"name": "n", "nodeName": "m", "allNodes": True}, None, "d", per_device=True)) == 1


def test_taints_that_were_stored_stay_valid():
    odd = {"name": "n", "taints": [{"key": "k", "effect": "Odd"}]}
    assert len(validate_device(odd, None, "d", per_device=False)) == 1
    assert validate_device(odd, odd, "d", per_device=False) == []
