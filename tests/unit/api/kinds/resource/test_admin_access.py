import pytest

from mockkube.api.kinds.resource.resource_claim import ResourceClaimStrategy, ResourceClaimTemplateStrategy

CLAIM, TEMPLATE = ResourceClaimStrategy(), ResourceClaimTemplateStrategy()
NAMESPACES = {"plain": {}, "admins": {"resource.kubernetes.io/admin-access": "true"}}
WHY = (
    "admin access to devices requires the `resource.kubernetes.io/admin-access: true` label on the containing namespace"
)


def asking(namespace, *, admin=True):
    exactly = {"deviceClassName": "c", "allocationMode": "ExactCount", "count": 1, "adminAccess": admin}
    spec = {"devices": {"requests": [{"name": "r", "exactly": exactly}]}}
    return {"metadata": {"name": "x", "namespace": namespace}, "spec": spec}


def granting(namespace, *, admin=True):
    result = {"request": "r", "driver": "d.example.com", "pool": "p", "device": "d", "adminAccess": admin}
    return {**asking(namespace), "status": {"allocation": {"devices": {"results": [result]}}}}


def template(claim):
    return {"metadata": claim["metadata"], "spec": {"spec": claim["spec"]}}


@pytest.mark.parametrize(
    ("claim", "errors"),
    [
        pytest.param(asking("admins"), [], id="labelled"),
        pytest.param(asking("plain", admin=False), [], id="not asked for"),
        pytest.param(asking("plain"), [f"spec.devices.requests[0].adminAccess: Forbidden: {WHY}"], id="not labelled"),
        pytest.param(
            asking("gone"),
            [
                "spec.devices.requests[0].adminAccess: Internal error: could not retrieve namespace to verify admin "
                'access: namespaces "gone" not found'
            ],
            id="no namespace",
        ),
    ],
)
def test_claims_and_templates_ask_for_it_only_where_the_namespace_allows(judge, claim, errors):
    judging = judge(namespaces=NAMESPACES)
    assert [str(error) for error in CLAIM.validate(claim, judging)] == errors
    assert [str(error) for error in TEMPLATE.validate(template(claim), judging)] == errors


@pytest.mark.parametrize(
    ("old", "new", "errors"),
    [
        pytest.param(asking("admins"), granting("admins"), [], id="labelled"),
        pytest.param(
            asking("plain"),
            granting("plain"),
            [f"status.allocation.devices.results[0].adminAccess: Forbidden: {WHY}"],
            id="not labelled",
        ),
        pytest.param(granting("plain"), granting("plain"), [], id="granted before"),
    ],
)
def test_it_is_granted_only_where_the_namespace_allows(judge, old, new, errors):
    found = CLAIM.validate_update(new, old, judge(subresource="status", namespaces=NAMESPACES))
    assert [str(error) for error in found] == errors
