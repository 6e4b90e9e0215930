from mockkube.api.kinds.resource.device_taint_rule import DeviceTaintRuleStrategy

STRATEGY = DeviceTaintRuleStrategy()


def rule(effect="NoSchedule", **taint):
    return {"metadata": {"name": "r"}, "spec": {"taint": {"key": "k", "effect": effect, **taint}}, "status": {}}


def test_a_changed_effect_is_stamped(judge):
    new, old = rule("NoExecute", timeAdded="x"), rule(timeAdded="x")
    STRATEGY.prepare_for_update(new, old, judge())
    assert new["spec"]["taint"]["timeAdded"] == "2026-01-02T03:04:05Z"
    assert new["metadata"]["generation"] == 1


def test_a_stamp_that_is_given_stays(judge):
    new, old = rule("NoExecute", timeAdded="y"), rule(timeAdded="x")
    STRATEGY.prepare_for_update(new, old, judge())
    assert new["spec"]["taint"]["timeAdded"] == "y"


def test_a_selector_names_what_could_exist(judge):
    obj = rule()
    obj["spec"]["deviceSelector"] = {"driver": "A.b", "pool": "", "device": "D"}
    assert [error.field for error in STRATEGY.validate(obj, judge())] == [
        "spec.deviceSelector.pool",
        "spec.deviceSelector.device",
    ]
