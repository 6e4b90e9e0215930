from datetime import UTC, datetime

import pytest

from mockkube.api.json_objects import Object
from mockkube.api.kinds.batch.cron_job import CRON_JOB
from mockkube.api.kinds.batch.job import JOB

NOW = datetime(2026, 3, 14, 12, 0, 0, tzinfo=UTC)
META = {"name": "sum", "creationTimestamp": "2026-03-14T11:00:00Z"}


def held(*kinds: str) -> Object:
    return {"conditions": [{"type": kind, "status": "True"} for kind in kinds]}


@pytest.mark.parametrize(
    ("status", "deleting", "word"),
    [
        pytest.param({}, False, "Running", id="just under way"),
        pytest.param(held("SuccessCriteriaMet", "Complete"), True, "Complete", id="complete, although going away"),
        pytest.param(held("FailureTarget", "Failed"), False, "Failed", id="failed"),
        pytest.param(held("Suspended"), True, "Terminating", id="going away while suspended"),
        pytest.param(held("Suspended"), False, "Suspended", id="suspended"),
        pytest.param(held("FailureTarget"), False, "FailureTarget", id="about to fail"),
        pytest.param(held("SuccessCriteriaMet"), False, "SuccessCriteriaMet", id="about to succeed"),
        pytest.param({"conditions": [{"type": "Complete", "status": "False"}]}, False, "Running", id="not complete"),
    ],
)
def test_the_status_of_a_job_is_its_weightiest_condition(status: Object, deleting: bool, word: str) -> None:
    meta = {**META, "deletionTimestamp": "2026-03-14T11:59:00Z"} if deleting else META
    assert JOB.row({"metadata": meta, "spec": {}, "status": status}, NOW).cells[1] == word


@pytest.mark.parametrize(
    ("spec", "shown"),
    [
        pytest.param({"completions": 5, "parallelism": 2}, "2/5", id="a number asked for"),
        pytest.param({"parallelism": 3}, "2/1 of 3", id="a work queue"),
        pytest.param({"parallelism": 1}, "2/1", id="one worker"),
        pytest.param({}, "2/1", id="nothing asked for"),
    ],
)
def test_completions_are_told_of_all_it_takes(spec: Object, shown: str) -> None:
    assert JOB.row({"metadata": META, "spec": spec, "status": {"succeeded": 2}}, NOW).cells[2] == shown


@pytest.mark.parametrize(
    ("status", "shown"),
    [
        pytest.param({}, "", id="not started"),
        pytest.param({"startTime": "2026-03-14T11:58:30Z"}, "90s", id="running"),
        pytest.param(
            {"startTime": "2026-03-14T11:00:00Z", "completionTime": "2026-03-14T11:00:42Z"}, "42s", id="complete"
        ),
    ],
)
def test_the_duration_of_a_job_ends_with_it(status: Object, shown: str) -> None:
    assert JOB.row({"metadata": META, "spec": {}, "status": status}, NOW).cells[3] == shown


def test_a_job_shows_what_it_runs() -> None:
    spec = {
        "template": {"spec": {"containers": [{"name": "c", "image": "i"}]}},
        "selector": {"matchLabels": {"job": "sum"}},
    }
    assert JOB.row({"metadata": META, "spec": spec}, NOW).cells[4:] == ["60m", "c", "i", "job=sum"]


def test_a_cron_job_shows_its_schedule_and_the_last_time() -> None:
    spec = {
        "schedule": "*/5 * * * *",
        "timeZone": "Etc/UTC",
        "suspend": False,
        "jobTemplate": {"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "i"}]}}}},
    }
    status = {"active": [{"name": "sum-1"}], "lastScheduleTime": "2026-03-14T11:55:00Z"}
    cells = CRON_JOB.row({"metadata": META, "spec": spec, "status": status}, NOW).cells
    assert cells == ["sum", "*/5 * * * *", "Etc/UTC", "False", 1, "5m", "60m", "c", "i", "<none>"]


def test_a_cron_job_says_what_is_not_set() -> None:
    cells = CRON_JOB.row({"metadata": META, "spec": {"schedule": "@daily"}}, NOW).cells
    assert cells == ["sum", "@daily", "<none>", "<unset>", 0, "<none>", "60m", "", "", "<none>"]
