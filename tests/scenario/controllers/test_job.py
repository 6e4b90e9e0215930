"""Jobs against a server in memory, in virtual time; the test is their kubelet."""

import pytest

from mockkube.client.protocol import DELETE_DEFAULT, DeleteOptions, Key, Propagation

NAME = "job-controller"
TRACKING = "batch.kubernetes.io/job-tracking"
TEMPLATE = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
INDEXED = {"completionMode": "Indexed"}


async def make(sim, **spec):
    await sim.create("Job", "j", spec={"template": TEMPLATE, **spec})


async def pods(sim):
    """Return the names of the pods that run or wait to."""
    every = await sim.all("Pod")
    return [
        pod["metadata"]["name"]
        for pod in every
        if pod["status"]["phase"] in ("Pending", "Running") and "deletionTimestamp" not in pod["metadata"]
    ]


async def end(sim, name, phase, code=0):
    """Let a pod end."""
    now = sim.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")
    state = {"terminated": {"exitCode": code, "finishedAt": now}}
    containers = [{"name": "c", "image": "i", "imageID": "", "ready": False, "restartCount": 0, "state": state}]
    await sim.status("Pod", name, {"phase": phase, "containerStatuses": containers})


async def end_all(sim, phase, code=0):
    for name in await pods(sim):
        await end(sim, name, phase, code)


async def status(sim):
    return (await sim.get("Job", "j"))["status"]


async def conditions(sim):
    return {
        one["type"]: one.get("reason") for one in (await status(sim)).get("conditions", ()) if one["status"] == "True"
    }


async def by_index(sim):
    every = await sim.all("Pod")
    running = await pods(sim)
    return {
        int(pod["metadata"]["annotations"]["batch.kubernetes.io/job-completion-index"]): pod
        for pod in every
        if pod["metadata"]["name"] in running
    }


async def test_a_job_runs_its_pods_to_their_end_and_says_so(sim):
    await sim.start(NAME)
    await make(sim, completions=3, parallelism=2)
    assert len(await pods(sim)) == 2
    pod = (await sim.all("Pod"))[0]
    assert pod["metadata"]["finalizers"] == [TRACKING]
    assert pod["metadata"]["generateName"] == "j-"
    await sim.advance(1)
    assert (await status(sim))["active"] == 2
    await end_all(sim, "Succeeded")
    await sim.advance(1)
    assert len(await pods(sim)) == 1
    await end_all(sim, "Succeeded")
    await sim.advance(2)
    final = await status(sim)
    assert (final["succeeded"], final.get("active"), final["ready"], final["terminating"]) == (3, None, 0, 0)
    assert final["uncountedTerminatedPods"] == {}
    assert final["completionTime"] == "2030-01-01T00:00:03Z"
    assert await conditions(sim) == {"SuccessCriteriaMet": "CompletionsReached", "Complete": "CompletionsReached"}
    assert [pod["metadata"].get("finalizers") for pod in await sim.all("Pod")] == [None] * 3
    assert [reason for reason, _, _ in await sim.events("j")] == ["SuccessfulCreate"] * 3 + ["Completed"]


async def test_changes_of_pods_are_seen_to_once_a_second(sim):
    await sim.start(NAME)
    await make(sim)
    await sim.advance(5)
    await end_all(sim, "Succeeded")
    await sim.advance(0.9)
    assert "succeeded" not in await status(sim)
    await sim.advance(0.1)
    assert (await status(sim))["succeeded"] == 1


async def test_a_failed_pod_is_replaced_ever_later(sim):
    await sim.start(NAME)
    await make(sim, backoffLimit=6)
    await sim.advance(1)
    for wait in (10, 20, 40):
        await end_all(sim, "Failed", 1)
        await sim.advance(wait - 0.1)
        assert await pods(sim) == []
        await sim.advance(0.1)
        assert len(await pods(sim)) == 1
    assert (await status(sim))["failed"] == 3


async def test_a_job_fails_when_too_many_pods_have(sim):
    await sim.start(NAME)
    await make(sim, backoffLimit=1, completions=2, parallelism=2)
    await sim.advance(1)
    await end_all(sim, "Failed", 1)
    await sim.advance(2)
    assert await conditions(sim) == {"FailureTarget": "BackoffLimitExceeded", "Failed": "BackoffLimitExceeded"}
    assert (await status(sim))["failed"] == 2
    assert ("BackoffLimitExceeded", "Job has reached the specified backoff limit", 1) in await sim.events("j")


