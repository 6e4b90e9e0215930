import pytest

from mockkube.api.kinds.core.pod.defaults import (
    aggregate_container_resources,
    default_pod_level_resources,
    default_pod_level_resources_after_admission,
)


def containers(*resources):
    return [{"name": f"c{n}", "resources": one} for n, one in enumerate(resources)]


def defaulted(resources, **spec):
    spec["resources"] = resources
    default_pod_level_resources(spec)
    return resources


def test_a_pod_requests_what_its_containers_do_and_else_its_limit():
    resources = defaulted(
        {"limits": {"cpu": "2", "memory": "1Gi", "hugepages-2Mi": "4Mi"}},
        containers=containers({"requests": {"cpu": "100m"}}, {"requests": {"cpu": "150m"}}),
    )
    assert resources["requests"] == {"cpu": "250m", "memory": "1Gi", "hugepages-2Mi": "4Mi"}


def test_requests_that_were_made_stay():
    resources = defaulted({"limits": {"cpu": "2"}, "requests": {"cpu": "1"}}, containers=containers())
    assert resources["requests"] == {"cpu": "1"}


def test_without_limits_nothing_is_requested():
    assert defaulted({"requests": {"cpu": "1"}}, containers=containers({"requests": {"memory": "1Gi"}})) == {
        "requests": {"cpu": "1"}
    }


def test_a_pod_that_names_nothing_is_left_alone():
    assert defaulted({}, containers=containers({"limits": {"hugepages-2Mi": "2Mi"}})) == {}


def test_huge_pages_of_containers_are_a_limit_of_the_pod():
    resources = defaulted(
        {"requests": {"cpu": "1"}},
        containers=containers({"limits": {"hugepages-2Mi": "2Mi", "cpu": "3"}}, {"limits": {"hugepages-2Mi": "4Mi"}}),
    )
    assert resources["limits"] == {"hugepages-2Mi": "6Mi"}
    assert resources["requests"] == {"cpu": "1", "hugepages-2Mi": "6Mi"}


def test_huge_pages_that_are_requested_get_no_limit():
    resources = {"requests": {"hugepages-2Mi": "2Mi"}}
    assert "limits" not in defaulted(resources, containers=containers({"limits": {"hugepages-2Mi": "2Mi"}}))


def test_resources_a_pod_cannot_have_are_not_requested():
    resources = defaulted(
        {"limits": {"cpu": "1"}}, containers=containers({"requests": {"example.com/gpu": "1", "cpu": "1"}})
    )
    assert resources["requests"] == {"cpu": "1"}


@pytest.mark.parametrize(
    ("running", "starting", "total"),
    [
        pytest.param(["1", "2"], [], "3", id="running containers add up"),
        pytest.param(["1"], [("5", None)], "5", id="an init container needs more"),
        pytest.param(["4"], [("1", None), ("2", None)], "4", id="init containers run one by one"),
        pytest.param(["1"], [("2", "Always")], "3", id="a sidecar keeps running"),
        pytest.param(["1"], [("2", "Always"), ("5", None)], "7", id="an init container beside a sidecar"),
        pytest.param(["1"], [("5", None), ("2", "Always")], "5", id="a sidecar that starts later"),
    ],
)
def test_a_pod_needs_what_runs_at_once(running, starting, total):
    spec = {
        "containers": containers(*({"requests": {"cpu": cpu}} for cpu in running)),
        "initContainers": [
            {"resources": {"requests": {"cpu": cpu}}, **({"restartPolicy": policy} if policy else {})}
            for cpu, policy in starting
        ],
    }
    assert str(aggregate_container_resources(spec, "requests")["cpu"]) == total


LIMITED = {"requests": {"cpu": "1", "memory": "100Mi"}, "limits": {"cpu": "2", "memory": "200Mi"}}


# upstream 1.37: test/integration/pods/pods_test.go, with PodLevelResourcesFixDefaulting
@pytest.mark.parametrize(
    ("of_pod", "of_containers", "expected"),
    [
        pytest.param({}, [LIMITED], {}, id="no pod-level resources"),
        pytest.param(
            {"requests": {"cpu": "2"}, "limits": {"cpu": "2"}},
            [LIMITED],
            {"requests": {"cpu": "2", "memory": "100Mi"}, "limits": {"cpu": "2", "memory": "200Mi"}},
            id="memory at container level only",
        ),
        pytest.param(
            {"requests": {"cpu": "3"}},
            [{"limits": {"cpu": "2"}}],
            {"requests": {"cpu": "3"}, "limits": {"cpu": "3"}},
            id="a limit is never below the request",
        ),
        pytest.param(
            {"requests": {"cpu": "3"}},
            [{"limits": {"cpu": "2"}}, {"limits": {"cpu": "2"}}],
            {"requests": {"cpu": "3"}, "limits": {"cpu": "4"}},
            id="limits of containers add up",
        ),
        pytest.param(
            {"requests": {"cpu": "3"}},
            [{"limits": {"cpu": "2"}}, {}],
            {"requests": {"cpu": "3"}},
            id="a container without a limit",
        ),
        pytest.param(
            {"requests": {"cpu": "1"}},
            [{"requests": {"memory": "100Mi"}}],
            {"requests": {"cpu": "1", "memory": "100Mi"}},
            id="memory is requested by a container",
        ),
        pytest.param(
            {"limits": {"cpu": "2"}},
            [{}],
            {"requests": {"cpu": "2"}, "limits": {"cpu": "2"}},
            id="a limit is requested",
        ),
    ],
)
def test_resources_of_the_pod_after_admission(of_pod, of_containers, expected):
    spec = {"resources": of_pod, "containers": containers(*of_containers)}
    default_pod_level_resources_after_admission(spec)
    assert spec["resources"] == expected
