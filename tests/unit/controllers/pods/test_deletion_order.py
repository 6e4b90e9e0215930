"""Order in which pods are deleted when a workload is scaled down."""

from datetime import UTC, datetime
from typing import Any

from mockkube.controllers.pods.deletion_order import COST_ANNOTATION, select_pods_to_delete

NOW = datetime(2030, 1, 1, 0, 10, tzinfo=UTC)


def make_pod(name: str, cost: str) -> dict[str, Any]:
    metadata = {"name": name, "uid": name, "creationTimestamp": "2030-01-01T00:00:00Z"}
    return {
        "metadata": {**metadata, "annotations": {COST_ANNOTATION: cost}},
        "spec": {"nodeName": "n", "containers": []},
        "status": {"phase": "Running"},
    }


def test_the_deletion_cost_decides_unless_its_gate_is_off() -> None:
    pods = [make_pod("a", "100"), make_pod("b", "-5"), make_pod("c", "7")]

    def names(*, counts_cost: bool) -> list[str]:
        chosen = select_pods_to_delete(pods, pods, 2, NOW, counts_cost=counts_cost)
        return [pod["metadata"]["name"] for pod in chosen]

    assert names(counts_cost=True) == ["b", "c"]
    assert names(counts_cost=False) == ["a", "b"]
