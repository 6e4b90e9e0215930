"""A pod's life, played step by step: each plan's status is what the next one reads."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from mockkube.kubelet.containers.hook_runner import HookRunner
from mockkube.kubelet.containers.image_puller import ImagePuller
from mockkube.kubelet.pods.pod_lifecycle import sync_pod
from mockkube.kubelet.pods.pod_status import PodStatusRules
from mockkube.kubelet.pods.sync_result import PodSyncInput, SyncResult
from mockkube.kubelet.pods.termination import reject_pod

NOW = datetime(2030, 1, 1, tzinfo=UTC)
HOST = PodSyncInput("172.18.0.2", "10.244.0.2", PodStatusRules(), names_container_in_events=False)


def pod(annotations: dict[str, str] | None = None, owner: str = "", **spec: Any) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": "p", "namespace": "ns", "uid": "u1", "generation": 1}
    metadata["annotations"] = annotations or {}
    if owner:
        metadata["ownerReferences"] = [{"kind": owner, "name": "o", "uid": "u0"}]
    containers = spec.pop("containers", [{"name": "main", "image": "nginx"}])
    status = {"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "True"}]}
    return {"metadata": metadata, "spec": {"containers": containers, "nodeName": "n1", **spec}, "status": status}


class Life:
    """A pod and the moment: `tick` lets the kubelet act once and stores what it says."""

    def __init__(self, obj: dict[str, Any]) -> None:
        self.pod = obj
        self.now = NOW
        # Each life is one of another kubelet, which remembers nothing of the others.
        self.sync_input = replace(HOST, images=ImagePuller(), hooks=HookRunner())
        self.reasons: list[str] = []

    def tick(self, seconds: float = 0) -> SyncResult:
        self.now += timedelta(seconds=seconds)
        what = sync_pod(self.pod, self.sync_input, self.now)
        self.reasons += [note.reason for note in what.events]
        if what.status is not None:
            stored = {**self.pod["status"], **what.status}
            conditions = {one["type"]: one for one in self.pod["status"].get("conditions", ())}
            conditions |= {one["type"]: {k: v for k, v in one.items() if v is not None} for one in stored["conditions"]}
            self.pod = {**self.pod, "status": {**stored, "conditions": list(conditions.values())}}
        return what

    def settle(self, ticks_max: int = 20) -> SyncResult:
        for _ in range(ticks_max):
            what = self.tick()
            if what.delete or (what.status is None and (what.next_sync_at is None or what.next_sync_at > self.now)):
                return what
        raise AssertionError("no rest")

    @property
    def phase(self) -> str:
        return str(self.pod["status"]["phase"])

    def condition(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = next(one for one in self.pod["status"]["conditions"] if one["type"] == name)
        return found

    def container(self, name: str = "main") -> dict[str, Any]:
        status = self.pod["status"]
        every = [*status.get("initContainerStatuses", ()), *status["containerStatuses"]]
        found: dict[str, Any] = next(one for one in every if one["name"] == name)
        return found

    def delete(self, grace_seconds: int = 30) -> None:
        gone = (self.now + timedelta(seconds=grace_seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")
        marks = {"deletionTimestamp": gone, "deletionGracePeriodSeconds": grace_seconds}
        self.pod = {**self.pod, "metadata": {**self.pod["metadata"], **marks}}


def test_a_pod_is_first_shown_as_being_created() -> None:
    life = Life(pod())
    life.tick()
    assert (life.phase, life.container()["state"]) == ("Pending", {"waiting": {"reason": "ContainerCreating"}})
    assert life.condition("Ready")["message"] == "containers with unready status: [main]"
    assert [one["type"] for one in life.pod["status"]["conditions"]] == [
        "PodScheduled", "PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady",
    ]  # fmt: skip
    assert "podIP" not in life.pod["status"]


def test_a_pod_runs_and_is_ready() -> None:
    life = Life(pod())
    life.settle()
    assert (life.phase, life.condition("Ready")["status"]) == ("Running", "True")
    assert life.pod["status"]["podIP"] == "10.244.0.2"
    assert life.container()["imageID"].startswith("docker.io/library/nginx@sha256:")
    assert life.reasons == ["Pulled", "Created", "Started"]


def test_a_pod_on_the_host_network_has_the_addresses_of_its_node() -> None:
    life = Life(pod(hostNetwork=True))
    life.tick()
    assert life.pod["status"]["podIPs"] == [{"ip": "172.18.0.2"}]


def test_a_pod_waits_for_its_start() -> None:
    life = Life(pod({"mockkube.dev/start-delay": "3s"}))
    assert life.settle().next_sync_at == NOW + timedelta(seconds=3)
    life.tick(3)
    assert life.phase == "Running"


def test_init_containers_run_before_the_others() -> None:
    initial = [{"name": "first", "image": "i"}, {"name": "second", "image": "i"}]
    life = Life(pod({"mockkube.dev/exit": "first=0@5s"}, initContainers=initial))
    life.settle()
    assert life.container("main")["state"] == {"waiting": {"reason": "PodInitializing"}}
    assert life.condition("Initialized")["message"] == "containers with incomplete status: [first second]"
    assert life.phase == "Pending"
    life.tick(5)
    life.settle()
    assert (life.phase, life.condition("Initialized")["status"]) == ("Running", "True")
    assert life.container("second")["state"]["terminated"]["exitCode"] == 0


def test_a_failing_init_container_fails_a_pod_that_is_never_restarted() -> None:
    initial = [{"name": "first", "image": "i"}]
    life = Life(pod({"mockkube.dev/exit": "first=1"}, restartPolicy="Never", initContainers=initial))
    life.settle()
    assert life.phase == "Failed"
    assert life.container("main")["state"] == {"waiting": {"reason": "PodInitializing"}}


def test_a_failing_init_container_is_tried_again() -> None:
    initial = [{"name": "first", "image": "i"}]
    life = Life(pod({"mockkube.dev/exit": "first=1"}, restartPolicy="Always", initContainers=initial))
    life.settle()
    assert (life.phase, life.container("first")["restartCount"]) == ("Pending", 1)


def test_a_sidecar_keeps_running_beside_the_others() -> None:
    initial = [{"name": "side", "image": "i", "restartPolicy": "Always"}]
    life = Life(pod(initContainers=initial))
    life.settle()
    assert life.phase == "Running"
    assert "running" in life.container("side")["state"]


@pytest.mark.parametrize(
    ("policy", "code", "phase"),
    [
        pytest.param("Never", 0, "Succeeded", id="never-success"),
        pytest.param("Never", 1, "Failed", id="never-failure"),
        pytest.param("OnFailure", 0, "Succeeded", id="on-failure-success"),
        pytest.param("OnFailure", 1, "Running", id="on-failure-failure"),
        pytest.param("Always", 0, "Running", id="always-success"),
    ],
)
def test_the_phase_after_an_exit(policy: str, code: int, phase: str) -> None:
    life = Life(pod({"mockkube.dev/exit": f"{code}@2s"}, restartPolicy=policy))
    life.settle()
    assert life.phase == "Running"
    life.tick(2)
    assert life.phase == phase


def test_restarts_back_off_from_ten_seconds_on_doubling_each_time() -> None:
    life = Life(pod({"mockkube.dev/exit": "1"}))
    waits = []
    for _ in range(7):
        what = life.settle()
        assert what.next_sync_at is not None
        waits.append(int((what.next_sync_at - life.now).total_seconds()))
        life.tick(waits[-1])
    assert waits == [10, 20, 40, 80, 160, 300, 300]
    assert life.condition("Ready")["status"] == "False"


def test_a_container_that_waits_for_its_restart_says_so() -> None:
    life = Life(pod({"mockkube.dev/exit": "1"}))
    life.settle()
    waiting = life.container()["state"]["waiting"]
    assert waiting["message"] == "back-off 10s restarting failed container=main pod=p_ns(u1)"
    assert life.container()["lastState"]["terminated"]["exitCode"] == 1
    assert life.phase == "Running"


def test_the_containers_of_a_job_complete() -> None:
    life = Life(pod(owner="Job", restartPolicy="Never"))
    life.settle()
    life.tick(1)
    assert life.phase == "Succeeded"
    assert life.condition("Ready")["reason"] == "PodCompleted"


def test_a_pod_is_not_ready_while_a_readiness_gate_is_not() -> None:
    life = Life(pod(readinessGates=[{"conditionType": "x.io/ok"}]))
    life.settle()
    text = 'corresponding condition of pod readiness gate "x.io/ok" does not exist.'
    assert (life.condition("Ready")["message"], life.condition("ContainersReady")["status"]) == (text, "True")


def test_a_container_that_its_script_calls_unready_runs_unready() -> None:
    life = Life(pod({"mockkube.dev/unready": "main"}))
    life.settle()
    assert (life.phase, life.condition("Ready")["status"]) == ("Running", "False")


def test_an_image_that_cannot_be_pulled_keeps_the_pod_pending() -> None:
    life = Life(pod({"mockkube.dev/image-pull-error": "*"}))
    life.settle()
    assert (life.phase, life.container()["state"]["waiting"]["reason"]) == ("Pending", "ImagePullBackOff")
    assert life.container()["state"]["waiting"]["message"].startswith('Back-off pulling image "nginx": ErrImagePull: ')
    assert life.reasons == ["Pulling", "Failed", "Failed", "BackOff", "Failed"]


def waiting(life: Life) -> str:
    return str((life.container()["state"].get("waiting") or {}).get("reason"))


def test_a_failed_pull_is_repeated_with_backoff() -> None:
    life = Life(pod({"mockkube.dev/image-pull-error": "*"}))
    life.settle()
    life.reasons.clear()
    # Of ten minutes: when the image is pulled, and when the error becomes a backoff again.
    pulls: list[int] = []
    backs: list[int] = []
    elapsed = 0
    while elapsed < 600:
        before = waiting(life)
        due = life.tick().next_sync_at
        assert due is not None
        if waiting(life) != before:
            (pulls if waiting(life) == "ErrImagePull" else backs).append(elapsed)
            continue
        elapsed += round((due - life.now).total_seconds())
        life.now = due
    assert pulls == [10, 30, 70, 150, 310]
    assert backs == [20, 40, 80, 160, 320]
    assert life.reasons == ["Pulling", "Failed", "Failed", "BackOff", "Failed"] * 5


def test_the_backoff_has_a_maximum() -> None:
    life = Life(pod({"mockkube.dev/image-pull-error": "*"}))
    life.settle()
    for _ in range(20):
        due = life.tick().next_sync_at
        assert due is not None
        life.now = max(life.now, due)
    life.settle()
    due = life.tick().next_sync_at
    assert due is not None
    assert due - life.now <= timedelta(seconds=300)
    assert life.sync_input.images.failed["u1", "nginx"].backoff == timedelta(seconds=300)


def test_an_image_is_pulled_when_it_becomes_available() -> None:
    life = Life(pod({"mockkube.dev/image-pull-error": "*"}))
    life.settle()
    life.reasons.clear()
    life.pod["metadata"]["annotations"] = {}
    life.tick(9)
    assert waiting(life) == "ImagePullBackOff"
    life.tick(1)
    assert (life.phase, life.reasons) == ("Running", ["Pulling", "Pulled", "Created", "Started"])


def test_containers_of_a_pod_share_the_backoff_of_an_image() -> None:
    names = ("a", "b")
    life = Life(
        pod({"mockkube.dev/image-pull-error": "*"}, containers=[{"name": name, "image": "nginx"} for name in names])
    )
    life.settle()
    assert life.reasons.count("Pulling") == 1
    assert [life.container(name)["state"]["waiting"]["reason"] for name in names] == ["ImagePullBackOff"] * 2


def hooked(**lifecycle: Any) -> dict[str, Any]:
    return pod(containers=[{"name": "main", "image": "busybox", "command": ["sleep", "inf"], "lifecycle": lifecycle}])


@pytest.mark.parametrize(
    "hook",
    [
        pytest.param({"sleep": {"seconds": 5}}, id="sleep"),
        pytest.param({"exec": {"command": ["sh", "-c", "sleep 5"]}}, id="exec"),
    ],
)
def test_a_container_runs_once_its_post_start_hook_has_ended(hook: dict[str, Any]) -> None:
    life = Life(hooked(postStart=hook))
    life.settle()
    assert waiting(life) == "ContainerCreating"
    assert life.reasons == ["Pulled", "Created", "Started"]
    life.tick(4)
    assert waiting(life) == "ContainerCreating"
    life.tick(1)
    assert life.container()["state"] == {"running": {"startedAt": "2030-01-01T00:00:00Z"}}
    assert life.reasons == ["Pulled", "Created", "Started"]


def test_a_hook_of_an_unknown_program_has_no_effect() -> None:
    life = Life(hooked(postStart={"exec": {"command": ["/opt/register"]}}))
    life.settle()
    assert life.phase == "Running"


def test_a_post_start_hook_that_does_not_end_keeps_the_container_waiting() -> None:
    life = Life(hooked(postStart={"exec": {"command": ["sleep", "inf"]}}))
    assert life.settle().next_sync_at is None
    assert waiting(life) == "ContainerCreating"


def test_a_container_is_killed_if_its_post_start_hook_fails() -> None:
    script = "sleep 2; echo no >&2; exit 3"
    life = Life(hooked(postStart={"exec": {"command": ["sh", "-c", script]}}))
    life.settle()
    life.tick(2)
    state = life.container()
    assert state["state"]["waiting"] == {
        "reason": "PostStartHookError",
        "message": f'Exec lifecycle hook ([sh -c {script}]) for Container "main" in Pod "p_ns(u1)" failed '
        f"- error: command 'sh -c {script}' exited with 3: no\n, message: \"no\\n\"",
    }
    assert (state["lastState"]["terminated"]["exitCode"], state["restartCount"]) == (137, 0)
    assert life.reasons[-2:] == ["FailedPostStartHook", "Killing"]
    # The first restart comes at once, and has a hook of its own.
    life.settle()
    life.tick(2)
    assert (waiting(life), life.container()["restartCount"]) == ("PostStartHookError", 1)
    life.settle()
    assert waiting(life) == "CrashLoopBackOff"


def test_a_failed_post_start_hook_ends_a_container_that_does_not_restart() -> None:
    obj = hooked(postStart={"exec": {"command": ["false"]}})
    obj["spec"]["restartPolicy"] = "Never"
    life = Life(obj)
    life.settle()
    assert (life.phase, life.container()["state"]["terminated"]["exitCode"]) == ("Failed", 137)


@pytest.mark.parametrize(
    ("hook", "grace_seconds", "seconds"),
    [
        pytest.param({"sleep": {"seconds": 5}}, 30, 5, id="sleep"),
        pytest.param({"exec": {"command": ["sleep", "7"]}}, 30, 7, id="exec"),
        pytest.param({"sleep": {"seconds": 60}}, 30, 30, id="longer than the grace period"),
        pytest.param({"exec": {"command": ["sleep", "inf"]}}, 3, 3, id="without an end"),
        pytest.param({"sleep": {"seconds": 5}}, 0, 0, id="without a grace period"),
    ],
)
def test_a_pre_stop_hook_delays_the_end_of_a_pod(hook: dict[str, Any], grace_seconds: int, seconds: int) -> None:
    life = Life(hooked(preStop=hook))
    life.settle()
    life.delete(grace_seconds)
    if seconds:
        assert life.tick().next_sync_at == life.now + timedelta(seconds=seconds)
        life.tick(seconds - 1)
        assert "running" in life.container()["state"]
        life.tick(1)
    else:
        life.tick()
    assert (life.phase, life.container()["state"]["terminated"]["exitCode"]) == ("Succeeded", 0)


def test_a_pre_stop_hook_that_fails_is_reported() -> None:
    life = Life(hooked(preStop={"exec": {"command": ["false"]}}))
    life.settle()
    life.delete()
    life.tick()
    assert life.reasons[-2:] == ["Killing", "FailedPreStopHook"]
    assert "terminated" in life.container()["state"]


def test_a_hook_over_http_fails_if_nothing_listens() -> None:
    server = {
        "name": "main",
        "image": "registry.k8s.io/e2e-test-images/agnhost:2.53",
        "args": ["netexec", "--http-port=80"],
    }
    for port, reason in ((80, "None"), (81, "CrashLoopBackOff")):
        life = Life(pod(containers=[{**server, "lifecycle": {"postStart": {"httpGet": {"port": port, "path": "/x"}}}}]))
        life.settle()
        assert waiting(life) == reason


def test_the_name_of_an_image_decides_unless_an_annotation_does() -> None:
    missing = [{"name": "main", "image": "foo:non-existent"}]
    for annotations, reason in (({}, "waiting"), ({"mockkube.dev/image-pull-error": ""}, "running")):
        life = Life(pod(annotations, containers=missing))
        life.settle()
        assert list(life.container()["state"]) == [reason]


def test_an_image_that_is_never_pulled_waits_without_backoff() -> None:
    life = Life(pod(containers=[{"name": "main", "image": "foo:404", "imagePullPolicy": "Never"}]))
    life.settle()
    assert life.container()["state"]["waiting"]["reason"] == "ErrImageNeverPull"
    assert life.reasons == ["ErrImageNeverPull", "Failed"]


def test_an_unreadable_annotation_is_told_of_and_passed_over() -> None:
    life = Life(pod({"mockkube.dev/exit": "soon", "mockkube.dev/start-delay": "x"}))
    life.settle()
    assert life.reasons[:2] == ["InvalidAnnotation", "InvalidAnnotation"]
    assert life.phase == "Running"


def test_a_pod_that_is_deleted_stops_then_goes() -> None:
    life = Life(pod())
    life.settle()
    life.delete()
    life.tick()
    assert (life.phase, life.container()["state"]["terminated"]["reason"]) == ("Succeeded", "Completed")
    assert life.tick().delete
    assert life.reasons[-1] == "Killing"


def test_a_pod_that_never_started_goes_as_failed() -> None:
    life = Life(pod({"mockkube.dev/start-delay": "60s"}))
    life.settle()
    life.delete()
    life.tick()
    assert (life.phase, life.container()["state"]["terminated"]["exitCode"]) == ("Failed", 137)


def test_a_container_slower_than_its_grace_period_is_killed() -> None:
    life = Life(pod({"mockkube.dev/stop-delay": "60s"}))
    life.settle()
    life.delete(grace_seconds=5)
    assert life.tick().next_sync_at == life.now + timedelta(seconds=5)
    life.tick(5)
    assert (life.phase, life.container()["state"]["terminated"]["exitCode"]) == ("Failed", 137)


def test_a_pod_that_was_deleted_while_the_clock_was_ahead_does_not_wait_for_that_time() -> None:
    life = Life(pod({"mockkube.dev/stop-delay": "20s"}))
    life.settle()
    life.delete(grace_seconds=30)
    life.now -= timedelta(days=10)
    life.tick()
    assert "terminated" in life.container()["state"]


def test_a_pod_over_its_deadline_fails() -> None:
    life = Life(pod(activeDeadlineSeconds=10))
    assert life.settle().next_sync_at == NOW + timedelta(seconds=10)
    life.tick(10)
    assert (life.phase, life.pod["status"]["reason"]) == ("Failed", "DeadlineExceeded")


def test_a_finished_pod_is_left_alone() -> None:
    life = Life(pod(restartPolicy="Never", containers=[{"name": "main", "image": "i"}]))
    life.pod["status"] |= {"phase": "Succeeded"}
    assert life.tick() == SyncResult()


def test_a_refused_pod_fails_with_the_reason() -> None:
    what = reject_pod(pod(), "NodeAffinity", "no", NOW)
    assert what.status == {
        "phase": "Failed",
        "reason": "NodeAffinity",
        "message": "Pod was rejected: no",
        "startTime": "2030-01-01T00:00:00Z",
        "conditions": [{"$patch": "delete", "type": "PodScheduled"}],
    }


_INITIAL = [{"name": "first", "image": "i"}, {"name": "second", "image": "i"}]
_SIDECAR = [{"name": "beside", "image": "i", "restartPolicy": "Always"}, {"name": "second", "image": "i"}]


@pytest.mark.parametrize("policy", ["Always", "OnFailure", "Never"])
@pytest.mark.parametrize("seconds", [0, 1, 15, 45])
@pytest.mark.parametrize(
    ("annotations", "initial"),
    [
        pytest.param({"mockkube.dev/start-delay": "1m"}, [], id="not started"),
        pytest.param({"mockkube.dev/start-delay": "1m"}, _INITIAL, id="not started, with init containers"),
        pytest.param({"mockkube.dev/exit": "main=1"}, [], id="CrashLoopBackOff"),
        pytest.param({"mockkube.dev/image-pull-error": "main"}, [], id="ImagePullBackOff"),
        pytest.param({"mockkube.dev/image-pull-error": "main"}, _INITIAL, id="ImagePullBackOff after init"),
        pytest.param({"mockkube.dev/image-pull-error": "first"}, _INITIAL, id="Init:ImagePullBackOff"),
        pytest.param({"mockkube.dev/image-pull-error": "second"}, _INITIAL, id="Init:ImagePullBackOff of the second"),
        pytest.param({"mockkube.dev/exit": "first=1"}, _INITIAL, id="Init:CrashLoopBackOff"),
        pytest.param({"mockkube.dev/exit": "second=1"}, _INITIAL, id="Init:CrashLoopBackOff of the second"),
        pytest.param({"mockkube.dev/exit": "first=0@1h"}, _INITIAL, id="PodInitializing"),
        pytest.param({"mockkube.dev/exit": "beside=1"}, _SIDECAR, id="a sidecar in CrashLoopBackOff"),
        pytest.param({"mockkube.dev/exit": "second=1"}, _SIDECAR, id="Init:CrashLoopBackOff beside a sidecar"),
        pytest.param({"mockkube.dev/image-pull-error": "beside"}, _SIDECAR, id="a sidecar in ImagePullBackOff"),
    ],
)
def test_a_pod_is_deleted_in_whatever_state_it_waits(
    annotations: dict[str, str], initial: list[Any], seconds: float, policy: str
) -> None:
    life = Life(pod(annotations, restartPolicy=policy, **({"initContainers": initial} if initial else {})))
    for _ in range(int(seconds)):
        life.tick(1)
        life.settle()
    life.delete()
    assert life.settle().delete
    assert life.phase in ("Failed", "Succeeded")


def test_containers_that_never_started_keep_waiting_in_a_deleted_pod() -> None:
    life = Life(pod({"mockkube.dev/exit": "first=1"}, restartPolicy="Always", initContainers=_INITIAL))
    life.settle()
    life.delete()
    assert life.settle().delete
    assert life.phase == "Failed"
    assert life.container("first")["state"]["terminated"]["exitCode"] == 1
    assert life.container("second")["state"] == {"waiting": {"reason": "PodInitializing"}}
    assert life.container("main")["state"] == {"waiting": {"reason": "PodInitializing"}}
