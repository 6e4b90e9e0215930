import pytest

from mockkube.api.kinds.batch.job_status import validate_job_status


def job(*true, **status):
    conditions = [{"type": kind, "status": "True"} for kind in true]
    status = {"conditions": conditions, **status}
    return {"metadata": {"name": "j"}, "spec": {"completions": 3, "parallelism": 1}, "status": status}


START, END = "2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z"


@pytest.mark.parametrize(
    ("new", "old", "complaints"),
    [
        pytest.param(job("Complete", "SuccessCriteriaMet", startTime=START, completionTime=END), job(), [], id="done"),
        pytest.param(
            job("Complete", "SuccessCriteriaMet", startTime=START),
            job(),
            ["status.completionTime: Required value: completionTime is required for Complete jobs"],
            id="done without a time",
        ),
        pytest.param(
            job("Failed", startTime=START),
            job(),
            [
                "status.conditions: Invalid value: cannot set Failed=True condition without the FailureTarget=true "
                "condition"
            ],
            id="failed out of the blue",
        ),
        pytest.param(
            job(succeeded=1),
            job(succeeded=2),
            ["status.succeeded: Invalid value: 1: cannot decrease the succeeded counter"],
            id="fewer successes",
        ),
        pytest.param(
            job(startTime=START, completionTime=END),
            job(startTime=START),
            [
                f'status.completionTime: Invalid value: "{END}": cannot set completionTime when there is no '
                "Complete=True condition"
            ],
            id="a time without being done",
        ),
        pytest.param(
            job("Failed", "FailureTarget", startTime=START, active=1),
            job(),
            ["status.active: Invalid value: 1: active>0 is invalid for finished job"],
            id="failed and running",
        ),
        pytest.param(
            job(),
            job("Failed"),
            ["status.conditions: Invalid value: cannot disable the terminal Failed=True condition"],
            id="risen",
        ),
        pytest.param(
            job(active=1, ready=2),
            job(),
            ["status.ready: Invalid value: 2: cannot set more ready pods than active"],
            id="ready but not active",
        ),
    ],
)
def test_a_status_makes_sense(judge, new, old, complaints):
    assert [str(error) for error in validate_job_status(new, old, judge("JobManagedBy"))] == complaints


def test_without_the_gate_only_shapes_are_judged(judge):
    assert validate_job_status(job("Failed"), job(), judge("JobPodReplacementPolicy")) == []
