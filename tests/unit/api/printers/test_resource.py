from datetime import UTC, datetime

import pytest

from mockkube.api.json_objects import Object
from mockkube.api.kinds.resource import device_taint_rule, resource_claim, resource_pool_status_request, resource_slice

NOW = datetime(2026, 3, 14, 12, 0, 0, tzinfo=UTC)
META = {"name": "gpu", "creationTimestamp": "2026-03-14T11:00:00Z"}


@pytest.mark.parametrize(
    ("status", "deleting", "shown"),
    [
        pytest.param({}, False, "pending", id="nothing allocated"),
        pytest.param({"allocation": {}}, False, "allocated", id="allocated"),
        pytest.param({"allocation": {}, "reservedFor": [{}]}, False, "allocated,reserved", id="in use"),
        pytest.param({"allocation": {}, "reservedFor": [{}]}, True, "deleted,allocated,reserved", id="in use, deleted"),
        pytest.param({}, True, "deleted", id="deleted"),
    ],
)
def test_the_state_of_a_claim(status: Object, deleting: bool, shown: str) -> None:
    meta = {**META, "deletionTimestamp": "2026-03-14T11:59:00Z"} if deleting else META
    assert resource_claim.RESOURCE_CLAIM.row({"metadata": meta, "status": status}, NOW).cells == ["gpu", shown, "60m"]


def test_a_slice_shows_where_its_devices_are() -> None:
    obj = {"metadata": META, "spec": {"driver": "d", "pool": {"name": "p"}}}
    assert resource_slice.RESOURCE_SLICE.row(obj, NOW).cells == ["gpu", "", "d", "p", "60m"]


def test_a_taint_rule_shows_its_taint() -> None:
    taint = {"key": "hot", "effect": "NoExecute", "timeAdded": "2026-03-14T11:59:00Z"}
    cells = device_taint_rule.DEVICE_TAINT_RULE.row({"metadata": META, "spec": {"taint": taint}}, NOW).cells
    assert cells == ["gpu", "hot", "", "NoExecute", "60s", "60m"]
    assert device_taint_rule.DEVICE_TAINT_RULE.row({"metadata": META, "spec": {"taint": {}}}, NOW).cells[4] == ""


POOLS = [
    {"totalDevices": 4, "availableDevices": 1, "allocatedDevices": 2, "unavailableDevices": 1},
    {"totalDevices": 8, "availableDevices": 8, "validationError": "x"},
]


def condition(kind: str) -> Object:
    return {"type": kind, "status": "True", "lastTransitionTime": "2026-03-14T11:58:00Z"}


@pytest.mark.parametrize(
    ("status", "cells"),
    [
        pytest.param(None, ["-", "-", "-", "-", "-", 0, "Pending", "<none>"], id="not looked at"),
        pytest.param({}, ["0", "0", "0", "0", "0", 0, "Pending", "<none>"], id="looked at"),
        pytest.param(
            {"pools": POOLS, "poolCount": 2, "conditions": [condition("Complete")]},
            ["12", "9", "2", "1", "1", 2, "Complete", "2m"],
            id="answered",
        ),
        pytest.param(
            {"pools": POOLS, "poolCount": 5, "conditions": [condition("Complete")]},
            ["12", "9", "2", "1", "1", 5, "Complete (2/5 pools)", "2m"],
            id="answered in part",
        ),
        pytest.param(
            {"pools": POOLS, "poolCount": 2, "conditions": [condition("Failed")]},
            ["-", "-", "-", "-", "-", 2, "Failed", "<none>"],
            id="failed",
        ),
    ],
)
def test_a_pool_request_sums_up_the_pools(status: Object | None, cells: list[object]) -> None:
    obj = {"metadata": META, "spec": {"driver": "d"}, **({} if status is None else {"status": status})}
    assert resource_pool_status_request.RESOURCE_POOL_STATUS_REQUEST.row(obj, NOW).cells == ["gpu", "d", *cells]
