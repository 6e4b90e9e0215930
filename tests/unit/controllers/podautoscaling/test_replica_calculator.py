"""Replicas by metrics; what upstream's replica_calculator_test.go expects of each case, in numbers of our own."""

from datetime import UTC, datetime, timedelta

import pytest

from mockkube.controllers.podautoscaling.pod_metrics import MetricsError, PodMetric
from mockkube.controllers.podautoscaling.replica_calculator import (
    PodMetrics,
    PodRules,
    Tolerances,
    calculate_requests,
    propose_by_average,
    propose_by_utilization,
    propose_by_value,
    propose_by_value_per_pod,
)

NOW = datetime(2030, 1, 1, 12, tzinfo=UTC)
TOLERANCES = Tolerances(0.1, 0.1)


def ago(seconds):
    return (NOW - timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


def pod(index, state="ready", started=600):
    """Return a pod: ready, pending, failed, deleted or not ready since its start or since a minute ago."""
    metadata = {"name": f"p{index}", **({"deletionTimestamp": ago(1)} if state == "deleted" else {})}
    phase = {"pending": "Pending", "failed": "Failed"}.get(state, "Running")
    ready = "False" if state.startswith("unready") else "True"
    since = ago(started) if state == "unready-since-start" else ago(min(started, 60))
    conditions = [{"type": "Ready", "status": ready, "lastTransitionTime": since}]
    resources = {"requests": {"cpu": "1", "memory": "1Ki"}}
    spec = {"containers": [{"name": "a", "resources": resources}, {"name": "b", "resources": resources}]}
    return {
        "metadata": metadata,
        "spec": spec,
        "status": {"phase": phase, "startTime": ago(started), "conditions": conditions},
    }


def measure(values, pods, resource="cpu"):
    """Return the metrics of pods; None for a pod without any."""
    known = {f"p{index}": PodMetric(value, NOW, 30) for index, value in enumerate(values) if value is not None}
    rules = PodRules(NOW, timedelta(minutes=2), timedelta(seconds=10), resource)
    return PodMetrics(pods, known, rules)


def by_utilization(values, target, states=None, *, current=None, started=600, tolerances=TOLERANCES, resource="cpu"):
    pods = [pod(index, state, started) for index, state in enumerate(states or ["ready"] * len(values))]

    def requests():
        return calculate_requests(pods, resource, "", pod_level=False)

    count = len(pods) if current is None else current
    return propose_by_utilization(measure(values, pods, resource), count, target, requests, tolerances)


@pytest.mark.parametrize(
    ("values", "target", "replicas", "utilization"),
    [
        ([600, 1000, 1400], 30, 5, 50),  # up: 50 % of 2 cores with a target of 30 %
        ([200, 200, 200], 50, 1, 10),
        ([1000, 1000, 1000], 50, 3, 50),
        ([1090, 1090, 1090], 50, 3, 54),  # within the tolerance
        ([1120, 1120, 1120], 50, 4, 56),
        ([920, 920, 920], 50, 3, 46),
        ([880, 880, 880], 50, 3, 44),  # outside of it, and rounded up again
        ([40, 0], 1, 2, 1),  # percentages are cut, so 1 %
    ],
)
def test_replicas_follow_the_utilization(values, target, replicas, utilization):
    proposal = by_utilization(values, target)
    assert (proposal.replicas, proposal.utilization) == (replicas, utilization)
    assert proposal.usage == sum(values) // len(values)


@pytest.mark.parametrize(
    ("values", "states", "target", "replicas"),
    [
        # Scaling up, pods that are not ready count with no usage ...
        ([None, 1400, 1400], ["pending", "ready", "ready"], 30, 5),
        ([1000, 1400, 1400], ["unready-since-start", "ready", "ready"], 30, 5),
        ([None, None, 800], ["pending", "pending", "ready"], 30, 3),  # ... even if nothing is left of it
        # Scaling down, they are left out.
        ([None, 200, 200], ["pending", "ready", "ready"], 50, 1),
        # Pods that end or failed never count.
        ([2000, 800, 800], ["deleted", "ready", "ready"], 20, 4),
        ([2000, 800, 800], ["failed", "ready", "ready"], 20, 4),
        # Pods without metrics count with none when scaling up, with all they request when scaling down.
        ([None, 1600, 1600], ["ready"] * 3, 40, 4),
        ([None, 200, 200], ["ready"] * 3, 50, 3),
        ([None, 20, 20, 20], ["ready"] * 4, 50, 2),
        # What is unknown does not turn the direction around.
        ([None, None, 1200], ["ready"] * 3, 50, 3),
        ([None, None, 900], ["ready"] * 3, 50, 3),
    ],
)
def test_pods_that_do_not_count_dampen_the_change(values, states, target, replicas):
    assert by_utilization(values, target, states).replicas == replicas


@pytest.mark.parametrize(
    ("state", "started", "resource", "replicas"),
    [
        ("ready", 600, "cpu", 4),
        ("ready", 20, "cpu", 2),  # no whole window of metrics since it became ready
        ("unready", 600, "cpu", 4),  # was ready before
        ("unready-since-start", 600, "cpu", 2),  # never was
        ("unready", 100, "cpu", 2),
        ("unready-since-start", 600, "memory", 4),  # only CPU is used up by a start
    ],
)
def test_usage_during_the_start_of_pods_is_ignored(state, started, resource, replicas):
    values = [4000, 4000] if resource == "cpu" else [4096000, 4096000]
    pods = [pod(0), pod(1, state, started)]

    def requests():
        return calculate_requests(pods, resource, "", pod_level=False)

    measured = measure(values, pods, resource)
    assert propose_by_utilization(measured, 2, 100, requests, TOLERANCES).replicas == replicas


def test_each_direction_has_its_tolerance():
    assert by_utilization([1200, 1200], 50, tolerances=Tolerances(0.1, 0.3)).replicas == 2
    assert by_utilization([1200, 1200], 50, tolerances=Tolerances(0.3, 0.1)).replicas == 3
    assert by_utilization([1000, 1000, 1000], 60, tolerances=Tolerances(0.0, 0.1)).replicas == 3
    assert by_utilization([400] * 4, 30, tolerances=Tolerances(0.4, 0.1)).replicas == 4
    assert by_utilization([400] * 4, 30, tolerances=Tolerances(0.2, 0.1)).replicas == 3


@pytest.mark.parametrize(
    ("values", "states", "text"),
    [
        ([], [], "no pods returned by selector while calculating replica count"),
        ([5, 5], ["deleted", "failed"], "did not receive metrics for targeted pods (pods might be unready)"),
        ([None], ["pending"], "did not receive metrics for targeted pods (pods might be unready)"),
    ],
)
def test_without_pods_or_metrics_there_is_no_result(values, states, text):
    with pytest.raises(MetricsError) as failed:
        by_utilization(values, 50, states)
    assert str(failed.value) == text


def test_replicas_follow_an_average():
    pods = [pod(index) for index in range(3)]
    assert propose_by_average(measure([20000, 10000, 30000], pods), 3, 15000, TOLERANCES).replicas == 4
    assert propose_by_average(measure([None, 10000, 10000], pods, ""), 3, 20000, TOLERANCES).replicas == 2
    assert propose_by_average(measure([None, 40000, 40000], pods, ""), 3, 20000, TOLERANCES).replicas == 4
    # The pod without a metric counts as on target.
    assert propose_by_average(measure([None, 1, 1], pods, ""), 3, 20000, TOLERANCES).replicas == 2


def test_replicas_follow_a_value_of_the_workload():
    pods = [pod(0), pod(1), pod(2, "unready"), pod(3, "pending")]
    assert propose_by_value(40000, 20000, 4, pods, TOLERANCES).replicas == 4
    assert propose_by_value(60000, 20000, 4, pods, TOLERANCES).replicas == 6
    assert propose_by_value(21000, 20000, 4, pods, TOLERANCES).replicas == 4
    assert propose_by_value(60000, 20000, 0, [], TOLERANCES).replicas == 3
    assert propose_by_value(2**62, 1, 4, pods, TOLERANCES).replicas == 2**31 - 1
    with pytest.raises(MetricsError, match="unable to calculate ready pods"):
        propose_by_value(60000, 20000, 4, [], TOLERANCES)


def test_replicas_follow_a_value_per_replica():
    proposal = propose_by_value_per_pod(9000, 2000, 3, TOLERANCES)
    assert (proposal.replicas, proposal.usage) == (5, 3000)
    assert propose_by_value_per_pod(6100, 2000, 3, TOLERANCES).replicas == 3
    assert propose_by_value_per_pod(9000, 2000, 0, TOLERANCES).replicas == 5
    assert propose_by_value_per_pod(0, 2000, 0, TOLERANCES).replicas == 0


def test_requests_are_those_of_all_containers_of_one_or_of_the_pod():
    def request(spec, container="", *, pod_level=True):
        pods = [{"metadata": {"name": "p"}, "spec": spec}]
        return calculate_requests(pods, "cpu", container, pod_level=pod_level)["p"]

    containers = [
        {"name": "a", "resources": {"requests": {"cpu": "100m"}}},
        {"name": "b", "resources": {"requests": {"cpu": "1"}}},
    ]
    sidecar = {"name": "s", "restartPolicy": "Always", "resources": {"requests": {"cpu": "50m"}}}
    init = {"name": "i", "resources": {"requests": {"cpu": "8"}}}
    assert request({"containers": containers, "initContainers": [sidecar, init]}) == 1150
    assert request({"containers": containers}, "b") == 1000
    whole = {"containers": containers, "resources": {"requests": {"cpu": "3"}}}
    assert (request(whole), request(whole, "a"), request(whole, pod_level=False)) == (3000, 100, 1100)
    with pytest.raises(MetricsError, match="missing request for cpu in container c of Pod p"):
        request({"containers": [*containers, {"name": "c"}]})
    with pytest.raises(MetricsError, match="container x not found in Pod p"):
        request({"containers": containers}, "x")
