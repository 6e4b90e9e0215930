"""What selectors say of a device."""

from typing import Any

import pytest

from mockkube.matching.cel.device_selection import compile_device_selector, device_matches

DEVICE = {
    "attributes": {
        "model": {"string": "a100"},
        "example.org/slot": {"int": 3},
        "healthy": {"bool": True},
        "firmware": {"version": "2.1.0"},
    },
    "capacity": {"memory": {"value": "40Gi"}},
}


def asked(expression: str, device: Any = DEVICE, *, lists: bool = False) -> bool | str:
    compiled = compile_device_selector(expression, shared=True, lists=lists)
    assert compiled.error is None
    return device_matches(compiled, "gpu.example.com", device, lists=lists)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        pytest.param('device.driver == "gpu.example.com"', True, id="driver"),
        pytest.param('device.attributes["gpu.example.com"].model == "a100"', True, id="attribute of the driver"),
        pytest.param('device.attributes["example.org"].slot > 3', False, id="attribute of another domain"),
        pytest.param('device.attributes["gpu.example.com"].healthy', True, id="attribute that is the answer"),
        pytest.param(
            'device.attributes["gpu.example.com"].firmware.isGreaterThan(semver("2.0.0"))', True, id="version"
        ),
        pytest.param('device.capacity["gpu.example.com"].memory.compareTo(quantity("40Gi")) == 0', True, id="capacity"),
        pytest.param("device.allowMultipleAllocations", False, id="not shared"),
        pytest.param('"other.example.com" in device.attributes', False, id="domain that is not there"),
        pytest.param('has(device.attributes["other.example.com"].x)', False, id="attribute of no domain"),
    ],
)
def test_a_selector_says_of_a_device(expression: str, expected: bool) -> None:
    assert asked(expression) is expected


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        pytest.param('device.attributes["x.org"].speed > 1', "no such key: speed", id="attribute that is not there"),
        pytest.param(
            'device.attributes["gpu.example.com"].model',
            "CEL result of type string could not be converted to bool: "
            "unsupported native conversion from string to 'bool'",
            id="a string for an answer",
        ),
    ],
)
def test_an_evaluation_that_fails_says_why(expression: str, message: str) -> None:
    assert asked(expression) == message


def test_an_attribute_of_no_known_kind_is_named() -> None:
    listed = {"attributes": {"sizes": {"ints": [1, 2]}}}
    assert asked("true", listed) == "attribute sizes: unsupported attribute value"
    assert asked('device.attributes["gpu.example.com"].sizes.exists(one, one == 2)', listed, lists=True) is True
