from mockkube.api.kinds.scheduling.workload import WorkloadStrategy

STRATEGY = WorkloadStrategy()


def template(name="t", **terms):
    return {"name": name, "schedulingPolicy": {"basic": {}}, "schedulingConstraints": None, **terms}


def workload(*templates, **spec):
    return {"metadata": {"name": "w"}, "spec": {"podGroupTemplates": list(templates) or None, **spec}}


def said(errors):
    return [str(error) for error in errors]


def test_a_workload_in_order_is_accepted(judge):
    obj = workload(template("a"), template("b"), controllerRef={"apiGroup": "batch", "kind": "Job", "name": "j"})
    assert STRATEGY.validate(obj, judge()) == []


def test_a_workload_has_templates_and_not_too_many(judge):
    at = "spec.podGroupTemplates"
    assert said(STRATEGY.validate(workload(), judge())) == [f"{at}: Required value"]
    many = workload(*(template(f"t{index}") for index in range(9)))
    assert said(STRATEGY.validate(many, judge())) == [f"{at}: Too many: 9: must have at most 8 items"]


def test_templates_are_told_apart_by_name(judge):
    shown = '{"name":"t","schedulingPolicy":{"basic":{}},"schedulingConstraints":null}'
    errors = STRATEGY.validate(workload(template(), template()), judge())
    assert said(errors) == [f"spec.podGroupTemplates[1]: Duplicate value: {shown}"]


def test_a_controller_is_named_by_what_fits_into_a_path(judge):
    obj = workload(template(), controllerRef={"kind": "a/b", "name": ""})
    assert said(STRATEGY.validate(obj, judge())) == [
        "spec.controllerRef.kind: Invalid value: \"a/b\": may not contain '/'",
        "spec.controllerRef.name: Required value",
    ]


def test_nothing_of_a_workload_changes(judge):
    old = workload(template(), controllerRef={"kind": "Job", "name": "j"})
    assert said(STRATEGY.validate_update(workload(), old, judge())) == [
        "spec.controllerRef: Invalid value: null: field is immutable",
        "spec.podGroupTemplates: Invalid value: null: field is immutable",
        "spec.podGroupTemplates: Required value",
    ]


def test_terms_that_are_switched_off_are_dropped_unless_the_same_template_uses_them(judge):
    old = workload(template("a", schedulingConstraints={}))
    new = workload(template("a", schedulingConstraints={}), template("b", schedulingConstraints={}, priority=1))
    STRATEGY.prepare_for_update(new, old, judge())
    first, second = new["spec"]["podGroupTemplates"]
    assert first["schedulingConstraints"] == {}
    assert second == template("b")
