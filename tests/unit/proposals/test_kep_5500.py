"""KEP-5500 at an API server: one toleration at a time."""

import pytest

from mockkube.api.kinds.core.pod.options import pod_validation_options, validate_with_ratcheting
from mockkube.features.capabilities import Capabilities
from mockkube.features.versions import Version
from mockkube.proposals.component_extensions import make_validation_extensions

V136 = Version(1, 36)
ON = Capabilities(V136, frozenset({"TaintTolerationCEL"}))
OFF = Capabilities(V136)
REFUSED = (
    "spec.tolerations[0].expression: Forbidden: may not be set when the TaintTolerationCEL feature gate is disabled"
)
ALONE = "expression cannot be used with key, value, operator, or effect fields"


def complaints(toleration, caps=ON):
    rules = pod_validation_options(caps, make_validation_extensions(caps.version))
    return [str(error) for error in rules.validate_tolerations([toleration], "spec.tolerations")]


@pytest.mark.parametrize(
    "expression",
    [
        pytest.param("taint.key.startsWith('env.example.com/')", id="family of keys"),
        pytest.param(
            "taint.key == 'example.com/kernel' && semver(taint.value).isGreaterThan(semver('5.15.0'))", id="kernel"
        ),
        pytest.param("taint.key.matches('^zone-a[12]-rack-[0-9]+$')", id="pattern"),
        pytest.param("taint.effect != 'NoExecute' || taint.value in ['a', 'b']", id="effect and list"),
    ],
)
def test_an_expression_of_type_bool_is_accepted(expression):
    assert complaints({"expression": expression}) == []


def test_seconds_go_with_an_expression_whatever_the_effect():
    assert complaints({"expression": "taint.key == 'a'", "tolerationSeconds": 30}) == []


@pytest.mark.parametrize(
    "other", [{"key": "a"}, {"operator": "Exists"}, {"value": "v"}, {"effect": "NoExecute"}], ids="".join
)
def test_an_expression_stands_alone(other):
    [text] = complaints({"expression": "true", **other})
    assert text == f'spec.tolerations[0].expression: Invalid value: "true": {ALONE}'


def test_what_is_wrong_with_the_company_and_the_expression_is_told_together():
    texts = complaints({"expression": "taint.key", "key": "a"})
    assert [ALONE in texts[0], "must evaluate to bool" in texts[1]] == [True, True]


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        pytest.param("taint.key ==", "compilation failed: ERROR: <input>:1:13: Syntax error", id="syntax"),
        pytest.param("taint.name == ''", "compilation failed: ERROR: <input>:1:6: undefined field 'name'", id="field"),
        pytest.param("node.name == ''", "undeclared reference to 'node'", id="variable"),
        pytest.param("taint.key", "must evaluate to bool or the unknown type, not string", id="type"),
    ],
)
def test_an_expression_that_does_not_compile_is_refused(expression, message):
    [text] = complaints({"expression": expression})
    assert text.startswith("spec.tolerations[0].expression: Invalid value: ")
    assert message in text


def test_an_expression_has_at_most_10240_bytes():
    padded = "true" + " " * (10240 - 4)
    assert complaints({"expression": padded}) == []
    [text] = complaints({"expression": padded + " "})
    assert text == "spec.tolerations[0].expression: Too long: may not be more than 10240 bytes"


def test_bytes_are_counted_not_letters():
    assert complaints({"expression": "'" + "é" * 5119 + "' == ''"})[0].endswith("may not be more than 10240 bytes")


def test_an_expression_that_may_cost_too_much_is_refused():
    loops = "[1,2,3,4,5,6,7,8,9,10].all({}, {})"
    text = "true"
    for name in "abcdef":
        text = loops.format(name, text)
    assert complaints({"expression": text}) == [
        "spec.tolerations[0].expression: Forbidden: too complex, exceeds cost limit"
    ]


def test_the_gate_decides_about_new_pods():
    assert complaints({"expression": "true"}, OFF) == [REFUSED]


def test_other_tolerations_do_not_ask_for_the_gate():
    assert complaints({"key": "a", "operator": "Exists"}, OFF) == []


def changed(new, old, caps):
    rules = pod_validation_options(caps, make_validation_extensions(caps.version))

    def check(rules):
        return rules.validate_tolerations(new, "spec.tolerations")

    return [str(error) for error in validate_with_ratcheting(check, {}, {"spec": {"tolerations": old}}, rules, caps)]


def test_what_is_stored_may_stay_and_grow_without_the_gate():
    stored = [{"expression": "taint.key == 'a'"}]
    assert changed(stored, stored, OFF) == []
    assert changed([*stored, {"expression": "taint.key == 'b'"}], stored, OFF) == []


def test_the_first_expression_of_a_stored_pod_needs_the_gate():
    assert changed([{"expression": "true"}], [{"key": "a", "operator": "Exists"}], OFF) == [REFUSED]


def test_another_gate_in_use_does_not_help():
    caps = Capabilities(V136, frozenset({"TaintTolerationNodeAffinitySemverComparisonOperators"}))
    assert changed([{"expression": "true"}], [{"key": "a", "operator": "SemverGt", "value": "1"}], caps) == [REFUSED]
