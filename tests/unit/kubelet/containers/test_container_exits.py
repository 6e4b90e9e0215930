"""Who has the say about the end of a container: annotations, its command, what such containers do."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from mockkube.kubelet.containers.container_exits import make_exit_finder
from mockkube.kubelet.pods.pod_lifecycle import sync_pod
from mockkube.kubelet.pods.pod_status import PodStatusRules
from mockkube.kubelet.pods.sync_result import PodSyncInput
from mockkube.shell.containers.container_start import ContainerStart
from mockkube.shell.containers.container_states import ContainerStates

NOW = datetime(2030, 1, 1, tzinfo=UTC)
HOST = PodSyncInput("172.18.0.2", "10.244.0.2", PodStatusRules())
JOB = [{"kind": "Job", "name": "j", "uid": "u0"}]
SLEEP = ["sleep", "5"]
UNKNOWN = ["sh", "-c", "sleep 5; nginx"]


def after(seconds: int, pod: dict[str, Any]) -> dict[str, Any]:
    """Return the status of a pod that started at NOW, so long after."""
    for moment in (0, 0, seconds, seconds, seconds):
        status = sync_pod(pod, HOST, NOW + timedelta(seconds=moment)).status
        pod = pod if status is None else {**pod, "status": {**pod["status"], **status}}
    found: dict[str, Any] = pod["status"]
    return found


def pod_of(command: list[str], annotations: dict[str, str] | None = None, **more: Any) -> dict[str, Any]:
    main = {"name": "main", "image": "busybox", "command": command}
    metadata = {"name": "p", "namespace": "ns", "uid": "u1", "annotations": annotations or {}}
    owners = {"ownerReferences": more.pop("owners", [])}
    spec = {"containers": [main], "nodeName": "n1", "restartPolicy": "Never", **more}
    return {"metadata": {**metadata, **owners}, "spec": spec, "status": {"phase": "Pending"}}


@pytest.mark.parametrize(
    ("pod", "phase_soon", "phase_later"),
    [
        pytest.param(pod_of(SLEEP), "Running", "Succeeded", id="its command"),
        pytest.param(pod_of(SLEEP, owners=JOB), "Running", "Succeeded", id="its command in a job"),
        pytest.param(pod_of(["false"], owners=JOB), "Failed", "Failed", id="a command that fails"),
        pytest.param(pod_of(["nginx"], owners=JOB), "Running", "Succeeded", id="a job's, when nothing is said"),
        pytest.param(pod_of(["nginx"]), "Running", "Running", id="another's, when nothing is said"),
        pytest.param(pod_of(["false"], {"mockkube.dev/exit": "0@5s"}), "Running", "Succeeded", id="an annotation"),
        pytest.param(pod_of(["sleep", "1d"], owners=JOB), "Running", "Running", id="a job that takes long"),
        pytest.param(
            pod_of(["true"], initContainers=[{"name": "first", "image": "i", "command": SLEEP}]),
            "Pending",
            "Succeeded",
            id="an init container's command",
        ),
        pytest.param(
            pod_of(["true"], initContainers=[{"name": "first", "image": "i", "command": ["false"]}]),
            "Failed",
            "Failed",
            id="an init container that fails",
        ),
    ],
)
def test_pods_end_as_is_said(pod: dict[str, Any], phase_soon: str, phase_later: str) -> None:
    assert (after(0, pod)["phase"], after(6, pod)["phase"]) == (phase_soon, phase_later)


def test_a_job_goes_on_for_a_second_where_its_command_says_no_more() -> None:
    pod = pod_of(UNKNOWN, owners=JOB)
    assert (after(5, pod)["phase"], after(6, pod)["phase"]) == ("Running", "Succeeded")


def test_a_pod_that_ends_at_once_had_an_address() -> None:
    assert after(0, pod_of(["true"]))["podIP"] == "10.244.0.2"


def test_the_code_and_the_last_word_are_told() -> None:
    status = after(0, pod_of(["sh", "-c", "echo broken > /dev/termination-log; exit 42"]))
    terminated = status["containerStatuses"][0]["state"]["terminated"]
    assert (terminated["exitCode"], terminated["message"]) == (42, "broken\n")


def test_pods_of_a_node_share_its_directories() -> None:
    script = "if [ -r /data/foo ]; then exit 0; else touch /data/foo; exit 1; fi"
    mounts = [{"name": "data", "mountPath": "/data"}]
    container = {"name": "c", "image": "busybox", "command": ["sh", "-c", script], "volumeMounts": mounts}
    start = ContainerStart(states=ContainerStates())

    def end_of(uid: str, node: str, began: datetime) -> int | None:
        volumes = [{"name": "data", "hostPath": {"path": "/tmp/shared"}}]
        metadata = {"name": uid, "namespace": "ns", "uid": uid}
        pod = {"metadata": metadata, "spec": {"nodeName": node, "containers": [container], "volumes": volumes}}
        find_exit = make_exit_finder(pod, container, None, None, start)
        end = find_exit(0, began)
        # A container is looked at again and again, and finds no file of its own before it has written it.
        assert find_exit(0, began) == end
        return None if end is None else end.code

    later = NOW + timedelta(seconds=1)
    assert [end_of("u1", "n1", NOW), end_of("u2", "n1", later), end_of("u3", "n2", later)] == [1, 0, 1]
