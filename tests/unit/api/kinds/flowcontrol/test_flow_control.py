import pytest

from mockkube.api.kinds.flowcontrol.flow_control import FlowSchemaStrategy, PriorityLevelConfigurationStrategy

SCHEMA, LEVEL = FlowSchemaStrategy(), PriorityLevelConfigurationStrategy()
EVERYTHING = {
    "resourceRules": [
        {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "clusterScope": True, "namespaces": ["*"]}
    ],
    "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
}


def flow_schema(name="f", **spec):
    own = {"matchingPrecedence": 100, "priorityLevelConfiguration": {"name": "p"}}
    return {"metadata": {"name": name}, "spec": {**own, **spec}, "status": {}}


def level(name="p", **limited):
    own = {"nominalConcurrencyShares": 5, "limitResponse": {"type": "Reject"}, "lendablePercent": 0}
    return {"metadata": {"name": name}, "spec": {"type": "Limited", "limited": {**own, **limited}}, "status": {}}


@pytest.mark.parametrize(
    ("obj", "fields"),
    [
        pytest.param(flow_schema(), [], id="fine"),
        pytest.param(flow_schema(matchingPrecedence=1), ["spec.matchingPrecedence"], id="the first place is taken"),
        pytest.param(flow_schema(rules=[{}]), ["spec.rules[0].subjects", "spec.rules[0]"], id="a rule about nothing"),
        pytest.param(
            flow_schema(rules=[{"subjects": [{"kind": "User", "group": {"name": "g"}}], **EVERYTHING}]),
            ["spec.rules[0].subjects[0].user", "spec.rules[0].subjects[0].group"],
            id="a user who is a group",
        ),
        pytest.param(
            flow_schema(
                rules=[
                    {
                        "subjects": [{"kind": "User", "user": {"name": "u"}}],
                        "nonResourceRules": [{"verbs": ["odd"], "nonResourceURLs": ["x"]}],
                    }
                ]
            ),
            ["spec.rules[0].nonResourceRules[0].verbs", "spec.rules[0].nonResourceRules[0].nonResourceURLs[0]"],
            id="paths",
        ),
    ],
)
def test_a_schema_is_judged(judge, obj, fields):
    assert [error.field for error in SCHEMA.validate(obj, judge())] == fields


def test_the_mandatory_schemas_are_what_they_are(judge):
    subjects = [{"kind": "Group", "group": {"name": "system:masters"}}]
    obj = flow_schema("exempt", matchingPrecedence=1, priorityLevelConfiguration={"name": "exempt"})
    obj["spec"]["rules"] = [{"subjects": subjects, **EVERYTHING}]
    assert SCHEMA.validate(obj, judge()) == []
    obj["spec"]["matchingPrecedence"] = 2
    (error,) = SCHEMA.validate(obj, judge())
    assert error.detail == "spec of 'exempt' must equal the fixed value"


@pytest.mark.parametrize(
    ("obj", "complaints"),
    [
        pytest.param(level(), [], id="fine"),
        pytest.param(level("catch-all"), [], id="the mandatory one"),
        pytest.param(
            level(limitResponse={"type": "Queue"}),
            [
                "spec.limited.limitResponse.queuing: Required value: must not be empty if "
                "limited.limitResponse.type is "
                "Limited"
            ],
            id="queue without queues",
        ),
        pytest.param(
            level(limitResponse={"type": "Queue", "queuing": {"queues": 1024, "handSize": 8, "queueLengthLimit": 1}}),
            [
                "spec.limited.limitResponse.queuing.handSize: Invalid value: 8: required entropy bits of deckSize 1024 "
                "and handSize 8 should not be greater than 60"
            ],
            id="too much entropy",
        ),
        pytest.param(
            level(lendablePercent=101),
            ["spec.limited.lendablePercent: Invalid value: 101: must be between 0 and 100, inclusive"],
            id="lends more than it has",
        ),
    ],
)
def test_a_level_is_judged(judge, obj, complaints):
    assert [str(error) for error in LEVEL.validate(obj, judge())] == complaints


def test_a_write_of_the_status_changes_no_metadata(judge):
    new, old = level(), level()
    new["metadata"]["labels"] = {"a": "b"}
    new["metadata"]["resourceVersion"] = "7"
    LEVEL.prepare_for_update(new, old, judge(subresource="status"))
    assert new["metadata"] == {"name": "p", "resourceVersion": "7"}
