"""The horizontal pod autoscaler against a server in memory, in virtual time; the test is deployments and kubelet."""

import pytest

from mockkube.controllers.framework.options import AutoscalingOptions, Options
from mockkube.controllers.framework.worker import ControllerWorker

CONTROLLER = "horizontal-pod-autoscaler-controller"
REQUESTS = {"requests": {"cpu": "1", "memory": "1Gi"}}
PODS_METRIC = {
    "type": "Pods",
    "pods": {"metric": {"name": "qps"}, "target": {"type": "AverageValue", "averageValue": "10"}},
}
EXTERNAL = {
    "type": "External",
    "external": {"metric": {"name": "queue"}, "target": {"type": "AverageValue", "averageValue": "5"}},
}
CPU = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}}


@pytest.fixture
def serves_metrics(request: pytest.FixtureRequest) -> bool:
    return getattr(request, "param", True)


async def make(sim, replicas=2, *, metrics=(PODS_METRIC,), kind="Deployment", annotations=None, **spec):
    """Create a workload and its autoscaler."""
    selector = {"matchLabels": {"app": "web"}}
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    await sim.create("Deployment", "web", spec={"replicas": replicas, "selector": selector, "template": template})
    await sim.status("Deployment", "web", {"replicas": replicas})
    reference = {"apiVersion": "apps/v1", "kind": kind, "name": "web"}
    fields = {"scaleTargetRef": reference, "minReplicas": 1, "maxReplicas": 10, "metrics": list(metrics), **spec}
    metadata = {"annotations": annotations or {}}
    await sim.create("HorizontalPodAutoscaler", "web", spec=fields, metadata=metadata)


async def run_pods(sim, *values):
    """Have one running pod for each value of the metric."""
    for pod in await sim.names("Pod"):
        await sim.delete("Pod", pod)
    now = sim.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")
    condition = {"type": "Ready", "status": "True", "lastTransitionTime": now}
    for index, value in enumerate(values):
        annotations = {"custom.metrics.mockkube.dev/qps": value} if value else {}
        metadata = {"labels": {"app": "web"}, "annotations": annotations}
        containers = [{"name": "c", "image": "i", "resources": REQUESTS}]
        await sim.pod(f"web-{index}", metadata=metadata, spec={"containers": containers})
        status = {"phase": "Running", "startTime": now, "conditions": [condition]}
        await sim.status("Pod", f"web-{index}", status)


async def replicas(sim):
    return (await sim.get("Deployment", "web"))["spec"].get("replicas", 0)


async def condition(sim, kind):
    conditions = (await sim.get("HorizontalPodAutoscaler", "web"))["status"].get("conditions", ())
    found = next((one for one in conditions if one["type"] == kind), None)
    return found and (found["status"], found["reason"])


async def test_a_workload_grows_with_its_metric_after_the_sync_period(sim):
    await sim.start(CONTROLLER)
    await make(sim)
    await run_pods(sim, "20", "20")
    await sim.advance(14)
    assert await replicas(sim) == 2
    await sim.advance(1)
    assert await replicas(sim) == 4
    stored = await sim.get("HorizontalPodAutoscaler", "web")
    assert (stored["status"]["currentReplicas"], stored["status"]["desiredReplicas"]) == (2, 4)
    current = {"metric": {"name": "qps"}, "current": {"averageValue": "20"}}
    assert stored["status"]["currentMetrics"] == [{"type": "Pods", "pods": current}]
    assert stored["status"]["lastScaleTime"] == stored["status"]["conditions"][0]["lastTransitionTime"]
    assert await condition(sim, "AbleToScale") == ("True", "SucceededRescale")
    assert await condition(sim, "ScalingActive") == ("True", "ValidMetricFound")
    assert await condition(sim, "ScalingLimited") == ("False", "DesiredWithinRange")
    events = await sim.events("web", "SuccessfulRescale")
    assert events == [("SuccessfulRescale", "New size: 4; reason: pods metric qps above target", 1)]


async def test_a_workload_shrinks_only_after_the_stabilization_window(sim):
    await sim.start(CONTROLLER)
    await make(sim, replicas=4)
    await run_pods(sim, "5", "5", "5", "5")
    await sim.advance(15)
    assert await condition(sim, "AbleToScale") == ("True", "ScaleDownStabilized")
    # The first recommendation is what the workload had when the controller saw it.
    await sim.advance(285)
    assert await replicas(sim) == 4
    await sim.advance(30)
    assert await replicas(sim) == 2
    assert (await sim.events("web", "SuccessfulRescale"))[0][1] == "New size: 2; reason: All metrics below target"


