"""Arguments of plugins: what is wrong with them."""

import pytest

from mockkube.features.capabilities import Capabilities
from mockkube.scheduler.configuration.arguments import set_defaults, validate_arguments

CAPS = Capabilities()
SHAPE = {"shape": [{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}]}


def complaints(name, caps=CAPS, **args):
    return validate_arguments(name, set_defaults(name, args, caps), "args", caps)


@pytest.mark.parametrize(
    ("name", "args", "expected"),
    [
        pytest.param(
            "DefaultPreemption",
            {"minCandidateNodesPercentage": 0, "minCandidateNodesAbsolute": 0},
            [
                "args.minCandidateNodesPercentage: Invalid value: 0: "
                "cannot be zero at the same time as minCandidateNodesAbsolute",
                "args.minCandidateNodesAbsolute: Invalid value: 0: "
                "cannot be zero at the same time as minCandidateNodesPercentage",
            ],
            id="no candidates at all",
        ),
        pytest.param(
            "NodeResourcesBalancedAllocation",
            {"resources": [{"name": "cpu", "weight": 2}, {"name": "cpu"}]},
            [
                "args.resources[0].weight: Invalid value: 2: must be 1",
                'args.resources[1].name: Duplicate value: "cpu"',
            ],
            id="balance has no weights",
        ),
        pytest.param(
            "NodeResourcesFit",
            {"scoringStrategy": {"type": "RequestedToCapacityRatio"}},
            [
                "args.scoringStrategy.requestedToCapacityRatio: Required value: "
                "must be specified when type is RequestedToCapacityRatio"
            ],
            id="a ratio without a shape",
        ),
        pytest.param(
            "NodeResourcesFit",
            {"scoringStrategy": {"type": "LeastAllocated", "requestedToCapacityRatio": SHAPE}},
            [
                "args.scoringStrategy.requestedToCapacityRatio: Forbidden: "
                "must be nil when type is not RequestedToCapacityRatio"
            ],
            id="a shape without a ratio",
        ),
        pytest.param(
            "NodeResourcesFit",
            {"ignoredResourceGroups": ["a/b"]},
            ["args.ignoredResourceGroups[0]: Invalid value: \"a/b\": resource group name can't contain '/'"],
            id="a group with a slash",
        ),
        pytest.param(
            "PodTopologySpread",
            {"defaultConstraints": [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}]},
            ['args.defaultingType: Invalid value: "System": when .defaultConstraints are not empty'],
            id="constraints of one's own with those of the system",
        ),
        pytest.param(
            "PodTopologySpread",
            {"defaultingType": "List", "defaultConstraints": [{"labelSelector": {}}]},
            [
                "args.defaultConstraints[0].maxSkew: Invalid value: 0: not in valid range (0, inf)",
                "args.defaultConstraints[0].topologyKey: Required value: can not be empty",
                "args.defaultConstraints[0].whenUnsatisfiable: Required value: can not be empty",
                "args.defaultConstraints[0].labelSelector: Forbidden: "
                "constraint must not define a selector, as they deduced for each pod",
            ],
            id="an empty constraint",
        ),
        pytest.param(
            "VolumeBinding",
            {"bindTimeoutSeconds": -1, "shape": []},
            [
                "args.bindTimeoutSeconds: Invalid value: -1: "
                "invalid BindTimeoutSeconds, should not be a negative value",
                "args.shape: Invalid value: []: "
                "unexpected field `shape`, remove it or turn on the feature gate StorageCapacityScoring",
            ],
            id="no time, and a shape that needs a gate",
        ),
    ],
)
def test_arguments_are_judged(name, args, expected):
    assert complaints(name, **args) == expected


def test_a_selector_that_does_not_parse_is_told_with_its_place():
    term = {"matchExpressions": [{"key": "a", "operator": "Near", "values": ["b"]}]}
    added = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    (found,) = complaints("NodeAffinity", addedAffinity=added)
    place = "args.addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0]"
    assert found.startswith(f'{place}.matchExpressions[0].operator: Unsupported value: "Near"')


def test_a_shape_is_judged_where_capacity_is_scored():
    caps = Capabilities(gates=frozenset({"StorageCapacityScoring"}))
    assert complaints("VolumeBinding", caps) == []
    shape = [{"utilization": 50, "score": 11}, {"utilization": 50, "score": 0}]
    assert complaints("VolumeBinding", caps, shape=shape) == [
        "args.shape[1].utilization: Invalid value: 50: values must be sorted in increasing order",
        "args.shape[0].score: Invalid value: 11: not in valid range [0, 10]",
    ]


def test_spans_of_time_are_judged():
    gates = ("DRASchedulerFilterTimeout", "DRADeviceBindingConditions", "DRAResourceClaimDeviceStatus")
    caps = Capabilities(gates=frozenset(gates))
    assert complaints("DynamicResources", caps) == []
    assert complaints("DynamicResources", caps, filterTimeout="-5s", bindingTimeout="999ms") == [
        'args.filterTimeout: Invalid value: "-5s": must be zero or positive',
        'args.bindingTimeout: Invalid value: "999ms": must be at least 1 second',
    ]
    (found,) = complaints("DynamicResources", caps, filterTimeout="soon")
    assert found == 'args.filterTimeout: Invalid value: "soon": time: invalid duration "soon"'
