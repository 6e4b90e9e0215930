"""KEP-5721 at an API server: tolerations, node affinity of pods and of volumes."""

import pytest

from mockkube.api.kinds.core.persistent_volume_validation import validate_volume_spec, volume_validation_options
from mockkube.api.kinds.core.pod.affinity import REQUIRED, validate_affinity
from mockkube.api.kinds.core.pod.options import pod_validation_options
from mockkube.api.validation.node_selector import NodeSelectorOptions
from mockkube.features.capabilities import Capabilities
from mockkube.features.versions import Version
from mockkube.proposals.component_extensions import make_validation_extensions

GATE = "TaintTolerationNodeAffinitySemverComparisonOperators"
V136 = Version(1, 36)
ON = Capabilities(V136, frozenset({GATE}))
OFF = Capabilities(V136)
OPERATORS = ("SemverGt", "SemverLt", "SemverEq")
ONE_VALUE = "must be specified single value when `operator` is 'SemverLt' or 'SemverGt' or 'SemverEq'"
AT = f"spec.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms[0]"


def of_toleration(caps, **fields):
    rules = pod_validation_options(caps, make_validation_extensions(caps.version))
    return [str(error) for error in rules.validate_tolerations([{"key": "v", **fields}], "spec.tolerations")]


def of_term(caps, term):
    extensions = make_validation_extensions(caps.version)
    rules = NodeSelectorOptions(extensions=extensions, allowed=extensions.find_allowed_gates(caps, (), ()))
    affinity = {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [term]}}}
    return [str(error) for error in validate_affinity(affinity, "spec.affinity", rules, allow_invalid_values=False)]


def requirement(operator="SemverGt", values=("1.2.3",)):
    return {"key": "v", "operator": operator, "values": list(values)}


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("value", ["1.2.3", "v1.2", "1", " 1.02.3", "1.2.3-rc.1", "1.2.3+build"])
def test_a_toleration_may_name_a_version_as_tolerantly_as_it_is_read(operator, value):
    assert of_toleration(ON, operator=operator, value=value) == []


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        pytest.param("1.2.x", 'Invalid character(s) found in patch number "x"', id="letter"),
        pytest.param("high", 'Invalid character(s) found in major number "0high"', id="word"),
        pytest.param("1.2-rc", "Short version cannot contain PreRelease/Build meta data", id="short with rest"),
    ],
)
def test_a_toleration_names_a_version(value, reason):
    assert of_toleration(ON, operator="SemverGt", value=value) == [
        f'spec.tolerations[0].value: Invalid value: "{value}": {reason}'
    ]


def test_a_toleration_without_a_value_names_no_version():
    [text] = of_toleration(ON, operator="SemverEq")
    assert text.startswith('spec.tolerations[0].value: Invalid value: ""')


@pytest.mark.parametrize("operator", OPERATORS)
def test_without_the_gate_the_operators_are_unknown(operator):
    assert of_toleration(OFF, operator=operator, value="1.2.3") == [
        f'spec.tolerations[0].operator: Unsupported value: "{operator}": supported values: "Equal", "Exists"'
    ]
    assert of_term(OFF, {"matchExpressions": [requirement(operator)]}) == [
        f'{AT}.matchExpressions[0].operator: Invalid value: "{operator}": not a valid selector operator'
    ]


def test_a_key_and_an_effect_are_judged_as_with_any_operator():
    texts = of_toleration(ON, operator="SemverGt", value="1", effect="Never", tolerationSeconds=1)
    assert ["effect must be 'NoExecute'" in texts[0], 'Unsupported value: "Never"' in texts[1]] == [True, True]


@pytest.mark.parametrize("operator", OPERATORS)
def test_a_requirement_names_one_version(operator):
    assert of_term(ON, {"matchExpressions": [requirement(operator)]}) == []


@pytest.mark.parametrize("values", [(), ("1.2.3", "1.2.4")], ids=["none", "two"])
def test_a_requirement_with_another_number_of_values_is_refused(values):
    texts = of_term(ON, {"matchExpressions": [requirement(values=values)]})
    assert texts == [f"{AT}.matchExpressions[0].values: Required value: {ONE_VALUE}"]


def test_a_requirement_blames_the_value():
    assert of_term(ON, {"matchExpressions": [requirement(values=["v1.2.x"])]}) == [
        f'{AT}.matchExpressions[0].values[0]: Invalid value: "v1.2.x": Invalid character(s) found in patch number "x"'
    ]


def test_a_version_that_no_label_can_have_is_refused():
    [text] = of_term(ON, {"matchExpressions": [requirement(values=["1.2.3+build"])]})
    assert text.startswith(f'{AT}.matchExpressions[0].values[0]: Invalid value: "1.2.3+build": a valid label must be')


def test_fields_of_a_node_are_not_compared():
    term = {"matchFields": [{"key": "metadata.name", "operator": "SemverGt", "values": ["1.2.3"]}]}
    assert of_term(ON, term) == [
        f'{AT}.matchFields[0].operator: Invalid value: "SemverGt": not a valid selector operator'
    ]


def volume(operator):
    terms = [{"matchExpressions": [requirement(operator, ["5.10.0"])]}]
    return {
        "metadata": {"name": "pv"},
        "spec": {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "hostPath": {"path": "/data"},
            "nodeAffinity": {"required": {"nodeSelectorTerms": terms}},
        },
    }


def of_volume(caps, obj, old=None):
    return [
        str(error)
        for error in validate_volume_spec(
            obj, volume_validation_options(caps, make_validation_extensions(caps.version), old)
        )
    ]


def test_a_volume_uses_the_operators_with_the_gate():
    assert of_volume(ON, volume("SemverGt")) == []
    [text] = of_volume(OFF, volume("SemverGt"))
    assert text.endswith('operator: Invalid value: "SemverGt": not a valid selector operator')


def test_a_stored_volume_keeps_and_changes_them_without_the_gate():
    assert of_volume(OFF, volume("SemverLt"), volume("SemverGt")) == []
    assert len(of_volume(OFF, volume("SemverLt"), volume("Gt"))) == 1