async def test_the_window_is_that_of_the_flag_or_of_the_behavior(sim):
    options = Options(autoscaling=AutoscalingOptions(downscale_stabilization_seconds=30))
    await sim.start(CONTROLLER, options=options)
    await make(sim, replicas=4)
    await run_pods(sim, "5", "5", "5", "5")
    await sim.advance(60)
    assert await replicas(sim) == 2
    await sim.merge(
        "HorizontalPodAutoscaler", "web", {"spec": {"behavior": {"scaleDown": {"selectPolicy": "Disabled"}}}}
    )
    await run_pods(sim, "1", "1")
    await sim.advance(120)
    assert await replicas(sim) == 2
    assert await condition(sim, "ScalingLimited") == ("True", "ScaleDownLimit")


async def test_policies_limit_how_fast_a_workload_grows(sim):
    policy = {"type": "Pods", "value": 1, "periodSeconds": 60}
    await sim.start(CONTROLLER)
    await make(sim, behavior={"scaleUp": {"policies": [policy]}})
    await run_pods(sim, "50", "50")
    await sim.advance(15)
    assert await replicas(sim) == 3
    assert await condition(sim, "ScalingLimited") == ("True", "ScaleUpLimit")
    await sim.advance(45)
    assert await replicas(sim) == 3
    await sim.advance(15)
    assert await replicas(sim) == 4


async def test_a_workload_out_of_bounds_is_moved_into_them_without_metrics(sim):
    await sim.start(CONTROLLER)
    await make(sim, replicas=20)
    await sim.advance(15)
    assert await replicas(sim) == 10
    await sim.merge("Deployment", "web", {"spec": {"replicas": 1}})
    await sim.merge("HorizontalPodAutoscaler", "web", {"spec": {"minReplicas": 3}})
    await sim.advance(15)
    assert await replicas(sim) == 3
    reasons = {message for _, message, _ in await sim.events("web", "SuccessfulRescale")}
    assert reasons == {
        "New size: 10; reason: Current number of replicas above Spec.MaxReplicas",
        "New size: 3; reason: Current number of replicas below Spec.MinReplicas",
    }


@pytest.mark.parametrize("serves_metrics", [False], indirect=True)
async def test_without_a_metrics_api_the_conditions_say_so(sim):
    await sim.start(CONTROLLER)
    cpu_of_container = {"type": "ContainerResource", "containerResource": {"container": "c", **CPU["resource"]}}
    described = {"apiVersion": "v1", "kind": "Service", "name": "nobody"}
    target = {"type": "Value", "value": "1"}
    described_metric = {
        "type": "Object",
        "object": {"metric": {"name": "m"}, "describedObject": described, "target": target},
    }
    await make(sim, metrics=[PODS_METRIC, cpu_of_container, described_metric, EXTERNAL])
    await run_pods(sim, "", "")
    await sim.advance(15)
    assert await condition(sim, "ScalingActive") == ("False", "FailedGetPodsMetric")
    messages = {reason: message for reason, message, _ in await sim.events("web")}
    no_api = "unable to fetch metrics from custom metrics API: no custom metrics API (custom.metrics.k8s.io) registered"
    assert messages["FailedGetPodsMetric"] == f"unable to get metric qps: {no_api}"
    assert messages["FailedGetObjectMetric"] == f"unable to get metric m: {no_api} on Service default/nobody"
    assert messages["FailedGetExternalMetric"] == (
        "unable to get external metric default/queue/nil: unable to fetch metrics from external metrics API: "
        "the server could not find the requested resource (get queue.external.metrics.k8s.io)"
    )
    assert messages["FailedComputeMetricsReplicas"] == (
        "invalid metrics (4 invalid out of 4), first error is: failed to get pods metric value: "
        f"unable to get metric qps: {no_api}"
    )
    assert (await sim.get("HorizontalPodAutoscaler", "web"))["status"]["currentMetrics"] == [{"type": ""}] * 4


async def test_a_workload_that_cannot_be_scaled_is_reported(sim):
    await sim.start(CONTROLLER)
    await make(sim, kind="Nothing")
    await sim.advance(15)
    assert await condition(sim, "AbleToScale") == ("False", "FailedGetScale")
    assert await sim.events("web") == [("FailedGetScale", 'no matches for kind "Nothing" in group "apps"', 1)]
    await sim.merge(
        "HorizontalPodAutoscaler", "web", {"spec": {"scaleTargetRef": {"kind": "Deployment", "name": "no"}}}
    )
    await sim.advance(15)
    assert ("FailedGetScale", 'deployments.apps "no" not found', 1) in await sim.events("web")


async def test_two_autoscalers_of_the_same_pods_do_nothing(sim):
    await sim.start(CONTROLLER)
    await make(sim)
    other = (await sim.get("HorizontalPodAutoscaler", "web"))["spec"]
    await sim.create("HorizontalPodAutoscaler", "web-2", spec=other)
    await run_pods(sim, "20", "20")
    await sim.advance(45)
    assert await condition(sim, "ScalingActive") == ("False", "AmbiguousSelector")
    message = "pods by selector app=web are controlled by multiple HPAs: [{web default} {web-2 default}]"
    assert ("AmbiguousSelector", message) in {event[:2] for event in await sim.events()}


