import pytest

from mockkube.api.kinds.batch.cron_job import CronJobStrategy

STRATEGY = CronJobStrategy()


def cron_job(name="c", **spec):
    container = {
        "name": "c",
        "image": "i",
        "imagePullPolicy": "Always",
        "terminationMessagePolicy": "File",
        "resources": {},
    }
    pod = {"restartPolicy": "OnFailure", "dnsPolicy": "ClusterFirst", "containers": [container]}
    pod["terminationGracePeriodSeconds"] = 30
    job = {"template": {"metadata": {}, "spec": pod}}
    fields = {"schedule": "* * * * *", "concurrencyPolicy": "Allow", "jobTemplate": {"spec": job}}
    return {"metadata": {"name": name, "namespace": "n"}, "spec": {**fields, **spec}, "status": {}}


@pytest.mark.parametrize(
    ("obj", "complaints"),
    [
        pytest.param(cron_job(), [], id="fine"),
        pytest.param(cron_job(schedule=""), ["spec.schedule: Required value"], id="no schedule"),
        pytest.param(
            cron_job(schedule="TZ=UTC * * * * *"),
            [
                'spec.schedule: Invalid value: "TZ=UTC * * * * *": cannot use TZ or CRON_TZ in schedule, use timeZone '
                "field instead"
            ],
            id="zone in the schedule",
        ),
        pytest.param(
            cron_job(timeZone="Odd/Zone"),
            ['spec.timeZone: Invalid value: "Odd/Zone": unknown time zone Odd/Zone'],
            id="unknown zone",
        ),
        pytest.param(
            cron_job(concurrencyPolicy="Odd"),
            ['spec.concurrencyPolicy: Unsupported value: "Odd": supported values: "Allow", "Forbid", "Replace"'],
            id="policy",
        ),
        pytest.param(
            cron_job("c" * 53),
            [f'metadata.name: Invalid value: "{"c" * 53}": must be no more than 52 characters'],
            id="name too long",
        ),
    ],
)
def test_fields_are_judged(judge, obj, complaints):
    assert [str(error) for error in STRATEGY.validate(obj, judge())] == complaints


def test_a_zone_that_was_in_the_schedule_may_stay(judge):
    obj = cron_job(schedule="TZ=UTC * * * * *")
    assert STRATEGY.validate_update(obj, obj, judge()) == []
    assert len(STRATEGY.warnings_on_update(obj, obj, judge())) == 1


def test_nobody_judges_the_status(judge):
    assert STRATEGY.validate_update(cron_job(schedule=""), cron_job(), judge(subresource="status")) == []
