from datetime import UTC, datetime

import pytest

from mockkube.api.json_objects import Object
from mockkube.api.kinds.apps import controller_revision, daemon_set, replica_set, stateful_set
from mockkube.api.kinds.apps.deployment import DEPLOYMENT
from mockkube.api.kinds.core import replication_controller
from mockkube.api.printers.table import Cell, Printer

NOW = datetime(2026, 3, 14, 12, 0, 0, tzinfo=UTC)
META = {"name": "web", "creationTimestamp": "2026-03-14T11:00:00Z"}
TEMPLATE = {
    "spec": {
        "containers": [{"name": "a", "image": "i:1"}, {"name": "b", "image": "j"}],
        "nodeSelector": {"zone": "x", "disk": "ssd"},
    }
}
SPEC = {"replicas": 3, "template": TEMPLATE, "selector": {"matchLabels": {"app": "web"}}}


@pytest.mark.parametrize(
    ("printer", "obj", "cells"),
    [
        pytest.param(
            DEPLOYMENT,
            {"metadata": META, "spec": SPEC, "status": {"readyReplicas": 2, "updatedReplicas": 1}},
            ["web", "2/3", 1, 0, "60m", "a,b", "i:1,j", "app=web"],
            id="deployment",
        ),
        pytest.param(
            DEPLOYMENT,
            {"metadata": META, "spec": {"selector": {}}, "status": {}},
            ["web", "0/0", 0, 0, "60m", "", "", ""],
            id="deployment without a selector",
        ),
        pytest.param(
            replica_set.REPLICA_SET,
            {"metadata": META, "spec": SPEC, "status": {"replicas": 3, "readyReplicas": 2}},
            ["web", 3, 3, 2, "60m", "a,b", "i:1,j", "app=web"],
            id="replica set",
        ),
        pytest.param(
            replication_controller.REPLICATION_CONTROLLER,
            {"metadata": META, "spec": {"replicas": 0, "selector": {"b": "2", "a": "1"}}, "status": {"replicas": 1}},
            ["web", 0, 1, 0, "60m", "", "", "a=1,b=2"],
            id="replication controller",
        ),
        pytest.param(
            daemon_set.DAEMON_SET,
            {
                "metadata": META,
                "spec": SPEC,
                "status": {
                    "desiredNumberScheduled": 5,
                    "currentNumberScheduled": 4,
                    "numberReady": 3,
                    "updatedNumberScheduled": 2,
                    "numberAvailable": 1,
                },
            },
            ["web", 5, 4, 3, 2, 1, "disk=ssd,zone=x", "60m", "a,b", "i:1,j", "app=web"],
            id="daemon set",
        ),
        pytest.param(
            stateful_set.STATEFUL_SET,
            {"metadata": META, "spec": SPEC, "status": {"readyReplicas": 1}},
            ["web", "1/3", "60m", "a,b", "i:1,j"],
            id="stateful set",
        ),
    ],
)
def test_a_workload_shows_its_progress(printer: Printer, obj: Object, cells: list[Cell]) -> None:
    assert printer.row(obj, NOW).cells == cells


@pytest.mark.parametrize(
    ("owner", "shown"),
    [
        pytest.param(
            {"apiVersion": "apps/v1", "kind": "DaemonSet", "controller": True}, "daemonset.apps/d", id="group"
        ),
        pytest.param({"apiVersion": "v1", "kind": "Pod", "controller": True}, "pod/d", id="core"),
        pytest.param({"apiVersion": "apps/v1", "kind": "DaemonSet"}, "<none>", id="an owner, not a controller"),
    ],
)
def test_a_revision_names_its_controller(owner: Object, shown: str) -> None:
    obj = {"metadata": {**META, "ownerReferences": [{"name": "d", **owner}]}, "revision": 4}
    assert controller_revision.CONTROLLER_REVISION.row(obj, NOW).cells == ["web", shown, 4, "60m"]
