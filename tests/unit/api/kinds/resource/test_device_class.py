from mockkube.api.fields import invalid
from mockkube.api.kinds.resource.device_class import DeviceClassStrategy

PLAIN = DeviceClassStrategy()


def device_class(*expressions, **spec):
    selectors = [{"cel": {"expression": expression}} for expression in expressions]
    return {"metadata": {"name": "c"}, "spec": {"selectors": selectors, **spec}}


def refuse(expression, at, judge, stored):
    return [] if stored else [invalid(at, expression, "no such thing")]


def test_expressions_are_judged_by_the_compiler_handed_in(judge):
    strategy = DeviceClassStrategy(refuse)
    (error,) = strategy.validate(device_class("x"), judge())
    assert str(error) == 'spec.selectors[0].cel.expression: Invalid value: "x": no such thing'
    assert PLAIN.validate(device_class("x"), judge()) == []


def test_the_compiler_knows_what_was_stored(judge):
    strategy = DeviceClassStrategy(refuse)
    assert strategy.validate_update(device_class("x"), device_class("x"), judge()) == []
    assert strategy.validate_update(device_class("x"), device_class("y"), judge()) != []


def test_a_selector_has_an_expression_of_bounded_length(judge):
    obj = device_class("x" * 10241)
    obj["spec"]["selectors"].append({})
    assert [str(error) for error in PLAIN.validate(obj, judge())] == [
        "spec.selectors[0].cel.expression: Too long: may not be more than 10240 bytes",
        "spec.selectors[1].cel: Required value",
    ]


def test_extended_resources_are_behind_a_gate(judge):
    obj = device_class(extendedResourceName="a.b/c")
    PLAIN.prepare_for_create(obj, judge("DRAExtendedResource"))
    assert "extendedResourceName" in obj["spec"]
    PLAIN.prepare_for_create(obj, judge())
    assert "extendedResourceName" not in obj["spec"]


def test_the_length_of_a_name_is_told_in_bytes():
    assert DeviceClassStrategy().validate_name("a" * 254) == ["must be no more than 253 bytes"]
