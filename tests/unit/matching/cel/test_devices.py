"""Selectors of devices: what compiles, what it is estimated to cost, what an API server says."""

from datetime import UTC, datetime

import pytest

from mockkube.api.strategy import StrategyContext
from mockkube.features.capabilities import Capabilities
from mockkube.features.versions import DEFAULT
from mockkube.matching.cel.devices import device_environment, validate_device_expression

AT = "spec.selectors[0].cel.expression"


def complaints(expression, *gates):
    judge = StrategyContext(Capabilities(DEFAULT, frozenset(gates)), datetime(2026, 1, 1, tzinfo=UTC))
    return [str(error) for error in validate_device_expression(expression, AT, judge, stored=False)]


@pytest.mark.parametrize(
    "expression",
    [
        pytest.param("device.driver == 'gpu.example.com'", id="driver"),
        pytest.param("device.attributes['gpu.example.com'].model == 'a100'", id="attribute"),
        pytest.param("device.attributes['gpu.example.com'].healthy", id="attribute of any type"),
        pytest.param("device.capacity['gpu.example.com'].memory.compareTo(quantity('40Gi')) >= 0", id="capacity"),
        pytest.param("device.attributes['gpu.example.com'].driver.isGreaterThan(semver('1.2.3'))", id="version"),
        pytest.param("cel.bind(gpu, device.attributes['gpu.example.com'], gpu.a && gpu.b)", id="binding"),
    ],
)
def test_what_a_device_has_may_be_asked(expression):
    assert complaints(expression) == []


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        pytest.param("device.name == 'a'", "<input>:1:7: undefined field 'name'", id="field"),
        pytest.param("device.driver", "must evaluate to bool or the unknown type, not string", id="type"),
        pytest.param("taint.key == 'a'", "undeclared reference to 'taint'", id="variable"),
    ],
)
def test_what_does_not_compile_is_refused(expression, message):
    [text] = complaints(expression)
    assert text.startswith(f"{AT}: Invalid value: ")
    assert message in text


def test_shared_devices_are_known_with_their_gate():
    assert complaints("device.allowMultipleAllocations", "DRAConsumableCapacity") == []
    assert "undefined field 'allowMultipleAllocations'" in complaints("device.allowMultipleAllocations")[0]


def test_maps_of_a_device_are_bounded():
    once = "device.attributes.all(k, k != 'x')"
    estimate = device_environment(shared=False, lists=False).compile(once).estimate
    assert estimate.max < 1000
    nested = "device.attributes.all(a, " * 5 + "true" + ")" * 5
    assert complaints(nested) == [f"{AT}: Forbidden: too complex, exceeds cost limit"]
