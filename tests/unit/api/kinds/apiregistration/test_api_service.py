import pytest

from mockkube.api.kinds.apiregistration.api_service import APIServiceStrategy

STRATEGY = APIServiceStrategy()


def service(name="v1.a.b", **spec):
    own = {"group": "a.b", "version": "v1", "groupPriorityMinimum": 100, "versionPriority": 10}
    return {"metadata": {"name": name}, "spec": {**own, **spec}, "status": {}}


@pytest.mark.parametrize(
    ("obj", "complaints"),
    [
        pytest.param(service(), [], id="fine"),
        pytest.param(
            service("v2.a.b"),
            ['metadata.name: Invalid value: "v2.a.b": must be `spec.version+"."+spec.group`: "v1.a.b"'],
            id="name",
        ),
        pytest.param(service(""), [], id="no name: told for all kinds alike"),
        pytest.param(
            service(versionPriority=1001),
            ["spec.versionPriority: Invalid value: 1001: must be positive and less than 1000"],
            id="priority",
        ),
        pytest.param(
            service(insecureSkipTLSVerify=True),
            ["spec.insecureSkipTLSVerify: Invalid value: true: local APIServices may not have insecureSkipTLSVerify"],
            id="insecure but local",
        ),
        pytest.param(
            service(service={"name": "s", "port": 443}), ["spec.service.namespace: Required value"], id="nowhere"
        ),
    ],
)
def test_a_service_is_judged(judge, obj, complaints):
    assert [str(error) for error in STRATEGY.validate(obj, judge())] == complaints


def test_what_is_served_here_is_available(judge):
    obj = service()
    STRATEGY.prepare_for_create(obj, judge())
    assert obj["status"]["conditions"][0]["reason"] == "Local"
    obj = service(service={"name": "s", "namespace": "n"})
    STRATEGY.prepare_for_create(obj, judge())
    assert obj["status"] == {}
