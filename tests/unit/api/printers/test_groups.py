"""Groups whose printers say little more than what stands in a field or two."""

from datetime import UTC, datetime

import pytest

from mockkube.api.catalogue import load_kind
from mockkube.api.json_objects import Object
from mockkube.api.printers.table import Cell

NOW = datetime(2026, 3, 14, 12, 0, 0, tzinfo=UTC)
META = {"name": "x", "creationTimestamp": "2026-03-14T11:00:00Z"}
SUBJECTS = [
    {"kind": "User", "name": "ann"},
    {"kind": "ServiceAccount", "namespace": "ci", "name": "bot"},
    {"kind": "Group", "name": "dev"},
    {"kind": "User", "name": "bob"},
    {"kind": "Robot", "name": "r2"},
]
QUEUES = {"queuing": {"queues": 64, "handSize": 6, "queueLengthLimit": 50}}


def condition(kind: str, status: str = "True", reason: str = "") -> Object:
    return {"type": kind, "status": status, "reason": reason}


ROWS = [
    pytest.param(
        ("policy", "PodDisruptionBudget"),
        {"spec": {"minAvailable": "50%"}, "status": {"disruptionsAllowed": 2}},
        ["x", "50%", "N/A", 2, "60m"],
        id="budget by what must stay",
    ),
    pytest.param(
        ("policy", "PodDisruptionBudget"),
        {"spec": {"maxUnavailable": 0}, "status": {}},
        ["x", "N/A", "0", 0, "60m"],
        id="budget by what may go",
    ),
    pytest.param(
        ("rbac.authorization.k8s.io", "RoleBinding"),
        {"roleRef": {"kind": "ClusterRole", "name": "view"}, "subjects": SUBJECTS},
        ["x", "ClusterRole/view", "60m", "ann, bob", "dev", "ci/bot"],
        id="role binding",
    ),
    pytest.param(("coordination.k8s.io", "Lease"), {"spec": {"holderIdentity": "n1"}}, ["x", "n1", "60m"], id="lease"),
    pytest.param(
        ("coordination.k8s.io", "LeaseCandidate"),
        {"spec": {"leaseName": "l", "binaryVersion": "1.36.0", "emulationVersion": "1.35.0"}},
        ["x", "l", "1.36.0", "1.35.0", "60m"],
        id="lease candidate",
    ),
    pytest.param(
        ("scheduling.k8s.io", "PriorityClass"),
        {"value": -5, "globalDefault": True, "preemptionPolicy": "Never"},
        ["x", -5, True, "60m", "Never"],
        id="priority class",
    ),
    pytest.param(
        ("scheduling.k8s.io", "PodGroup"),
        {"spec": {"schedulingPolicy": {"basic": {}}}},
        ["x", "Basic", "<none>", "Pending", "60m"],
        id="pod group",
    ),
    pytest.param(
        ("scheduling.k8s.io", "PodGroup"),
        {
            "spec": {
                "schedulingPolicy": {"gang": {"minCount": 2}},
                "podGroupTemplateRef": {"workload": {"workloadName": "w"}},
            },
            "status": {"conditions": [condition("PodGroupScheduled", "False")]},
        },
        ["x", "Gang", "w", "Unschedulable", "60m"],
        id="pod group that does not fit",
    ),
    pytest.param(
        ("scheduling.k8s.io", "PodGroup"),
        {"status": {"conditions": [condition("DisruptionTarget", reason="Preempted"), condition("PodGroupScheduled")]}},
        ["x", "Basic", "<none>", "Preempted", "60m"],
        id="pod group that is pushed out",
    ),
    pytest.param(
        ("flowcontrol.apiserver.k8s.io", "FlowSchema"),
        {
            "spec": {
                "priorityLevelConfiguration": {"name": "low"},
                "matchingPrecedence": 100,
                "distinguisherMethod": {"type": "ByUser"},
            },
            "status": {"conditions": [condition("Dangling", "False")]},
        },
        ["x", "low", 100, "ByUser", "60m", "False"],
        id="flow schema",
    ),
    pytest.param(
        ("flowcontrol.apiserver.k8s.io", "FlowSchema"),
        {"spec": {}},
        ["x", "", 0, "<none>", "60m", "?"],
        id="bare schema",
    ),
    pytest.param(
        ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration"),
        {"spec": {"type": "Limited", "limited": {"nominalConcurrencyShares": 30, "limitResponse": QUEUES}}},
        ["x", "Limited", 30, 64, 6, 50, "60m"],
        id="level with queues",
    ),
    pytest.param(
        ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration"),
        {"spec": {"type": "Limited", "limited": {"limitResponse": {"type": "Reject"}}}},
        ["x", "Limited", 0, "<none>", "<none>", "<none>", "60m"],
        id="level without queues",
    ),
    pytest.param(
        ("internal.apiserver.k8s.io", "StorageVersion"),
        {"status": {"storageVersions": [{"apiServerID": f"s{n}", "encodingVersion": "v1"} for n in range(4)]}},
        ["x", "<unset>", "s0=v1,s1=v1,s2=v1 + 1 more...", "60m"],
        id="storage version",
    ),
    pytest.param(
        ("storagemigration.k8s.io", "StorageVersionMigration"),
        {
            "spec": {"resource": {"group": "apps", "resource": "deployments"}},
            "status": {"conditions": [condition("Running", "False"), condition("Succeeded"), condition("Odd")]},
        },
        ["x", "deployments.apps", "Succeeded"],
        id="migration",
    ),
    pytest.param(
        ("storagemigration.k8s.io", "StorageVersionMigration"),
        {"spec": {"resource": {"resource": "secrets"}}},
        ["x", "secrets", "Unknown"],
        id="migration not begun",
    ),
    pytest.param(
        ("apiregistration.k8s.io", "APIService"), {"spec": {}}, ["x", "Local", "Unknown", "60m"], id="local service"
    ),
    pytest.param(
        ("apiregistration.k8s.io", "APIService"),
        {
            "spec": {"service": {"namespace": "kube-system", "name": "metrics"}},
            "status": {"conditions": [condition("Available", "False", "MissingEndpoints")]},
        },
        ["x", "kube-system/metrics", "False (MissingEndpoints)", "60m"],
        id="service that is down",
    ),
    pytest.param(
        ("apiregistration.k8s.io", "APIService"),
        {"status": {"conditions": [condition("Available", "True", "Passed")]}},
        ["x", "Local", "True", "60m"],
        id="service that is up",
    ),
]


@pytest.mark.parametrize(("key", "obj", "cells"), ROWS)
def test_cells_of_a_kind(key: tuple[str, str], obj: Object, cells: list[Cell]) -> None:
    assert load_kind(*key).printer.row({"metadata": META, **obj}, NOW).cells == cells