async def test_a_disabled_workload_stays_at_zero(sim):
    await sim.start(CONTROLLER)
    await make(sim, replicas=0)
    await sim.advance(15)
    assert await condition(sim, "ScalingActive") == ("False", "ScalingDisabled")
    assert await replicas(sim) == 0


async def test_a_workload_is_scaled_to_zero_and_back(sim):
    annotation = "external.metrics.mockkube.dev/queue"
    options = Options(autoscaling=AutoscalingOptions(downscale_stabilization_seconds=30))
    await sim.start(CONTROLLER, gates={"HPAScaleToZero": True}, options=options)
    await make(sim, replicas=2, metrics=[EXTERNAL], annotations={annotation: "0"}, minReplicas=0)
    await run_pods(sim, "", "")
    await sim.advance(60)
    assert await replicas(sim) == 0
    assert await condition(sim, "ScaledToZero") == ("True", "ScaledToZero")
    await sim.status("Deployment", "web", {"replicas": 0})
    await sim.merge("HorizontalPodAutoscaler", "web", {"metadata": {"annotations": {annotation: "11,4"}}})
    await sim.advance(15)
    assert await replicas(sim) == 3
    assert await condition(sim, "ScaledToZero") == ("False", "NotScaledToZero")
    # Who scales it to zero by hand means it.
    await sim.merge("Deployment", "web", {"spec": {"replicas": 0}})
    await sim.advance(15)
    assert await replicas(sim) == 0
    assert await condition(sim, "ScalingActive") == ("False", "ScalingDisabled")


async def test_memory_of_the_controller_is_lost_with_it(sim):
    await sim.start(CONTROLLER)
    await make(sim, replicas=4)
    await run_pods(sim, "10", "10", "10", "10")
    await sim.advance(300)
    await run_pods(sim, "5", "5", "5", "5")
    [controller] = [one.controller for one in sim.manager.workers if isinstance(one, ControllerWorker)]
    # Explorations tell states apart by this.
    assert (("default", "web"), "stable", 4) in {item for item, _ in controller.list_memory()}
    await sim.start(CONTROLLER, options=Options(autoscaling=AutoscalingOptions(downscale_stabilization_seconds=60)))
    await sim.advance(60)
    assert await replicas(sim) == 4
    await sim.advance(30)
    assert await replicas(sim) == 2


async def test_a_metric_that_no_object_has_is_reported(sim):
    await sim.start(CONTROLLER)
    described = {"apiVersion": "example.com/v1", "kind": "Proxy", "name": "edge"}
    source = {"metric": {"name": "m"}, "describedObject": described, "target": {"type": "Value", "value": "1"}}
    await make(sim, metrics=[PODS_METRIC, {"type": "Object", "object": source}, EXTERNAL])
    await run_pods(sim, "", "")
    await sim.advance(15)
    messages = {reason: message for reason, message, _ in await sim.events("web")}
    custom = "unable to fetch metrics from custom metrics API"
    assert messages["FailedGetPodsMetric"] == (
        f"unable to get metric qps: {custom}: the server could not find the metric qps for pods"
    )
    assert messages["FailedGetObjectMetric"] == (
        f"unable to get metric m: {custom}: the server could not find the metric m for proxies.example.com"
        " on Proxy default/edge"
    )
    assert messages["FailedGetExternalMetric"] == (
        "unable to get external metric default/queue/nil: unable to fetch metrics from external metrics API: "
        "the server could not find the metric queue for namespaces"
    )


async def test_values_of_an_external_metric_are_selected_by_their_labels(sim):
    await sim.start(CONTROLLER)
    selected = {"name": "queue", "selector": {"matchLabels": {"topic": "mail"}}}
    target = {"type": "AverageValue", "averageValue": "5"}
    await make(sim, replicas=2, metrics=[{"type": "External", "external": {"metric": selected, "target": target}}])
    values = {"external.metrics.mockkube.dev/queue": "{topic=mail}15,{topic=print}100"}
    await sim.merge("Namespace", "default", {"metadata": {"annotations": values}}, "")
    await run_pods(sim, "", "")
    await sim.advance(15)
    assert await replicas(sim) == 3


async def test_a_metric_of_an_object_scales_a_workload(sim):
    await sim.start(CONTROLLER)
    described = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    source = {"metric": {"name": "load"}, "describedObject": described, "target": {"type": "Value", "value": "10"}}
    await make(sim, replicas=2, metrics=[{"type": "Object", "object": source}])
    await sim.merge("Deployment", "web", {"metadata": {"annotations": {"custom.metrics.mockkube.dev/load": "20"}}})
    await run_pods(sim, "", "")
    await sim.advance(15)
    assert await replicas(sim) == 4
    [metric] = (await sim.get("HorizontalPodAutoscaler", "web"))["status"]["currentMetrics"]
    assert metric["object"]["current"] == {"value": "20"}
