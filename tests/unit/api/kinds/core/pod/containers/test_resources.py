"""Requests, limits and claims."""

import pytest

from mockkube.api.kinds.core.pod.containers.resources import (
    validate_container_resources,
    validate_pod_resources,
    validate_resource_quantity,
)


def judge(claims=(), check=validate_container_resources, **resources):
    return [str(error) for error in check(resources, "r", claims)]


@pytest.mark.parametrize(
    ("resources", "says"),
    [
        pytest.param({"limits": {"cpu": "1"}, "requests": {"cpu": "1"}}, [], id="as much as the limit"),
        pytest.param(
            {"limits": {"cpu": "1"}, "requests": {"cpu": "2"}},
            ['r.requests: Invalid value: "2": must be less than or equal to cpu limit of 1'],
            id="more than the limit",
        ),
        pytest.param(
            {"requests": {"memory": "-1"}},
            ['r.requests[memory]: Invalid value: "-1": must be greater than or equal to 0'],
            id="negative",
        ),
        pytest.param(
            {"limits": {"odd": "1"}},
            [
                'r.limits[odd]: Invalid value: "odd": must be a standard resource type or fully qualified',
                'r.limits[odd]: Invalid value: "odd": must be a standard resource for containers',
            ],
            id="unknown resource",
        ),
        pytest.param(
            {"limits": {"storage": "1"}},
            ['r.limits[storage]: Invalid value: "storage": must be a standard resource for containers'],
            id="resource of something else",
        ),
        pytest.param(
            {"limits": {"requests.a.b/c": "1"}},
            [
                'r.limits[requests.a.b/c]: Invalid value: "requests.a.b/c": '
                "doesn't follow extended resource name standard"
            ],
            id="reserved for quotas",
        ),
        pytest.param(
            {"limits": {"a.b/c": "1500m"}, "requests": {"a.b/c": "1500m"}},
            [
                'r.limits[a.b/c]: Invalid value: "1500m": must be an integer',
                'r.requests[a.b/c]: Invalid value: "1500m": must be an integer',
            ],
            id="part of a thing",
        ),
        pytest.param(
            {"requests": {"a.b/c": "1"}},
            ["r.limits: Required value: Limit must be set for non overcommitable resources"],
            id="thing without a limit",
        ),
        pytest.param(
            {"limits": {"a.b/c": "2"}, "requests": {"a.b/c": "1"}},
            ['r.requests: Invalid value: "1": must be equal to a.b/c limit of 2'],
            id="things are not overcommitted",
        ),
        pytest.param(
            {"limits": {"hugepages-2Mi": "3Mi"}},
            [
                'r.limits[hugepages-2Mi]: Invalid value: "3Mi": 3Mi is not positive integer multiple of hugepages-2Mi',
                "r: Forbidden: HugePages require cpu or memory",
            ],
            id="half a huge page, alone",
        ),
    ],
)
def test_resources_of_a_container(resources, says):
    assert judge(**resources) == says


def test_half_a_huge_page_stays_where_it_was_stored():
    resources = {"limits": {"hugepages-2Mi": "3Mi", "cpu": "1"}}
    assert validate_container_resources(resources, "r", ()) != []
    assert validate_container_resources(resources, "r", (), allow_indivisible=True) == []


def test_a_pod_as_a_whole_has_few_resources():
    assert judge(check=validate_pod_resources, limits={"ephemeral-storage": "1"}) == [
        'r.limits[ephemeral-storage]: Unsupported value: "ephemeral-storage": '
        'supported values: "cpu", "hugepages-", "memory"'
    ]


@pytest.mark.parametrize(
    ("claims", "says"),
    [
        pytest.param([{"name": "a"}], [], id="known"),
        pytest.param([{}], ["r.claims[0]: Required value"], id="no name"),
        pytest.param([{"name": "a"}, {"name": "a"}], ['r.claims[1]: Duplicate value: "a"'], id="twice"),
        pytest.param(
            [{"name": "a", "request": "x"}, {"name": "a"}],
            ['r.claims[1]: Duplicate value: "a"'],
            id="a part, then the whole",
        ),
        pytest.param([{"name": "a", "request": "x"}, {"name": "a", "request": "y"}], [], id="two parts"),
        pytest.param(
            [{"name": "b"}],
            ['r.claims[0]: Not found: "b": must be one of the names in pod.spec.resourceClaims: a'],
            id="unknown",
        ),
    ],
)
def test_claims_of_a_container(claims, says):
    assert [str(error) for error in validate_container_resources({"claims": claims}, "r", {"a"})] == says


def test_a_claim_of_a_pod_without_claims_is_told_so():
    (error,) = validate_container_resources({"claims": [{"name": "a"}]}, "r", ())
    assert error.detail.endswith("which is empty")


def test_parts_of_a_byte_are_only_warned_of():
    assert validate_resource_quantity("memory", "100m", "r") == []
