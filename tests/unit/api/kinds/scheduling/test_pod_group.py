from datetime import UTC, datetime

import pytest

from mockkube.api.kinds.scheduling.pod_group import PodGroupStrategy
from mockkube.api.strategy import StrategyContext
from mockkube.features.capabilities import Capabilities
from mockkube.features.versions import Version

STRATEGY = PodGroupStrategy()
GATES = ("TopologyAwareWorkloadScheduling", "DRAWorkloadResourceClaims", "WorkloadAwarePreemption")


def group(**spec):
    found = {"podGroupTemplateRef": None, "schedulingPolicy": {"gang": {"minCount": 2}}, **spec}
    return {"metadata": {"name": "g"}, "spec": found, "status": {}}


def said(errors):
    return [str(error) for error in errors]


def test_a_group_in_order_is_accepted(judge):
    obj = group(
        schedulingConstraints={"topology": [{"key": "example.com/rack"}]},
        resourceClaims=[{"name": "a", "resourceClaimName": "x.y"}],
        disruptionMode="PodGroup",
        priorityClassName="high",
        priority=1_000_000_000,
    )
    assert STRATEGY.validate(obj, judge(*GATES)) == []


def test_terms_that_are_switched_off_are_dropped_from_a_new_group(judge):
    obj = group(schedulingConstraints={}, resourceClaims=[{"name": "a"}], disruptionMode="Pod", priority=0)
    STRATEGY.prepare_for_create(obj, judge())
    assert set(obj["spec"]) == {"podGroupTemplateRef", "schedulingPolicy"}


def test_a_term_in_use_stays_when_it_is_switched_off(judge):
    new, old = group(priority=1, disruptionMode="Pod"), group(priority=1)
    STRATEGY.prepare_for_update(new, old, judge())
    assert new["spec"]["priority"] == 1
    assert "disruptionMode" not in new["spec"]


@pytest.mark.parametrize(
    ("policy", "complaint"),
    [
        ({}, 'spec.schedulingPolicy: Invalid value: "": must specify one of: `basic`, `gang`'),
        (
            {"basic": {}, "gang": {"minCount": 1}},
            'spec.schedulingPolicy: Invalid value: "{basic, gang}": must specify exactly one of: `basic`, `gang`',
        ),
        ({"gang": {"minCount": 0}}, "spec.schedulingPolicy.gang.minCount: Required value"),
        (
            {"gang": {"minCount": -1}},
            "spec.schedulingPolicy.gang.minCount: Invalid value: -1: must be greater than or equal to 1",
        ),
    ],
)
def test_a_group_is_scheduled_in_one_way(judge, policy, complaint):
    assert said(STRATEGY.validate(group(schedulingPolicy=policy), judge())) == [complaint]


def test_terms_of_a_wrong_form_are_refused_in_their_order(judge):
    obj = group(
        podGroupTemplateRef={"workload": {"workloadName": "", "podGroupTemplateName": ""}},
        schedulingConstraints={"topology": [{"key": ""}]},
        resourceClaims=[{"name": "a", "resourceClaimName": "x"}, {"name": "a"}],
        disruptionMode="None",
        priority=1_000_000_001,
    )
    choices = "`resourceClaimName`, `resourceClaimTemplateName`"
    assert said(STRATEGY.validate(obj, judge(*GATES))) == [
        "spec.podGroupTemplateRef.workload.workloadName: Required value",
        "spec.podGroupTemplateRef.workload.podGroupTemplateName: Required value",
        "spec.schedulingConstraints.topology[0].key: Required value",
        'spec.resourceClaims[1]: Duplicate value: {"name":"a"}',
        f'spec.resourceClaims[1]: Invalid value: "": must specify one of: {choices}',
        'spec.disruptionMode: Unsupported value: "None": supported values: "Pod", "PodGroup"',
        "spec.priority: Invalid value: 1000000001: must be less than or equal to 1000000000",
    ]


def test_terms_never_change(judge):
    new = group(schedulingPolicy={"basic": {}}, disruptionMode="PodGroup", priority=2)
    old = group(disruptionMode="Pod", priority=1)
    assert said(STRATEGY.validate_update(new, old, judge(*GATES))) == [
        "spec.schedulingPolicy: Invalid value: null: field is immutable",
        "spec.disruptionMode: Invalid value: null: field is immutable",
        "spec.priority: Invalid value: null: field is immutable",
    ]


def test_a_term_that_is_switched_off_may_be_taken_away_but_not_changed(judge):
    old = group(priority=1)
    assert STRATEGY.validate_update(group(), old, judge()) == []
    assert said(STRATEGY.validate_update(group(priority=2), old, judge())) == ["spec.priority: Forbidden"]


def test_a_reported_claim_is_one_that_was_asked_for(judge):
    old = group(resourceClaims=[{"name": "a", "resourceClaimName": "x"}])
    new = {**old, "status": {"resourceClaimStatuses": [{"name": "a", "resourceClaimName": "x"}, {"name": "b"}]}}
    found = said(STRATEGY.validate_update(new, old, judge(subresource="status")))
    assert found == [
        'status.resourceClaimStatuses[1].name: Invalid value: "b": '
        "must match the name of an entry in `spec.resourceClaims`"
    ]


def test_claims_have_no_status_when_they_are_switched_off(judge):
    new, old = group(), group()
    new["status"] = {"resourceClaimStatuses": [{"name": "a"}]}
    STRATEGY.prepare_for_update(new, old, judge(subresource="status"))
    assert new["status"] == {}


def test_priorities_of_groups_have_no_gate_since_1_37():
    caps = Capabilities(Version(1, 37), frozenset({"GenericWorkload"}))
    obj = group(priority=1, disruptionMode={"single": {}}, preemptionPolicy="Never", parentCompositePodGroupName="p")
    STRATEGY.prepare_for_create(obj, StrategyContext(caps, datetime(2026, 1, 1, tzinfo=UTC)))
    assert obj["spec"].keys() == {"podGroupTemplateRef", "schedulingPolicy", "priority", "disruptionMode"}