async def test_restarts_in_place_count_towards_the_limit(sim):
    await sim.start(NAME)
    template = {"spec": {**TEMPLATE["spec"], "restartPolicy": "OnFailure"}}
    await make(sim, template=template, backoffLimit=2)
    (name,) = await pods(sim)
    containers = [{"name": "c", "image": "i", "imageID": "", "ready": True, "restartCount": 2, "state": {}}]
    await sim.status("Pod", name, {"phase": "Running", "containerStatuses": containers})
    await sim.advance(1)
    assert await conditions(sim) == {"FailureTarget": "BackoffLimitExceeded"}


async def test_what_runs_of_a_failed_job_is_deleted_and_it_ends_when_that_is_gone(sim):
    await sim.start(NAME)
    await sim.node("n")
    template = {"spec": {**TEMPLATE["spec"], "nodeName": "n"}}
    await make(sim, template=template, activeDeadlineSeconds=30)
    (name,) = await pods(sim)
    await sim.status("Pod", name, {"phase": "Running"})
    await sim.advance(29)
    assert await pods(sim) == [name]
    await sim.advance(2)
    assert await conditions(sim) == {"FailureTarget": "DeadlineExceeded"}
    assert (await status(sim))["terminating"] == 1
    await sim.delete("Pod", name)
    await sim.advance(2)
    assert await conditions(sim) == {"FailureTarget": "DeadlineExceeded", "Failed": "DeadlineExceeded"}


async def test_a_pod_that_goes_counts_as_failed_at_once_unless_the_job_says_otherwise(sim):
    await sim.start(NAME)
    await sim.node("n")
    template = {"spec": {**TEMPLATE["spec"], "nodeName": "n"}}
    await make(sim, template=template, completions=2, parallelism=1)
    (name,) = await pods(sim)
    await sim.status("Pod", name, {"phase": "Running"})
    await sim.client.delete("Pod", Key("default", name), DELETE_DEFAULT)
    await sim.advance(1)
    assert ((await status(sim))["failed"], await pods(sim)) == (1, [])
    await sim.advance(10)
    assert len(await pods(sim)) == 1


async def test_with_policy_failed_a_pod_is_replaced_when_it_is_over(sim):
    await sim.start(NAME)
    await sim.node("n")
    template = {"spec": {**TEMPLATE["spec"], "nodeName": "n"}}
    await make(sim, template=template, podReplacementPolicy="Failed")
    (name,) = await pods(sim)
    await sim.status("Pod", name, {"phase": "Running"})
    await sim.client.delete("Pod", Key("default", name), DELETE_DEFAULT)
    await sim.advance(25)
    assert ((await status(sim)).get("failed", 0), await pods(sim)) == (0, [])
    await end(sim, name, "Failed", 143)
    await sim.advance(11)
    assert ((await status(sim))["failed"], len(await pods(sim))) == (1, 1)


async def test_a_suspended_job_has_no_pods_and_starts_anew_when_it_goes_on(sim):
    await sim.start(NAME)
    await make(sim, suspend=True)
    assert (await pods(sim), "startTime" in await status(sim)) == ([], False)
    assert await conditions(sim) == {"Suspended": "JobSuspended"}
    await sim.advance(60)
    await sim.merge("Job", "j", {"spec": {"suspend": False}})
    assert len(await pods(sim)) == 1
    assert (await status(sim))["startTime"] == "2030-01-01T00:01:00Z"
    await sim.merge("Job", "j", {"spec": {"suspend": True}})
    assert await pods(sim) == []
    assert {reason: count for reason, _, count in await sim.events("j")} == {
        "Suspended": 2,
        "SuccessfulCreate": 1,
        "Resumed": 1,
        "SuccessfulDelete": 1,
    }
    await sim.advance(2)
    assert "failed" not in await status(sim)


async def test_fewer_pods_run_when_less_is_to_be_done_at_once(sim):
    await sim.start(NAME)
    await make(sim, completions=5, parallelism=5)
    await sim.advance(1)
    await sim.merge("Job", "j", {"spec": {"parallelism": 2}})
    assert len(await pods(sim)) == 2
    await sim.advance(2)
    assert ((await status(sim))["active"], (await status(sim)).get("failed")) == (2, None)


