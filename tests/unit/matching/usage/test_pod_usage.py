from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from mockkube.matching.usage.annotations import find_annotation_errors
from mockkube.matching.usage.pod_usage import UsagePod, calculate_container_usage
from mockkube.matching.usage.workload_loads import find_loaded_workload, read_owner

START = datetime(2026, 1, 1, tzinfo=UTC)
MIB = 1024 * 1024


def make_pod(annotations: dict[str, str], *containers: dict[str, Any], resources: Any = None) -> dict[str, Any]:
    statuses = [
        {"name": one["name"], "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}}} for one in containers
    ]
    return {
        "metadata": {"name": "p", "namespace": "default", "annotations": annotations},
        "spec": {"containers": list(containers), **({"resources": resources} if resources else {})},
        "status": {"phase": "Running", "startTime": "2026-01-01T00:00:00Z", "containerStatuses": statuses},
    }


def container(name: str, cpu: str = "", memory: str = "") -> dict[str, Any]:
    requests = {key: value for key, value in (("cpu", cpu), ("memory", memory)) if value}
    return {"name": name, "resources": {"requests": requests}}


def usage(pod: dict[str, Any], seconds: float = 60, load: dict[str, Decimal] | None = None) -> list[tuple[str, int]]:
    read = UsagePod.read(pod)
    assert read is not None
    return [
        (str(one["cpu"].normalize()), int(one["memory"]) // MIB)
        for one in calculate_container_usage(read, START + timedelta(seconds=seconds), load)
    ]


@pytest.mark.parametrize(
    ("pod", "expected"),
    [
        pytest.param(make_pod({}, container("a", "200m", "128Mi")), [("0.1", 64)], id="half of the requests"),
        pytest.param(make_pod({}, container("a")), [("0.01", 32)], id="without requests"),
        pytest.param(
            make_pod({}, container("a"), container("b"), resources={"requests": {"cpu": "400m"}}),
            [("0.1", 32), ("0.1", 32)],
            id="requests of the pod as a whole",
        ),
        pytest.param(
            make_pod({"mockkube.dev/usage-cpu": "300m"}, container("a", "200m"), container("b", "100m")),
            [("0.2", 32), ("0.1", 32)],
            id="annotation, in proportion to requests",
        ),
        pytest.param(
            make_pod({"mockkube.dev/usage-memory": "64Mi"}, container("a"), container("b")),
            [("0.01", 32), ("0.01", 32)],
            id="annotation, in equal parts",
        ),
        pytest.param(
            make_pod({"mockkube.dev/usage-cpu": "a=1@0s 2@2m,b=20m"}, container("a"), container("b"), container("c")),
            [("1.5", 32), ("0.02", 32), ("0.01", 32)],
            id="annotation by container",
        ),
        pytest.param(
            make_pod({"kwok.x-k8s.io/usage-cpu": "70m"}, container("a"), container("b")),
            [("0.07", 32), ("0.07", 32)],
            id="annotation of KWOK, for each container",
        ),
        pytest.param(
            make_pod({"mockkube.dev/usage-cpu": "2"}, {"name": "a", "resources": {"limits": {"cpu": "1500m"}}}),
            [("1.5", 32)],
            id="not above the limit",
        ),
        pytest.param(
            make_pod({"mockkube.dev/usage-cpu": "often"}, container("a", "1")),
            [("0.5", 32)],
            id="malformed annotation is ignored",
        ),
    ],
)
def test_usage_comes_from_annotations_or_requests(pod: dict[str, Any], expected: list[tuple[str, int]]) -> None:
    assert usage(pod) == expected


def test_a_share_of_the_load_replaces_the_default_but_not_an_annotation() -> None:
    load = {"cpu": Decimal("0.6")}
    assert usage(make_pod({}, container("a", "100m")), load=load) == [("0.6", 32)]
    assert usage(make_pod({"mockkube.dev/usage-cpu": "50m"}, container("a")), load=load) == [("0.05", 32)]


def test_a_pod_without_running_containers_uses_nothing() -> None:
    waiting = make_pod({}, container("a"))
    waiting["status"]["containerStatuses"][0]["state"] = {"waiting": {"reason": "CrashLoopBackOff"}}
    finished = make_pod({}, container("a"))
    finished["status"]["phase"] = "Succeeded"
    assert UsagePod.read(waiting) is None
    assert UsagePod.read(finished) is None
    assert UsagePod.read({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "a"}]}}) is None


def test_a_load_belongs_to_the_nearest_owner_that_has_one() -> None:
    def owned_by(kind: str, name: str) -> list[dict[str, Any]]:
        return [{"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": f"u-{name}", "controller": True}]

    deployment = {
        "metadata": {
            "name": "web",
            "uid": "u-web",
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "annotations": {"mockkube.dev/load-cpu": "0@0s 4@4m", "mockkube.dev/load-memory": "bad"},
        }
    }
    replica_set = {"metadata": {"name": "rs", "uid": "u-rs", "ownerReferences": owned_by("Deployment", "web")}}
    pod = {"metadata": {"name": "p", "namespace": "default", "ownerReferences": owned_by("ReplicaSet", "rs")}}
    stored = {"rs": replica_set, "web": deployment}

    workload = find_loaded_workload(read_owner(pod), lambda owner: stored.get(owner.name))
    assert workload is not None
    assert workload.uid == "u-web"
    assert workload.get_share(START + timedelta(minutes=2), 4) == {"cpu": Decimal("0.5")}
    replaced = {**stored, "web": {"metadata": {**deployment["metadata"], "uid": "another"}}}
    assert find_loaded_workload(read_owner(pod), lambda owner: replaced.get(owner.name)) is None


def test_errors_of_annotations_name_them() -> None:
    pod = make_pod({"mockkube.dev/usage-cpu": "a=1,2", "mockkube.dev/load-memory": "x"}, container("a"))
    first, second = find_annotation_errors(pod)
    assert first.startswith("mockkube.dev/usage-cpu: 'a=1,2': '2' names no container")
    assert second.startswith("mockkube.dev/load-memory: 'x'")
