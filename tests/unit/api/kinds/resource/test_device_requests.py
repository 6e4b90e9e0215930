import pytest

from mockkube.api.kinds.resource.device_expressions import accept_expression
from mockkube.api.kinds.resource.device_requests import DeviceClaimValidator, drop_disabled_request_fields


def exactly(**fields):
    return {"deviceClassName": "c", "allocationMode": "ExactCount", "count": 1, **fields}


def devices(*requests, **fields):
    return {"requests": list(requests), **fields}


@pytest.mark.parametrize(
    ("claim", "complaints"),
    [
        pytest.param(devices({"name": "r", "exactly": exactly()}), [], id="fine"),
        pytest.param(
            devices({"name": "r"}),
            ["d.requests[0]: Required value: exactly one of `exactly` or `firstAvailable` is required"],
            id="nothing",
        ),
        pytest.param(
            devices({"name": "r", "exactly": exactly(), "firstAvailable": [{"name": "s", **exactly()}]}),
            [
                "d.requests[0]: Invalid value: null: exactly one of `exactly` or `firstAvailable` is required, but "
                "multiple fields are set"
            ],
            id="both",
        ),
        pytest.param(
            devices({"name": "r", "exactly": exactly(count=0)}),
            ["d.requests[0].exactly.count: Invalid value: 0: must be greater than zero"],
            id="none of them",
        ),
        pytest.param(
            devices({"name": "r", "exactly": exactly(allocationMode="All")}),
            ["d.requests[0].exactly.count: Invalid value: 1: must not be specified when allocationMode is 'All'"],
            id="all but one",
        ),
        pytest.param(
            devices({"name": "r", "exactly": exactly(tolerations=[{"operator": "Exists", "value": "v"}])}),
            ['d.requests[0].exactly.tolerations[0].value: Invalid value: "v": must be empty for operator `Exists`'],
            id="exists with a value",
        ),
        pytest.param(
            devices({"name": "r", "exactly": exactly()}, config=[{"requests": ["s"]}]),
            [
                'd.config[0].requests[0]: Invalid value: "s": must be the name of a request in the claim '
                "or the name of "
                "a request and a subrequest separated by '/'",
                "d.config[0].opaque: Required value",
            ],
            id="unknown request",
        ),
    ],
)
def test_requests_are_judged(judge, claim, complaints):
    errors = DeviceClaimValidator(judge(), accept_expression).validate(claim, "d")
    assert [str(error) for error in errors] == complaints


def test_an_alternative_is_named_with_its_request(judge):
    claim = devices(
        {"name": "r", "firstAvailable": [{"name": "s", **exactly()}]},
        constraints=[
            {"requests": ["r/s"], "matchAttribute": "a.b/c"},
            {"requests": ["r/t"], "matchAttribute": "a.b/c"},
        ],
    )
    errors = DeviceClaimValidator(judge(), accept_expression).validate(claim, "d")
    assert [error.field for error in errors] == ["d.constraints[1].requests[0]"]


@pytest.mark.parametrize(
    ("gates", "field"), [((), "d.constraints[0].matchAttribute"), (("DRAConsumableCapacity",), "d.constraints[0]")]
)
def test_a_constraint_has_an_attribute(judge, gates, field):
    errors = DeviceClaimValidator(judge(*gates), accept_expression).validate(devices(constraints=[{}]), "d")
    assert [error.field for error in errors] == [field]


def test_what_is_switched_off_is_dropped_unless_in_use(judge):
    fields = exactly(tolerations=[{"operator": "Exists"}], adminAccess=True, capacity={"requests": {"a": "1"}})
    spec = {"devices": devices({"name": "r", "exactly": dict(fields)})}
    drop_disabled_request_fields(spec, {"devices": devices({"name": "r", "exactly": fields})}, judge())
    assert spec["devices"]["requests"][0]["exactly"] == fields
    drop_disabled_request_fields(spec, None, judge())
    assert spec["devices"]["requests"][0]["exactly"] == exactly()
