"""Probes of a pod's containers, sync by sync."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from mockkube.api.times import parse_time
from mockkube.kubelet.containers.prober import PodProber
from mockkube.kubelet.pods.pod_lifecycle import sync_pod
from mockkube.kubelet.pods.pod_status import PodStatusRules
from mockkube.kubelet.pods.sync_result import PodSyncInput
from mockkube.shell.containers.container_start import ContainerStart
from mockkube.shell.containers.container_states import ContainerStates
from mockkube.shell.machine.file_system import FileWrite

NOW = datetime(2030, 1, 1, tzinfo=UTC)
AGNHOST = "registry.k8s.io/e2e-test-images/agnhost:2.59"


class Life:
    """A pod with one container, synced whenever the kubelet asks for it."""

    def __init__(self, container: dict[str, Any], **spec: Any) -> None:
        metadata = {"name": "p", "namespace": "ns", "uid": "u1"}
        spec = {"containers": [{"name": "main", "image": "busybox", **container}], "nodeName": "n1", **spec}
        self.pod: dict[str, Any] = {"metadata": metadata, "spec": spec, "status": {"phase": "Pending"}}
        self.now = NOW
        self.prober = PodProber()
        self.states = ContainerStates()
        self.events: list[str] = []
        self.ready: list[tuple[float, bool]] = []
        self.restarted: list[float] = []

    def run(self, seconds: float) -> "Life":
        """Let the time pass; record when the container became ready or unready, and when it restarted."""
        ends = self.now + timedelta(seconds=seconds)
        due: datetime | None = self.now
        for _ in range(1000):
            if due is None or due > ends:
                break
            self.now = max(self.now, due)
            due = self._sync()
        self.now = ends
        return self

    def _sync(self) -> datetime | None:
        sync_input = PodSyncInput(
            "172.18.0.2", "10.244.0.2", PodStatusRules(), start=ContainerStart(states=self.states), prober=self.prober
        )
        what = sync_pod(self.pod, sync_input, self.now)
        self.events += [f"{note.reason}: {note.message}" for note in what.events]
        if what.status is None:
            return what.next_sync_at
        before = (self.pod["status"].get("containerStatuses") or [{"ready": False, "restartCount": 0}])[0]
        self.pod = {**self.pod, "status": {**self.pod["status"], **what.status}}
        after, seconds = self.container, (self.now - NOW).total_seconds()
        if before["ready"] != after["ready"]:
            self.ready.append((seconds, after["ready"]))
        if before["restartCount"] != after["restartCount"]:
            self.restarted.append(seconds)
        return self.now

    @property
    def container(self) -> dict[str, Any]:
        """Status of the container."""
        status: dict[str, Any] = self.pod["status"]["containerStatuses"][0]
        return status


def http(path: str, port: int = 8080, **fields: Any) -> dict[str, Any]:
    return {"httpGet": {"path": path, "port": port}, **fields}


def exec_probe(*command: str, **fields: Any) -> dict[str, Any]:
    return {"exec": {"command": list(command)}, **fields}


def shell(script: str) -> list[str]:
    return ["sh", "-c", script]


@pytest.mark.parametrize(
    ("container", "ready"),
    [
        pytest.param({"readinessProbe": http("/x")}, [(0.0, True)], id="an unknown server responds at once"),
        pytest.param({"readinessProbe": http("/x", initialDelaySeconds=30)}, [(30.0, True)], id="a delay"),
        pytest.param(
            {"readinessProbe": http("/x", successThreshold=3, periodSeconds=5)}, [(10.0, True)], id="a threshold"
        ),
        pytest.param({"readinessProbe": exec_probe("false")}, [], id="a command that always fails"),
        pytest.param(
            {"readinessProbe": exec_probe("cat", "/tmp/x"), "command": shell("sleep 7; touch /tmp/x; sleep 600")},
            [(10.0, True)],
            id="a file that appears",
        ),
        pytest.param(
            {
                "readinessProbe": exec_probe("cat", "/tmp/x", periodSeconds=1, failureThreshold=2),
                "command": shell("touch /tmp/x; sleep 7; rm /tmp/x; sleep 600"),
            },
            [(0.0, True), (8.0, False)],
            id="a file that disappears",
        ),
        pytest.param(
            {"readinessProbe": exec_probe("sleep", "5", timeoutSeconds=2)}, [], id="a command that takes too long"
        ),
        pytest.param(
            {"readinessProbe": exec_probe("curl", "x"), "startupProbe": exec_probe("false")}, [], id="never started"
        ),
        pytest.param(
            {
                "startupProbe": exec_probe("cat", "/tmp/x", periodSeconds=4, failureThreshold=9),
                "readinessProbe": http("/x", periodSeconds=30),
                "command": shell("sleep 7; touch /tmp/x; sleep 600"),
            },
            [(8.0, True)],
            id="ready as soon as it has started",
        ),
        pytest.param(
            {"image": AGNHOST, "args": ["netexec", "--http-port=80"], "readinessProbe": http("/", 8080)},
            [],
            id="another port",
        ),
        pytest.param({"image": "httpd:2", "readinessProbe": http("/index.html", 80)}, [(0.0, True)], id="a known file"),
        pytest.param({"image": "httpd:2", "readinessProbe": http("/other.html", 80)}, [], id="no such file"),
        pytest.param(
            {"image": AGNHOST, "args": ["test-webserver"], "readinessProbe": http("/localhost.crt", 80)},
            [(0.0, True)],
            id="a file of a file server",
        ),
        pytest.param(
            {"image": AGNHOST, "args": ["netexec"], "readinessProbe": {"tcpSocket": {"port": 8080}}},
            [(0.0, True)],
            id="an open port",
        ),
        pytest.param(
            {
                "image": AGNHOST,
                "args": ["netexec"],
                "ports": [{"name": "web", "containerPort": 81}],
                "readinessProbe": {"tcpSocket": {"port": "web"}},
            },
            [],
            id="a closed port by its name",
        ),
    ],
)
def test_a_container_is_ready_while_its_probe_succeeds(container: dict[str, Any], ready: list[Any]) -> None:
    assert Life(container).run(29 if "startupProbe" in container else 60).ready == ready


@pytest.mark.parametrize(
    ("container", "restarted"),
    [
        pytest.param({"livenessProbe": http("/x")}, [], id="an unknown server"),
        pytest.param(
            {
                "command": shell("echo ok >/tmp/health; sleep 10; rm -rf /tmp/health; sleep 600"),
                "livenessProbe": exec_probe("cat", "/tmp/health", initialDelaySeconds=15, failureThreshold=1),
            },
            [15.0, 40.0],
            id="a file that is removed",
        ),
        pytest.param(
            {"image": AGNHOST, "args": ["liveness"], "livenessProbe": http("/healthz", periodSeconds=3)},
            [18.0, 46.0],
            id="a server that is alive for ten seconds",
        ),
        pytest.param(
            {
                "image": AGNHOST,
                "args": ["liveness"],
                "livenessProbe": http("/redirect?loc=%2Fhealthz", initialDelaySeconds=15, failureThreshold=1),
            },
            [15.0, 40.0],
            id="a redirection to it",
        ),
        pytest.param(
            {
                "image": AGNHOST,
                "args": ["liveness"],
                "livenessProbe": http("/redirect?loc=http%3A%2F%2F0.0.0.0%2F", initialDelaySeconds=15),
            },
            [],
            id="a redirection elsewhere",
        ),
        pytest.param(
            {
                "image": AGNHOST,
                "args": ["grpc-health-checking", "--delay-unhealthy-sec", "10"],
                "livenessProbe": {"grpc": {"port": 5000}, "periodSeconds": 5, "failureThreshold": 1},
            },
            [10.0, 30.0],
            id="a health check over gRPC",
        ),
        pytest.param(
            {"startupProbe": exec_probe("false", periodSeconds=5), "livenessProbe": exec_probe("false")},
            [10.0, 30.0],
            id="a startup probe that fails three times",
        ),
    ],
)
def test_a_container_restarts_when_its_probe_fails(container: dict[str, Any], restarted: list[float]) -> None:
    assert Life(container).run(50).restarted == restarted


def test_a_failed_liveness_probe_is_reported_and_kills_with_137() -> None:
    probe = exec_probe("sh", "-c", "echo broken; exit 1", initialDelaySeconds=5, failureThreshold=1)
    life = Life({"livenessProbe": probe}, restartPolicy="Never").run(6)
    assert life.events[-2:] == [
        "Unhealthy: Liveness probe failed: broken\n",
        "Killing: Container main failed liveness probe",
    ]
    terminated = life.container["state"]["terminated"]
    assert (terminated["exitCode"], terminated["finishedAt"]) == (137, "2030-01-01T00:00:05Z")
    assert life.pod["status"]["phase"] == "Failed"


def test_a_probe_that_succeeds_is_not_computed_again_until_something_changes() -> None:
    life = Life({"readinessProbe": exec_probe("cat", "/tmp/x"), "command": shell("touch /tmp/x; sleep 600")}).run(1)
    assert [worker.next_at for worker in life.prober.workers.values()] == [None]
    life.prober.retry()
    states = ContainerStates()
    began = parse_time(life.container["state"]["running"]["startedAt"])
    states.record(life.pod, "main", 0, began, [FileWrite(2.0, "", "/tmp/x", None)])
    life.states = states
    assert life.run(30).ready == [(0.0, True), (31.0, False)]


def test_after_a_restart_of_the_kubelet_a_container_stays_ready_until_its_probe_fails() -> None:
    probe = exec_probe("cat", "/tmp/x", periodSeconds=5, failureThreshold=2)
    life = Life({"readinessProbe": probe, "command": shell("touch /tmp/x; sleep 20; rm /tmp/x; sleep 600")}).run(19)
    life.prober = PodProber()
    assert life.run(30).ready == [(0.0, True), (29.0, False)]
