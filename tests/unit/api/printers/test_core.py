from datetime import UTC, datetime

import pytest

from mockkube.api.json_objects import Object
from mockkube.api.kinds.core import component_status, config_map, resource_quota
from mockkube.api.kinds.core.namespace import NAMESPACE
from mockkube.api.kinds.core.secret import SECRET
from mockkube.api.printers import default_printers
from mockkube.api.printers.table import Cell, Printer

NOW = datetime(2026, 3, 14, 12, 0, 0, tzinfo=UTC)
META = {"name": "x", "creationTimestamp": "2026-03-14T11:00:00Z"}


@pytest.mark.parametrize(
    ("printer", "obj", "cells"),
    [
        pytest.param(default_printers.NAME_AND_AGE_PRINTER, {}, ["x", "60m"], id="nothing but an age"),
        pytest.param(NAMESPACE, {"status": {"phase": "Active"}}, ["x", "Active", "60m"], id="namespace"),
        pytest.param(
            config_map.CONFIG_MAP,
            {"data": {"a": "", "b": ""}, "binaryData": {"c": ""}},
            ["x", 3, "60m"],
            id="config map",
        ),
        pytest.param(SECRET, {"type": "Opaque", "data": {"a": ""}}, ["x", "Opaque", 1, "60m"], id="secret"),
        pytest.param(component_status.COMPONENT_STATUS, {}, ["x", "Unknown", "", ""], id="component, unknown"),
        pytest.param(
            component_status.COMPONENT_STATUS,
            {"conditions": [{"type": "Healthy", "status": "True", "message": "ok"}]},
            ["x", "Healthy", "ok", ""],
            id="component, healthy",
        ),
        pytest.param(
            component_status.COMPONENT_STATUS,
            {"conditions": [{"type": "Healthy", "status": "False", "error": "gone"}]},
            ["x", "Unhealthy", "", "gone"],
            id="component, unhealthy",
        ),
    ],
)
def test_small_kinds(printer: Printer, obj: Object, cells: list[Cell]) -> None:
    assert printer.row({"metadata": META, **obj}, NOW).cells == cells


def test_a_quota_tells_limits_from_the_rest() -> None:
    status = {
        "hard": {"pods": "10", "limits.memory": "2Gi", "requests.cpu": "4", "limits.cpu": "8", "limits": "1"},
        "used": {"pods": "3", "limits.cpu": "500m"},
    }
    cells = resource_quota.RESOURCE_QUOTA.row({"metadata": META, "spec": {}, "status": status}, NOW).cells
    assert cells == [
        "x",
        "limits: 0/1, pods: 3/10, requests.cpu: 0/4",
        "limits.cpu: 500m/8, limits.memory: 0/2Gi",
        "60m",
    ]
