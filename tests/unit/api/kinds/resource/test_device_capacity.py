import pytest

from mockkube.api.kinds.resource.device_capacity import validate_exclusive_capacity, validate_shared_capacity


def capacity(default="1", **policy):
    return {"value": "10", "requestPolicy": {"default": default, **policy}}


@pytest.mark.parametrize(
    ("obj", "complaints"),
    [
        pytest.param(capacity(validValues=["1", "2"]), [], id="values"),
        pytest.param(capacity(validRange={"min": "1", "max": "5", "step": "2"}), [], id="range"),
        pytest.param(
            capacity("3", validValues=["1", "20"]),
            [
                'c.requestPolicy.validValues[1]: Invalid value: "20": option is larger than capacity value: 10',
                'c.requestPolicy.validValues: Invalid value: "3": default value is not valid according to the '
                "requestPolicy",
            ],
            id="wrong values",
        ),
        pytest.param(
            capacity(None, validValues=["1"]),
            ["c.requestPolicy.default: Required value: required when validValues is defined"],
            id="no default",
        ),
        pytest.param(
            capacity("2", validRange={"min": "1", "step": "3"}),
            [
                'c.requestPolicy.validRange.step: Invalid value: "2": value is not a multiple of a given '
                "step (3) from (1)"
            ],
            id="beside the steps",
        ),
        pytest.param(
            capacity("9", validRange={"min": "1", "max": "5"}),
            ['c.requestPolicy.validRange.max: Invalid value: "9": default is more than max: 5'],
            id="default too large",
        ),
    ],
)
def test_a_policy_fits_the_capacity(obj, complaints):
    assert [str(error) for error in validate_shared_capacity(obj, "c")] == complaints


def test_values_and_range_exclude_each_other():
    (error,) = validate_shared_capacity(capacity(validValues=["1"], validRange={"min": "1"}), "c")
    assert error.field == "c.requestPolicy"


def test_what_is_not_shared_has_no_policy():
    assert validate_exclusive_capacity({"value": "1"}, "c") == []
    assert [error.detail for error in validate_exclusive_capacity(capacity(), "c")] == [
        "allowMultipleAllocations must be true"
    ]
