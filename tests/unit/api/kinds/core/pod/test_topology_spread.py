"""Topology spread constraints."""

import pytest

from mockkube.api.kinds.core.pod.topology_spread import (
    SpreadValidationOptions,
    has_invalid_merged_keys,
    has_invalid_unmerged_keys,
    validate_topology_spread,
)

GOOD = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {}}


def judge(*constraints, rules=SpreadValidationOptions()):  # noqa: B008 - frozen
    return [str(error) for error in validate_topology_spread(constraints, "c", rules)]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        pytest.param({}, [], id="nothing wrong"),
        pytest.param({"maxSkew": 0}, ["c[0].maxSkew: Invalid value: 0: must be greater than zero"], id="no skew"),
        pytest.param({"topologyKey": ""}, ["c[0].topologyKey: Required value: can not be empty"], id="no topology"),
        pytest.param(
            {"whenUnsatisfiable": "Odd"},
            ['c[0].whenUnsatisfiable: Unsupported value: "Odd": supported values: "DoNotSchedule", "ScheduleAnyway"'],
            id="unknown action",
        ),
        pytest.param(
            {"whenUnsatisfiable": "ScheduleAnyway", "minDomains": 0},
            [
                "c[0].minDomains: Invalid value: 0: must be greater than zero",
                "c[0].minDomains: Invalid value: 0: "
                "can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ScheduleAnyway",
            ],
            id="domains of no effect",
        ),
        pytest.param(
            {"nodeAffinityPolicy": "Odd", "nodeTaintsPolicy": "Ignore"},
            ['c[0].nodeAffinityPolicy: Unsupported value: "Odd": supported values: "Honor", "Ignore"'],
            id="unknown policy for nodes",
        ),
    ],
)
def test_a_constraint_is_told_what_is_wrong(change, says):
    assert judge({**GOOD, **change}) == says


def test_two_constraints_differ_in_topology_or_action():
    assert judge(GOOD, {**GOOD, "maxSkew": 2}) == [
        'c[0].{topologyKey, whenUnsatisfiable}: Duplicate value: "{zone, DoNotSchedule}"'
    ]


BOTH = {**GOOD, "matchLabelKeys": ["a"], "labelSelector": {"matchExpressions": [{"key": "a", "operator": "Exists"}]}}


def test_a_merged_key_may_be_in_the_selector_a_separate_one_may_not():
    assert judge(BOTH) == []
    assert judge(BOTH, rules=SpreadValidationOptions(merge_label_keys=False)) == [
        'c[0].matchLabelKeys[0]: Invalid value: "a": exists in both matchLabelKeys and labelSelector'
    ]
    assert has_invalid_unmerged_keys([BOTH])
    assert not has_invalid_merged_keys([BOTH])


def test_a_selector_stored_broken_stays():
    broken = {**GOOD, "labelSelector": {"matchLabels": {"a b": "c"}}}
    assert judge(broken)
    assert judge(broken, rules=SpreadValidationOptions(allow_invalid_selector=True)) == []
