import pytest

from mockkube.api.kinds.resource.device_allocations import validate_claim_status

DEVICE = {"driver": "a.b", "pool": "p", "device": "d"}
USER = {"resource": "pods", "name": "p", "uid": "u"}


def claim(deleted=False, **status):
    metadata = {"name": "x", **({"deletionTimestamp": "2026-01-01T00:00:00Z"} if deleted else {})}
    return {"metadata": metadata, "spec": {"devices": {"requests": [{"name": "r"}]}}, "status": status}


def allocation(**fields):
    return {"devices": {"results": [{"request": "r", **DEVICE, **fields}]}}


@pytest.mark.parametrize(
    ("new", "old", "complaints"),
    [
        pytest.param(claim(allocation=allocation(), reservedFor=[USER], devices=[DEVICE]), claim(), [], id="fine"),
        pytest.param(
            claim(reservedFor=[USER]),
            claim(),
            ["status.reservedFor: Forbidden: may not be specified when `allocated` is not set"],
            id="in use before allocation",
        ),
        pytest.param(
            claim(deleted=True, allocation=allocation(), reservedFor=[USER]),
            claim(allocation=allocation()),
            [
                "status.reservedFor: Forbidden: new entries may not be added while `deallocationRequested` or "
                "`deletionTimestamp` are set"
            ],
            id="a user while it goes",
        ),
        pytest.param(
            claim(allocation=allocation(pool="")),
            claim(),
            ["status.allocation.devices.results[0].pool: Required value"],
            id="no pool",
        ),
        pytest.param(
            claim(devices=[DEVICE]),
            claim(),
            [
                'status.devices[0]: Invalid value: {"Driver":"a.b","Pool":"p","Device":"d","ShareID":""}: '
                "must be an allocated device in the claim"
            ],
            id="a report about nothing",
        ),
        pytest.param(
            claim(allocation=allocation(), devices=[DEVICE, DEVICE]),
            claim(),
            ['status.devices[1]: Duplicate value: {"Driver":"a.b","Pool":"p","Device":"d","ShareID":""}'],
            id="a report twice",
        ),
        pytest.param(
            claim(allocation=allocation(), reservedFor=[USER, USER]),
            claim(),
            ['status.reservedFor[1]: Duplicate value: "u"'],
            id="a user twice",
        ),
    ],
)
def test_a_status_makes_sense(new, old, complaints):
    assert [str(error) for error in validate_claim_status(new, old)] == complaints


def test_an_allocation_never_changes():
    (error,) = validate_claim_status(claim(allocation=allocation(device="e")), claim(allocation=allocation()))
    assert error.field == "status.allocation"
    assert error.detail == "field is immutable"


def test_data_of_a_network_is_bounded():
    network = {"interfaceName": "x" * 257, "ips": ["10.0.0.1/24", "10.0.0.1"]}
    new = claim(allocation=allocation(), devices=[{**DEVICE, "networkData": network}])
    assert [error.field for error in validate_claim_status(new, claim())] == [
        "status.devices[0].networkData.interfaceName",
        "status.devices[0].networkData.ips[1]",
    ]
