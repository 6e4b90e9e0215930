"""One object in several versions."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from mockkube.api.conversions import convert

CORE = {
    "kind": "Event",
    "apiVersion": "v1",
    "metadata": {"name": "a"},
    "involvedObject": {"kind": "Pod"},
    "message": "said",
    "reason": "Because",
    "source": {"component": "c"},
    "firstTimestamp": "2026-01-01T00:00:00Z",
    "lastTimestamp": None,
    "count": 3,
    "type": "Normal",
    "eventTime": None,
    "reportingComponent": "r",
    "reportingInstance": "i",
}


def test_most_kinds_differ_by_the_name_of_the_version_alone() -> None:
    obj = {"kind": "ServiceCIDR", "apiVersion": "networking.k8s.io/v1", "spec": {"cidrs": ["10.0.0.0/8"]}}
    converted = convert(obj, "networking.k8s.io/v1", "networking.k8s.io/v1beta1")
    assert converted == {**obj, "apiVersion": "networking.k8s.io/v1beta1"}
    assert obj["apiVersion"] == "networking.k8s.io/v1"


def test_an_event_of_the_core_has_other_names_in_its_own_group() -> None:
    assert convert(CORE, "v1", "events.k8s.io/v1") == {
        "kind": "Event",
        "apiVersion": "events.k8s.io/v1",
        "metadata": {"name": "a"},
        "regarding": {"kind": "Pod"},
        "note": "said",
        "reason": "Because",
        "deprecatedSource": {"component": "c"},
        "deprecatedFirstTimestamp": "2026-01-01T00:00:00Z",
        "deprecatedLastTimestamp": None,
        "deprecatedCount": 3,
        "type": "Normal",
        "eventTime": None,
        "reportingController": "r",
        "reportingInstance": "i",
    }


def test_an_event_that_was_born_in_its_group_is_whole_in_the_core() -> None:
    obj = {"kind": "Event", "apiVersion": "events.k8s.io/v1", "metadata": {"name": "a"}, "note": "said"}
    converted = convert(obj, "events.k8s.io/v1", "v1")
    assert converted["message"] == "said"
    assert (converted["involvedObject"], converted["source"]) == ({}, {})
    assert (converted["firstTimestamp"], converted["lastTimestamp"]) == (None, None)


@given(st.dictionaries(st.sampled_from([key for key in CORE if key not in ("kind", "apiVersion")]), st.integers()))
def test_an_event_comes_back_as_it_went(given_fields: dict[str, Any]) -> None:
    obj = {**CORE, **given_fields}
    assert convert(convert(obj, "v1", "events.k8s.io/v1"), "events.k8s.io/v1", "v1") == obj


def test_an_autoscaler_of_version_2_shows_its_cpu_target_in_version_1() -> None:
    cpu = {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 70}}
    spec = {"maxReplicas": 3, "metrics": [{"type": "Resource", "resource": cpu}]}
    obj = {"kind": "HorizontalPodAutoscaler", "apiVersion": "autoscaling/v2", "metadata": {"name": "a"}, "spec": spec}
    converted = convert(obj, "autoscaling/v2", "autoscaling/v1")
    assert converted["spec"] == {"maxReplicas": 3, "targetCPUUtilizationPercentage": 70}


def test_an_autoscaler_of_version_1_that_names_no_target_aims_at_four_fifths_of_the_processors() -> None:
    head = {"kind": "HorizontalPodAutoscaler", "metadata": {"name": "a"}}
    older = {**head, "apiVersion": "autoscaling/v1", "spec": {"maxReplicas": 3}}
    converted = convert(older, "autoscaling/v1", "autoscaling/v2")
    (metric,) = converted["spec"]["metrics"]
    assert metric["resource"]["target"] == {"type": "Utilization", "averageUtilization": 80}
    back = convert(converted, "autoscaling/v2", "autoscaling/v1")
    assert back["spec"]["targetCPUUtilizationPercentage"] == 80


def test_an_autoscaler_of_version_1_counts_replicas_that_version_2_leaves_out() -> None:
    cpu = {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 70}}
    spec = {"maxReplicas": 3, "metrics": [{"type": "Resource", "resource": cpu}]}
    head = {"kind": "HorizontalPodAutoscaler", "metadata": {"name": "a"}, "spec": spec}
    newer = {**head, "apiVersion": "autoscaling/v2", "status": {"desiredReplicas": 0}}
    older = convert(newer, "autoscaling/v2", "autoscaling/v1")
    assert older["status"] == {"currentReplicas": 0, "desiredReplicas": 0}
    assert convert(older, "autoscaling/v1", "autoscaling/v2") == newer
