"""Where objects keep pods, tolerations and terms."""

import pytest

from mockkube.api.catalogue import POD_SPEC_PATHS
from mockkube.proposals.scheduling_fields import device_tolerations, node_affinity, pod_spec, tolerations


@pytest.mark.parametrize("kind", [kind for kind in POD_SPEC_PATHS if kind != "Pod"])
def test_the_pods_of_every_workload_are_found(workload, kind):
    spec = pod_spec(workload(kind, tolerations=[{"key": "a"}, {"key": "b"}]))
    assert [part.value["key"] for part in tolerations(spec)] == ["a", "b"]
    assert [part.at for part in tolerations(spec)] == [f"{spec.at}.tolerations[{i}]" for i in (0, 1)]


def test_other_kinds_have_no_pods():
    assert pod_spec({"kind": "Service", "spec": {}}) is None


def test_a_template_that_says_nothing_has_an_empty_spec():
    spec = pod_spec({"kind": "CronJob", "spec": {"jobTemplate": None}})
    assert (spec.at, spec.value) == ("spec.jobTemplate.spec.template.spec", {})
    assert node_affinity(spec).value == {}


@pytest.mark.parametrize(("kind", "at"), [("ResourceClaim", "spec"), ("ResourceClaimTemplate", "spec.spec")])
def test_tolerations_of_devices_are_found_in_every_request(kind, at):
    requests = [
        {"name": "a", "exactly": {"tolerations": [{"key": "x"}]}},
        {"name": "b", "firstAvailable": [{"name": "c"}, {"name": "d", "tolerations": [{"key": "y"}]}]},
    ]
    spec = {"devices": {"requests": requests}}
    obj = {"kind": kind, "spec": spec if at == "spec" else {"spec": spec}}
    assert [(part.at, part.value["key"]) for part in device_tolerations(obj)] == [
        (f"{at}.devices.requests[0].exactly.tolerations[0]", "x"),
        (f"{at}.devices.requests[1].firstAvailable[1].tolerations[0]", "y"),
    ]
