"""Cron jobs against a server in memory, in virtual time; it is midnight, and the test is the jobs' controller."""

from datetime import UTC, datetime

import pytest

from mockkube.client.protocol import DeleteOptions, Propagation

NAME = "cronjob-controller"
TEMPLATE = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
MIDNIGHT_MINUTES = int(datetime(2030, 1, 1, tzinfo=UTC).timestamp()) // 60


async def make(sim, schedule="*/10 * * * *", **spec):
    job = {"metadata": {"labels": {"a": "b"}}, "spec": {"template": TEMPLATE}}
    await sim.create("CronJob", "c", spec={"schedule": schedule, "jobTemplate": job, **spec})


async def minutes(sim):
    """Return the minutes past midnight of the jobs there are."""
    return [int(name.removeprefix("c-")) - MIDNIGHT_MINUTES for name in await sim.names("Job")]


async def end(sim, minute, kind="Complete"):
    """Let the job of a minute end."""
    now = sim.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")
    before = {"Complete": "SuccessCriteriaMet", "Failed": "FailureTarget"}[kind]
    conditions = [{"type": one, "status": "True", "lastTransitionTime": now} for one in (before, kind)]
    ended = {"startTime": now, "conditions": conditions, **({"completionTime": now} if kind == "Complete" else {})}
    await sim.status("Job", f"c-{MIDNIGHT_MINUTES + minute}", ended)


async def status(sim):
    return (await sim.get("CronJob", "c"))["status"]


async def reasons(sim):
    return [reason for reason, _, _ in await sim.events("c")]


async def test_a_job_is_started_when_its_time_comes(sim):
    await sim.start(NAME)
    await make(sim)
    await sim.advance(600)
    assert await minutes(sim) == []
    await sim.advance(0.1)
    assert await minutes(sim) == [10]
    job = (await sim.all("Job"))[0]
    assert job["metadata"]["labels"]["a"] == "b"
    assert job["metadata"]["annotations"] == {"batch.kubernetes.io/cronjob-scheduled-timestamp": "2030-01-01T00:10:00Z"}
    (owner,) = job["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["controller"]) == ("CronJob", True)
    now = await status(sim)
    assert (now["lastScheduleTime"], [one["name"] for one in now["active"]]) == (
        "2030-01-01T00:10:00Z",
        [job["metadata"]["name"]],
    )
    assert await sim.events("c") == [("SuccessfulCreate", f"Created job {job['metadata']['name']}", 1)]
    await sim.advance(600)
    assert await minutes(sim) == [10, 20]


async def test_a_job_that_has_ended_is_active_no_more(sim):
    await sim.start(NAME)
    await make(sim)
    await sim.advance(601)
    await end(sim, 10)
    now = await status(sim)
    assert ("active" in now, now["lastSuccessfulTime"]) == (False, "2030-01-01T00:10:01Z")
    name = (await sim.names("Job"))[0]
    assert ("SawCompletedJob", f"Saw completed job: {name}, condition: Complete", 1) in await sim.events("c")


@pytest.mark.parametrize(
    ("policy", "expected", "reason"),
    [
        pytest.param("Allow", [10, 20], "SuccessfulCreate", id="side by side"),
        pytest.param("Forbid", [10], "JobAlreadyActive", id="not while another runs"),
        pytest.param("Replace", [20], "SuccessfulDelete", id="instead of the other"),
    ],
)
async def test_a_job_that_still_runs(sim, policy, expected, reason):
    await sim.start(NAME)
    await make(sim, concurrencyPolicy=policy)
    await sim.advance(1201)
    assert await minutes(sim) == expected
    assert reason in await reasons(sim)


async def test_a_job_that_was_held_up_is_started_when_the_other_has_ended(sim):
    await sim.start(NAME)
    await make(sim, concurrencyPolicy="Forbid")
    await sim.advance(1300)
    await end(sim, 10)
    assert await minutes(sim) == [10, 20]


async def test_only_so_many_jobs_that_have_ended_are_kept(sim):
    await sim.start(NAME)
    await make(sim, successfulJobsHistoryLimit=1, failedJobsHistoryLimit=0)
    for minute, kind in ((10, "Complete"), (20, "Failed"), (30, "Complete")):
        await sim.advance(601 if minute == 10 else 600)
        await end(sim, minute, kind)
    assert await minutes(sim) == [30]


async def test_a_suspended_cron_job_starts_nothing_and_then_the_last_it_missed(sim):
    await sim.start(NAME)
    await make(sim, suspend=True)
    await sim.advance(1900)
    assert await minutes(sim) == []
    await sim.merge("CronJob", "c", {"spec": {"suspend": False}})
    assert await minutes(sim) == [30]


async def test_what_is_missed_for_too_long_is_not_started(sim):
    await make(sim, startingDeadlineSeconds=60)
    await sim.advance(700)
    await sim.start(NAME)
    assert await minutes(sim) == []
    await sim.advance(501)
    assert await minutes(sim) == [20]


async def test_missing_very_much_is_told(sim):
    await make(sim, "* * * * *")
    await sim.advance(6 * 3600 + 1)
    await sim.start(NAME)
    assert await minutes(sim) == [360]
    assert "TooManyMissedTimes" in await reasons(sim)


async def test_the_time_zone_decides_when_and_what_the_job_is_told(sim):
    await sim.start(NAME)
    await make(sim, "30 6 * * *", timeZone="Asia/Kolkata")
    await sim.advance(3601)
    (job,) = await sim.all("Job")
    stamp = "2030-01-01T06:30:00+05:30"
    assert job["metadata"]["annotations"]["batch.kubernetes.io/cronjob-scheduled-timestamp"] == stamp


async def test_another_schedule_counts_from_now_on(sim):
    await sim.start(NAME)
    await make(sim, "0 12 * * *")
    await sim.advance(30)
    await sim.merge("CronJob", "c", {"spec": {"schedule": "* * * * *"}})
    assert await minutes(sim) == []
    await sim.advance(31)
    assert await minutes(sim) == [1]


async def test_a_schedule_that_never_strikes_is_told(sim):
    await sim.start(NAME)
    await make(sim, "0 0 31 2 *")
    text = "invalid schedule: 0 0 31 2 * : time difference between two schedules is less than 1 second"
    assert await sim.events("c") == [("InvalidSchedule", text, 1)]


async def test_an_active_job_that_is_gone_is_forgotten(sim):
    await sim.start(NAME)
    await make(sim)
    await sim.advance(601)
    await sim.delete("Job", (await sim.names("Job"))[0], options=DeleteOptions(propagation=Propagation.BACKGROUND))
    assert "MissingJob" in await reasons(sim)
    assert "active" not in await status(sim)


async def test_a_job_that_was_made_before_a_restart_is_not_made_twice(sim):
    await sim.start(NAME)
    await make(sim)
    await sim.advance(601)
    await sim.stop()
    await sim.merge("CronJob", "c", {"status": {"active": None, "lastScheduleTime": None}}, subresource="status")
    await sim.start(NAME)
    assert await minutes(sim) == [10]
    assert [one["name"] for one in (await status(sim))["active"]] == await sim.names("Job")
    assert "UnexpectedJob" in await reasons(sim)