async def test_without_completions_the_first_success_is_the_last_start(sim):
    await sim.start(NAME)
    await make(sim, parallelism=3)
    first, *others = await pods(sim)
    await end(sim, first, "Succeeded")
    await sim.advance(2)
    assert sorted(await pods(sim)) == sorted(others)
    await end_all(sim, "Failed", 1)
    await sim.advance(2)
    assert (await conditions(sim))["Complete"] == "CompletionsReached"


async def test_an_indexed_job_has_one_pod_per_index(sim):
    await sim.start(NAME)
    await make(sim, completions=4, parallelism=3, **INDEXED)
    running = await by_index(sim)
    assert list(running) == [0, 1, 2]
    pod = running[1]
    assert (pod["metadata"]["generateName"], pod["spec"]["hostname"]) == ("j-1-", "j-1")
    assert pod["metadata"]["labels"]["batch.kubernetes.io/job-completion-index"] == "1"
    (variable,) = pod["spec"]["containers"][0]["env"]
    assert variable["name"] == "JOB_COMPLETION_INDEX"
    for index in (0, 2):
        await end(sim, running[index]["metadata"]["name"], "Succeeded")
    await sim.advance(1)
    assert (await status(sim))["completedIndexes"] == "0,2"
    assert list(await by_index(sim)) == [1, 3]
    await end_all(sim, "Succeeded")
    await sim.advance(2)
    assert ((await status(sim))["completedIndexes"], (await status(sim))["succeeded"]) == ("0-3", 4)
    assert "Complete" in await conditions(sim)


async def test_an_index_fails_for_itself_and_the_job_when_all_are_through(sim):
    await sim.start(NAME)
    await make(sim, completions=2, parallelism=2, backoffLimitPerIndex=1, **INDEXED)
    await sim.advance(1)
    running = await by_index(sim)
    await end(sim, running[0]["metadata"]["name"], "Failed", 1)
    await end(sim, running[1]["metadata"]["name"], "Succeeded")
    await sim.advance(9.9)
    assert list(await by_index(sim)) == []
    await sim.advance(0.1)
    replacement = (await by_index(sim))[0]
    assert replacement["metadata"]["annotations"]["batch.kubernetes.io/job-index-failure-count"] == "1"
    await end(sim, replacement["metadata"]["name"], "Failed", 1)
    await sim.advance(3)
    assert (await status(sim))["failedIndexes"] == "0"
    assert await conditions(sim) == {"FailureTarget": "FailedIndexes", "Failed": "FailedIndexes"}
    assert ((await status(sim))["failed"], (await status(sim))["succeeded"]) == (2, 1)


async def test_a_job_fails_when_too_many_indexes_have(sim):
    await sim.start(NAME)
    await make(sim, completions=3, parallelism=3, backoffLimitPerIndex=0, maxFailedIndexes=0, **INDEXED)
    await end(sim, (await by_index(sim))[1]["metadata"]["name"], "Failed", 1)
    await sim.advance(3)
    assert (await conditions(sim))["Failed"] == "MaxFailedIndexesExceeded"
    assert await pods(sim) == []


@pytest.mark.parametrize(
    ("rule", "met"),
    [
        pytest.param({"succeededIndexes": "0"}, True, id="the indexes named"),
        pytest.param({"succeededIndexes": "0-2", "succeededCount": 1}, True, id="one of the indexes named"),
        pytest.param({"succeededCount": 2}, False, id="more than there are"),
    ],
)
async def test_a_job_may_be_through_when_its_policy_is_met(sim, rule, met):
    await sim.start(NAME)
    await make(sim, completions=3, parallelism=3, successPolicy={"rules": [rule]}, **INDEXED)
    await end(sim, (await by_index(sim))[0]["metadata"]["name"], "Succeeded")
    await sim.advance(3)
    assert ((await conditions(sim)).get("Complete") == "SuccessPolicy") is met
    assert (await status(sim)).get("failed", 0) == 0


FAIL = {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [42]}}
IGNORE = {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}


