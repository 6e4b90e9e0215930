"""KEP-5471: Gt and Lt in tolerations of pods, and in those of devices, through the strategies of claims."""

from datetime import UTC, datetime

import pytest

from mockkube.api.catalogue import load_kind
from mockkube.api.kinds.core.pod.tolerations import validate_tolerations
from mockkube.api.kinds.strategies import Strategies
from mockkube.api.strategy import StrategyContext
from mockkube.api.strategy_dependencies import StrategyDependencies
from mockkube.features.capabilities import Capabilities
from mockkube.features.gates import enabled_gates
from mockkube.features.stages import GateStage, Maturity
from mockkube.features.trains import ReleaseTrain
from mockkube.features.versions import Version
from mockkube.proposals.component_extensions import make_device_taint_rules, make_validation_extensions

GATE = "TaintTolerationComparisonOperators"
V135, V136 = Version(1, 35), Version(1, 36)
BETA_IN_136 = (
    ReleaseTrain(GATE, stages=(GateStage(V135, Maturity.ALPHA, False), GateStage(V136, Maturity.BETA, True))),
)
RELEASED = ()
AT = "spec.devices.requests[0].exactly.tolerations[0]"


def complaints(toleration, *, version=V136, trains=BETA_IN_136, gates=None, kind="ResourceClaim"):
    caps = Capabilities(version, enabled_gates(version, gates or {}, trains))
    dependencies = StrategyDependencies(extensions=make_validation_extensions(version, trains))
    strategy = Strategies(dependencies).for_kind(load_kind("resource.k8s.io", kind))
    wish = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1, "tolerations": [toleration]}
    spec = {"devices": {"requests": [{"name": "gpu", "exactly": wish}]}}
    obj = {"metadata": {"name": "c"}, "spec": spec if kind == "ResourceClaim" else {"metadata": {}, "spec": spec}}
    return [str(error) for error in strategy.validate(obj, StrategyContext(caps, datetime(2026, 1, 1, tzinfo=UTC)))]


def hours(operator, value):
    return {"key": "device.example.com/error-budget-in-hours", "operator": operator, "value": value}


@pytest.mark.parametrize("operator", ["Gt", "Lt"])
@pytest.mark.parametrize("kind", ["ResourceClaim", "ResourceClaimTemplate"])
def test_devices_are_tolerated_by_number_once_the_gate_is_beta(operator, kind):
    assert complaints(hours(operator, "24"), kind=kind) == []


@pytest.mark.parametrize(
    ("version", "trains", "gates"),
    [
        pytest.param(V136, RELEASED, {GATE: True}, id="as released, gate on"),
        pytest.param(V135, BETA_IN_136, {GATE: True}, id="still alpha, gate on"),
        pytest.param(V136, BETA_IN_136, {GATE: False}, id="beta, gate off"),
    ],
)
def test_before_that_they_are_not(version, trains, gates):
    assert complaints(hours("Gt", "24"), version=version, trains=trains, gates=gates) == [
        f'{AT}.operator: Unsupported value: "Gt": supported values: "Equal", "Exists"'
    ]


@pytest.mark.parametrize(
    ("value", "texts"),
    [
        pytest.param("024", ["must be a valid decimal integer in canonical form"], id="leading zero"),
        pytest.param(
            "9223372036854775808",
            ['strconv.ParseInt: parsing "9223372036854775808": value out of range'],
            id="out of range",
        ),
        pytest.param(
            "1d",
            ["must be a valid decimal integer in canonical form", 'strconv.ParseInt: parsing "1d": invalid syntax'],
            id="no number",
        ),
    ],
)
def test_the_value_is_an_integer_in_canonical_form(value, texts):
    assert complaints(hours("Gt", value)) == [f'{AT}.value: Invalid value: "{value}": {text}' for text in texts]


def test_the_other_operators_stay_as_they_are():
    assert complaints({"key": "a", "operator": "Exists"}) == []
    assert complaints(hours("Ge", "1")) == [
        f'{AT}.operator: Unsupported value: "Ge": supported values: "Equal", "Exists"'
    ]


def test_matching_devices_follows_the_stage_too():
    on = frozenset({GATE})
    assert sorted(make_device_taint_rules(Capabilities(V136, on, BETA_IN_136)).operators) == ["Gt", "Lt"]
    assert make_device_taint_rules(Capabilities(V136, on, RELEASED)).operators == {}


def pod_complaints(toleration, *, version=V136, on=True):
    extensions = make_validation_extensions(version)
    allowed = frozenset({GATE}) if on else frozenset()
    return [str(error) for error in validate_tolerations([toleration], "t", extensions=extensions, allowed=allowed)]


@pytest.mark.parametrize(
    ("value", "says"),
    [
        pytest.param("-9223372036854775808", [], id="least integer"),
        pytest.param(
            "9223372036854775808",
            ['strconv.ParseInt: parsing "9223372036854775808": value out of range'],
            id="out of range",
        ),
        pytest.param("08", ["must be a valid decimal integer in canonical form"], id="leading zero"),
        pytest.param(
            "x",
            [
                "must be a valid decimal integer in canonical form",
                'strconv.ParseInt: parsing "x": invalid syntax',
            ],
            id="no number",
        ),
        pytest.param("", ["must be non-empty", 'strconv.ParseInt: parsing "": invalid syntax'], id="empty"),
    ],
)
def test_a_comparison_asks_for_a_canonical_integer(value, says):
    toleration = {"key": "a", "operator": "Lt", "value": value}
    assert pod_complaints(toleration) == [f't[0].value: Invalid value: "{value}": {text}' for text in says]


@pytest.mark.parametrize(
    ("version", "supported"),
    [
        pytest.param(V136, '"Equal", "Exists", "Lt", "Gt"', id="gate off"),
        pytest.param(Version(1, 34), '"Equal", "Exists"', id="before comparisons"),
    ],
)
def test_a_server_without_comparisons_refuses_them(version, supported):
    assert pod_complaints({"key": "a", "operator": "Gt", "value": "1"}, version=version, on=False) == [
        f't[0].operator: Unsupported value: "Gt": supported values: {supported}'
    ]


def test_a_stored_comparison_may_stay_where_comparisons_are_known():
    stored = [{"operator": "Gt"}]
    new, ancient = Capabilities(V136), Capabilities(Version(1, 34))
    assert make_validation_extensions(V136).find_allowed_gates(new, (), ()) == frozenset()
    assert make_validation_extensions(V136).find_allowed_gates(new, stored, ()) == {GATE}
    assert make_validation_extensions(Version(1, 34)).find_allowed_gates(ancient, stored, ()) == frozenset()
