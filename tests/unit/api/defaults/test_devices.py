from copy import deepcopy

import pytest

from mockkube.api.kinds.resource import resource_claim, resource_pool_status_request, resource_slice
from mockkube.features.capabilities import Capabilities
from mockkube.features.versions import Version

CAPS = Capabilities()


@pytest.mark.parametrize(
    ("given", "filled"),
    [
        pytest.param({}, {"allocationMode": "ExactCount", "count": 1}, id="one"),
        pytest.param({"count": 2}, {"allocationMode": "ExactCount", "count": 2}, id="two"),
        pytest.param({"allocationMode": "All"}, {"allocationMode": "All"}, id="all"),
        pytest.param(
            {"tolerations": [{"key": "k"}, {"operator": "Exists"}]},
            {
                "allocationMode": "ExactCount",
                "count": 1,
                "tolerations": [{"key": "k", "operator": "Equal"}, {"operator": "Exists"}],
            },
            id="with tolerations",
        ),
    ],
)
def test_a_request_is_for_one_device(given, filled):
    claim = {"spec": {"devices": {"requests": [{"name": "r", "exactly": deepcopy(given)}]}}}
    resource_claim.default_resource_claim(claim, CAPS)
    assert claim["spec"]["devices"]["requests"] == [{"name": "r", "exactly": filled}]

    template = {"spec": {"spec": {"devices": {"requests": [{"name": "r", "firstAvailable": [deepcopy(given)]}]}}}}
    resource_claim.default_resource_claim_template(template, CAPS)
    assert template["spec"]["spec"]["devices"]["requests"] == [{"name": "r", "firstAvailable": [filled]}]


def test_in_beta_only_a_request_for_a_class_has_a_count():
    requests = [
        {"name": "a", "deviceClassName": "gpu", "tolerations": [{"key": "k"}]},
        {"name": "b", "firstAvailable": [{"deviceClassName": "gpu"}]},
    ]
    expected = [
        {
            "name": "a",
            "deviceClassName": "gpu",
            "allocationMode": "ExactCount",
            "count": 1,
            "tolerations": [{"key": "k", "operator": "Equal"}],
        },
        {"name": "b", "firstAvailable": [{"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1}]},
    ]
    resource_claim.default_resource_claim_v1beta1({"spec": {"devices": {"requests": requests}}}, CAPS)
    assert requests == expected
    resource_claim.default_resource_claim_template_v1beta1(
        {"spec": {"spec": {"devices": {"requests": requests}}}}, CAPS
    )
    assert requests == expected


@pytest.mark.parametrize(
    "default", [resource_claim.default_resource_claim, resource_claim.default_resource_claim_v1beta1]
)
def test_tolerations_of_what_was_allocated_have_an_operator(default):
    result = {"device": "d", "tolerations": [{"key": "k"}]}
    default({"spec": {}, "status": {"allocation": {"devices": {"results": [result]}}}}, CAPS)
    assert result["tolerations"] == [{"key": "k", "operator": "Equal"}]


@pytest.mark.parametrize(("version", "multiplier"), [(Version(1, 36), "1"), (Version(1, 37), None)])
def test_what_a_device_takes_counts_once(version, multiplier):
    flat, deep = {"cpu": {"capacityKey": "c"}}, {"cpu": {"capacityKey": "c"}}
    caps = Capabilities(version)
    resource_slice.default_slice({"spec": {"devices": [{"nodeAllocatableResourceMappings": flat}]}}, caps)
    resource_slice.default_slice_v1beta1(
        {"spec": {"devices": [{"basic": {"nodeAllocatableResourceMappings": deep}}, {}]}}, caps
    )
    assert flat["cpu"].get("allocationMultiplier") == deep["cpu"].get("allocationMultiplier") == multiplier


def test_a_hundred_pools_are_reported():
    obj = {"spec": {"driver": "d"}}
    resource_pool_status_request.default_pool_status_request(obj, CAPS)
    assert obj["spec"] == {"driver": "d", "limit": 100}
