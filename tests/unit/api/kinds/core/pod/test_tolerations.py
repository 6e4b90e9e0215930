"""Tolerations: operators and their values, what gates and proposals add, what an update may do."""

import pytest

from mockkube.api.fields import invalid, not_supported
from mockkube.api.kinds.core.pod.tolerations import validate_only_added_tolerations, validate_tolerations
from mockkube.api.validation.extensions import (
    NO_EXTENSIONS,
    FieldRule,
    OperatorRule,
    ValidationExtensions,
    reject_toleration_operator,
)


def judge(*tolerations, extensions=NO_EXTENSIONS, allowed=frozenset()):
    errors = validate_tolerations(tolerations, "t", extensions=extensions, allowed=allowed)
    return [str(error).partition(" (e.g.")[0] for error in errors]


@pytest.mark.parametrize(
    "toleration",
    [
        pytest.param({"operator": "Exists"}, id="everything"),
        pytest.param({"key": "a"}, id="empty value"),
        pytest.param({"key": "a", "operator": "Equal", "value": "b", "effect": "NoSchedule"}, id="equal"),
        pytest.param({"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": -1}, id="seconds"),
    ],
)
def test_good_tolerations_pass(toleration):
    assert judge(toleration) == []


@pytest.mark.parametrize(
    ("toleration", "says"),
    [
        pytest.param(
            {},
            't[0].operator: Invalid value: "": operator must be Exists when `key` is empty, '
            'which means "match all values and all keys"',
            id="nothing at all",
        ),
        pytest.param(
            {"key": "a", "operator": "Exists", "value": "b"},
            "t[0].operator: Invalid value: \"b\": value must be empty when `operator` is 'Exists'",
            id="exists with a value",
        ),
        pytest.param(
            {"key": "a", "effect": "NoSchedule", "tolerationSeconds": 1},
            "t[0].effect: Invalid value: \"NoSchedule\": effect must be 'NoExecute' when `tolerationSeconds` is set",
            id="seconds without NoExecute",
        ),
        pytest.param(
            {"key": "a", "operator": "Odd"},
            't[0].operator: Unsupported value: "Odd": supported values: "Equal", "Exists"',
            id="unknown operator",
        ),
        pytest.param(
            {"key": "a", "effect": "Odd"},
            't[0].effect: Unsupported value: "Odd": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"',
            id="unknown effect",
        ),
    ],
)
def test_bad_tolerations_are_told_why(toleration, says):
    assert judge(toleration) == [says]


def accept_digits(toleration, at):
    value = toleration.get("value", "")
    return [] if value.isdigit() else [invalid(f"{at}.value", value, "digits only")]


DIGITS = ValidationExtensions(
    tolerations={"Digits": OperatorRule("DigitGate", accept_digits, reject_toleration_operator)}
)


def test_an_operator_of_a_proposal_is_judged_by_its_own_rule_where_its_gate_allows():
    toleration = {"key": "a", "operator": "Digits", "value": "x"}
    assert judge(toleration, extensions=DIGITS, allowed=frozenset({"DigitGate"})) == [
        't[0].value: Invalid value: "x": digits only'
    ]
    assert judge({**toleration, "value": "1"}, extensions=DIGITS, allowed=frozenset({"DigitGate"})) == []


def test_an_operator_of_a_proposal_is_refused_as_the_rule_says_elsewhere():
    assert judge({"key": "a", "operator": "Digits"}, extensions=DIGITS) == [
        't[0].operator: Unsupported value: "Digits": supported values: "Equal", "Exists"'
    ]


def test_a_field_of_a_proposal_takes_the_place_of_the_ordinary_rules():
    def refuse(toleration, at):
        return [not_supported(f"{at}.wish", toleration["wish"], ())]

    extensions = ValidationExtensions(
        toleration_fields={"wish": FieldRule("WishGate", lambda toleration, at: [], refuse)}
    )
    assert judge({"wish": "x"}, extensions=extensions, allowed=frozenset({"WishGate"})) == []
    assert judge({"wish": "x"}, extensions=extensions) == ['t[0].wish: Unsupported value: "x"']


OLD = [{"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}]


@pytest.mark.parametrize(
    ("new", "refused"),
    [
        pytest.param([{"key": "b"}, *OLD], False, id="added, order changed"),
        pytest.param([{**OLD[0], "tolerationSeconds": 9}], False, id="seconds changed"),
        pytest.param([], True, id="removed"),
        pytest.param([{**OLD[0], "operator": "Equal"}], True, id="operator changed"),
    ],
)
def test_tolerations_of_a_live_pod_are_only_added_to(new, refused):
    assert bool(validate_only_added_tolerations(new, OLD, "t")) is refused
