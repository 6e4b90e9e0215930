import pytest

from mockkube.api.kinds.core.resource_quota import ResourceQuotaStrategy

STRATEGY = ResourceQuotaStrategy()


def quota(hard=None, **spec):
    return {"metadata": {"name": "q", "resourceVersion": "1"}, "spec": {"hard": hard or {}, **spec}, "status": {}}


@pytest.mark.parametrize(
    ("obj", "complaints"),
    [
        pytest.param(quota({"pods": "3", "requests.nvidia.com/gpu": "1"}), [], id="fine"),
        pytest.param(
            quota({"storage": "1"}),
            ['spec.hard[storage]: Invalid value: "storage": must be a standard resource for quota'],
            id="not for quotas",
        ),
        pytest.param(
            quota({"pods": "1500m"}), ['spec.hard[pods]: Invalid value: "1500m": must be an integer'], id="half a pod"
        ),
        pytest.param(
            quota({"secrets": "1"}, scopes=["BestEffort"]),
            ['spec.scopes: Invalid value: ["BestEffort"]: unsupported scope applied to resource'],
            id="scope that does not fit",
        ),
        pytest.param(
            quota(scopes=["Terminating", "NotTerminating"]),
            ['spec.scopes: Invalid value: ["Terminating","NotTerminating"]: conflicting scopes'],
            id="both at once",
        ),
    ],
)
def test_limits_and_scopes_are_judged(judge, obj, complaints):
    assert [str(error) for error in STRATEGY.validate(obj, judge())] == complaints


def test_a_selector_of_scopes_follows_its_operator(judge):
    each = {"scopeName": "PriorityClass", "operator": "In"}
    (error,) = STRATEGY.validate(quota(scopeSelector={"matchExpressions": [each]}), judge())
    assert error.field == "spec.scopeSelector.matchExpressions.values"


def test_scopes_never_change(judge):
    errors = STRATEGY.validate_update(quota(scopes=["BestEffort"]), quota(), judge())
    assert [str(error) for error in errors] == ['spec.scopes: Invalid value: ["BestEffort"]: field is immutable']


def test_a_status_is_written_with_a_version(judge):
    obj = quota()
    del obj["metadata"]["resourceVersion"]
    errors = STRATEGY.validate_update(obj, quota(), judge(subresource="status"))
    assert [str(error) for error in errors] == ["resourceVersion: Required value"]


def test_requests_above_limits_earn_a_warning(judge):
    obj = quota({"cpu": "3", "limits.cpu": "2"})
    assert STRATEGY.warnings_on_create(obj, judge()) == ["ResourceQuota cpu (3) should be less than limits.cpu (2)"]
