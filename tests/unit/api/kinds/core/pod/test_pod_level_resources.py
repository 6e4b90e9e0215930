"""Resources of a pod as a whole."""

import pytest

from mockkube.api.kinds.core.pod.pod_level_resources import aggregate_container_resources, validate_pod_level_resources


def with_resources(requests, **more):
    return {"name": "c", "resources": {"requests": requests}, **more}


def test_a_windows_pod_has_no_resources_as_a_whole():
    spec = {"os": {"name": "windows"}, "resources": {"requests": {"cpu": "1"}}}
    errors = validate_pod_level_resources(spec, "spec", (), allow_indivisible=False)
    assert [str(error) for error in errors] == ["spec.resources: Forbidden: may not be set for a windows pod"]


def test_limits_of_huge_pages_cover_those_of_the_containers():
    spec = {
        "resources": {"limits": {"hugepages-2Mi": "2Mi", "cpu": "1"}},
        "containers": [{"resources": {"limits": {"hugepages-2Mi": "4Mi"}}}],
    }
    errors = validate_pod_level_resources(spec, "spec", (), allow_indivisible=False)
    assert [str(error) for error in errors] == [
        'spec.resources.limits[hugepages-2Mi]: Invalid value: "2Mi": '
        "must be greater than or equal to aggregate container limits of 4Mi",
        'spec.resources.containers[0][hugepages-2Mi].limits: Invalid value: "4Mi": '
        "must be less than or equal to pod limits of 2Mi",
    ]


@pytest.mark.parametrize(
    ("init", "total"),
    [
        pytest.param([], "1", id="no init containers"),
        pytest.param([with_resources({"cpu": "3"})], "3", id="one that needs more"),
        pytest.param([with_resources({"cpu": "500m"}, restartPolicy="Always")], "1500m", id="a sidecar"),
        pytest.param(
            [with_resources({"cpu": "1"}, restartPolicy="Always"), with_resources({"cpu": "3"})],
            "4",
            id="a sidecar before one that needs more",
        ),
        pytest.param(
            [with_resources({"cpu": "3"}), with_resources({"cpu": "1"}, restartPolicy="Always")],
            "3",
            id="a sidecar after it",
        ),
    ],
)
def test_containers_need_together_what_runs_at_once(init, total):
    spec = {"containers": [with_resources({"cpu": "1"})], "initContainers": init}
    assert str(aggregate_container_resources(spec, "requests")["cpu"]) == total