async def test_a_failure_may_end_the_job_at_once(sim):
    await sim.start(NAME)
    await make(sim, completions=2, parallelism=2, podFailurePolicy={"rules": [IGNORE, FAIL]})
    name = (await pods(sim))[0]
    await end(sim, name, "Failed", 42)
    await sim.advance(3)
    assert await conditions(sim) == {"FailureTarget": "PodFailurePolicy", "Failed": "PodFailurePolicy"}
    message = f"Container c for pod default/{name} failed with exit code 42 matching FailJob rule at index 1"
    assert ("PodFailurePolicy", message, 1) in await sim.events("j")


async def test_a_failure_may_be_ignored(sim):
    await sim.start(NAME)
    await make(sim, backoffLimit=0, podFailurePolicy={"rules": [IGNORE]})
    (name,) = await pods(sim)
    disrupted = {"type": "DisruptionTarget", "status": "True"}
    await sim.status("Pod", name, {"phase": "Failed", "conditions": [disrupted]})
    await sim.advance(12)
    assert ((await status(sim)).get("failed"), len(await pods(sim))) == (None, 1)


async def test_a_job_that_is_someone_elses_is_left_alone(sim):
    await sim.start(NAME)
    await make(sim, managedBy="example.com/other")
    assert (await pods(sim), await status(sim)) == ([], {})


async def test_refused_pods_are_tried_again_after_1_2_4_and_8_seconds(sim):
    await sim.create("ResourceQuota", "none", spec={"hard": {"pods": "0"}})
    await sim.status("ResourceQuota", "none", {"hard": {"pods": "0"}, "used": {"pods": "0"}})
    await sim.start(NAME)
    await make(sim, completions=10, parallelism=10)
    await sim.advance(20)
    assert sum(count for reason, _, count in await sim.events("j") if reason == "FailedCreate") == 5


async def test_pods_of_a_job_that_is_gone_are_let_go(sim):
    await sim.start(NAME)
    await make(sim, completions=2, parallelism=2)
    for pod in await sim.all("Pod"):
        assert pod["metadata"]["finalizers"] == [TRACKING]
    await sim.delete("Job", "j", options=DeleteOptions(propagation=Propagation.BACKGROUND))
    assert await sim.names("Job") == []
    await sim.advance(1)
    assert [pod["metadata"].get("finalizers") for pod in await sim.all("Pod")] == [None, None]


async def test_an_orphan_that_fits_is_adopted_and_tracked(sim):
    await sim.start(NAME)
    spec = {"selector": {"matchLabels": {"a": "b"}}, "manualSelector": True}
    template = {**TEMPLATE, "metadata": {"labels": {"a": "b"}}}
    await sim.pod("orphan", metadata={"labels": {"a": "b"}}, spec={"restartPolicy": "Never"})
    await make(sim, template=template, **spec)
    assert await pods(sim) == ["orphan"]
    orphan = await sim.get("Pod", "orphan")
    assert orphan["metadata"]["finalizers"] == [TRACKING]
    await end(sim, "orphan", "Succeeded")
    await sim.advance(2)
    assert "Complete" in await conditions(sim)


async def test_what_becomes_of_jobs_is_measured_under_upstream_s_names(sim):
    await sim.start(NAME)
    await make(sim, completions=1, backoffLimit=3, podFailurePolicy={"rules": [IGNORE]})
    disrupted = {"type": "DisruptionTarget", "status": "True"}
    await sim.status("Pod", (await pods(sim))[0], {"phase": "Failed", "conditions": [disrupted]})
    await sim.advance(11)
    await end_all(sim, "Succeeded")
    await sim.advance(3)

    def value(name, **labels):
        return sim.metrics.get_sample_value(f"job_controller_{name}", labels)

    mode = {"completion_mode": "NonIndexed"}
    assert value("jobs_finished_total", **mode, result="succeeded", reason="CompletionsReached") == 1
    assert value("job_pods_finished_total", **mode, result="succeeded") == 1
    assert value("pod_failures_handled_by_failure_policy_total", action="Ignore") == 1
    assert value("terminated_pods_tracking_finalizer_total", event="add") == 2
    assert value("terminated_pods_tracking_finalizer_total", event="delete") == 2
    assert value("job_syncs_total", **mode, result="success", action="pods_created") >= 2
    assert value("job_pods_creation_total", reason="new", status="succeeded") == 2
