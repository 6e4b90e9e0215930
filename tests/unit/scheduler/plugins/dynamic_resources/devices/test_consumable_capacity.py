"""How much of a shared device a request takes."""

from decimal import Decimal
from typing import Any

import pytest

from mockkube.api.quantities.quantity import parse
from mockkube.scheduler.plugins.dynamic_resources.devices.consumable_capacity import ConsumableCapacity

RANGE = {"default": "1Gi", "validRange": {"min": "1Gi", "max": "16Gi", "step": "1Gi"}}
VALUES = {"default": "1Gi", "validValues": ["1Gi", "2Gi", "8Gi"]}


def memory(value: str = "40Gi", policy: Any = None) -> Any:
    return {"memory": {"value": value, **({"requestPolicy": policy} if policy else {})}}


def wanted(amount: str) -> Any:
    return {"memory": parse(amount)} if amount else {}


@pytest.mark.parametrize(
    ("policy", "amount", "expected"),
    [
        pytest.param(None, "", "40Gi", id="all of it if nothing is said"),
        pytest.param(None, "3Gi", "3Gi", id="what is asked for"),
        pytest.param(RANGE, "", "1Gi", id="the default"),
        pytest.param(RANGE, "500Mi", "1Gi", id="at least the least"),
        pytest.param(RANGE, "2500Mi", "3Gi", id="up to the next step"),
        pytest.param(VALUES, "3Gi", "8Gi", id="up to the next value"),
        pytest.param(VALUES, "9Gi", "9Gi", id="past the last value as it is"),
    ],
)
def test_a_request_is_rounded_as_the_policy_has_it(policy: Any, amount: str, expected: str) -> None:
    assert {
        name: str(one) for name, one in ConsumableCapacity().consumed_by(wanted(amount), memory(policy=policy)).items()
    } == {"memory": expected}


@pytest.mark.parametrize(
    ("policy", "amount", "used", "promised", "expected"),
    [
        pytest.param(None, "10Gi", "20Gi", "10Gi", True, id="just enough"),
        pytest.param(None, "10Gi", "21Gi", "10Gi", False, id="too little left"),
        pytest.param(RANGE, "17Gi", "0", "0", False, id="more than the policy allows"),
        pytest.param(VALUES, "9Gi", "0", "0", False, id="no value that the policy knows"),
        pytest.param(VALUES, "", "39Gi", "0", True, id="the default"),
    ],
)
def test_a_device_has_room(policy: Any, amount: str, used: str, promised: str, expected: bool) -> None:
    def amounts(text: str) -> dict[str, Decimal]:
        return {"memory": parse(text).amount}

    assert (
        ConsumableCapacity().fits(wanted(amount), memory(policy=policy), amounts(used), amounts(promised)) is expected
    )


def test_a_device_has_no_room_for_what_it_does_not_have() -> None:
    assert not ConsumableCapacity().fits({"cores": parse("1")}, memory())


@pytest.mark.parametrize(
    ("fractions", "expected"),
    [pytest.param(True, "1500m", id="in fractions"), pytest.param(False, "2", id="in whole units")],
)
def test_steps_may_be_fractions_where_that_is_known(fractions: bool, expected: str) -> None:
    policy = {"default": "1", "validRange": {"min": "1", "step": "500m"}}
    if not fractions:
        policy = {"default": "1", "validRange": {"min": "1", "step": "1"}}
    cores = {"cores": {"value": "8", "requestPolicy": policy}}
    rules = ConsumableCapacity(fractions)
    taken = rules.consumed_by({"cores": parse("1200m")}, cores)
    assert {name: str(amount) for name, amount in taken.items()} == {"cores": expected}
    assert rules.fits({"cores": parse("1200m")}, cores)
