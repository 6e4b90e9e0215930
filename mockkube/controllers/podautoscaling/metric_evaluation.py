"""Replicas that one metric of an autoscaler asks for, with the status of the metric.

upstream 1.36: pkg/controller/podautoscaler/horizontal.go, computeReplicasForMetric
"""

from collections.abc import Sequence
from decimal import Decimal
from functools import partial
from typing import Final

from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.quantities.quantity import Format, Quantity, parse
from mockkube.api.selectors.errors import BadSelector
from mockkube.api.selectors.labels import from_label_selector
from mockkube.controllers.framework.selector_text import format_selector
from mockkube.controllers.podautoscaling.metrics_client import MetricsClient
from mockkube.controllers.podautoscaling.pod_metrics import MetricsError
from mockkube.controllers.podautoscaling.replica_calculator import (
    PodMetrics,
    PodRules,
    Proposal,
    Tolerances,
    calculate_requests,
    propose_by_average,
    propose_by_utilization,
    propose_by_value,
    propose_by_value_per_pod,
)
from mockkube.features.versions import Version
from mockkube.lazy_dataclasses import dataclass

_INT64_MAX: Final = 2**63 - 1
# From this version on, averages of memory are written with binary suffixes, and sums of external metrics are bounded.
_BINARY_MEMORY: Final = Version(1, 34)
# Texts of a metric of an object name the object before the cause since this version.
_CAUSE_LAST: Final = Version(1, 37)


class MetricFailed(Exception):
    """Metric without a result: reason and cause of the condition, and the error of the whole autoscaler."""

    def __init__(self, reason: str, cause: str, error: str) -> None:
        super().__init__(error)
        self.reason, self.cause, self.error = reason, cause, error


@dataclass(frozen=True, slots=True)
class MetricResult:
    """Replicas that a metric asks for, its description and its status."""

    replicas: int
    description: str
    status: Object


@dataclass(frozen=True, slots=True)
class ScaledWorkload:
    """An autoscaler, its workload's replicas by spec and status, and the pods that its selector selects."""

    autoscaler: ReadOnlyObject
    spec_replicas: int
    status_replicas: int
    selector: str
    pods: Sequence[ReadOnlyObject]
    tolerances: Tolerances

    @property
    def namespace(self) -> str:
        """Namespace of autoscaler and workload."""
        namespace: str = self.autoscaler["metadata"]["namespace"]
        return namespace


@dataclass(frozen=True, slots=True)
class MetricEvaluator:
    """Evaluates metrics at one moment, for one version."""

    client: MetricsClient
    rules: PodRules
    version: Version
    pod_level: bool

    async def evaluate(self, metric: ReadOnlyObject, workload: ScaledWorkload) -> MetricResult:
        """Return what a metric asks for; raise MetricFailed if it has no result."""
        match metric.get("type"):
            case "Resource":
                return await self._evaluate_resource(metric["resource"], workload)
            case "ContainerResource":
                return await self._evaluate_container_resource(metric["containerResource"], workload)
            case "Pods":
                return await self._evaluate_pods(metric["pods"], workload)
            case "Object":
                return await self._evaluate_object(metric["object"], workload)
            case "External":
                return await self._evaluate_external(metric["external"], workload)
        text = f'unknown metric source type "{metric.get("type", "")}"'
        raise MetricFailed("InvalidMetricSourceType", text, text)

    async def _evaluate_resource(self, source: ReadOnlyObject, workload: ScaledWorkload) -> MetricResult:
        name = source["name"]
        try:
            proposal, described = await self._propose_by_resource(source, "", workload)
        except MetricsError as error:
            text = f"failed to get {name} resource metric value: {error}"
            raise MetricFailed("FailedGetResourceMetric", str(error), text) from error
        status = {"name": name, "current": self._resource_value(name, proposal)}
        return MetricResult(proposal.replicas, described, {"type": "Resource", "resource": status})

    async def _evaluate_container_resource(self, source: ReadOnlyObject, workload: ScaledWorkload) -> MetricResult:
        name, container = source["name"], source["container"]
        try:
            proposal, described = await self._propose_by_resource(source, container, workload)
        except MetricsError as error:
            text = f"failed to get {container} container metric value: {error}"
            raise MetricFailed("FailedGetContainerResourceMetric", str(error), text) from error
        status = {"name": name, "container": container, "current": self._resource_value(name, proposal)}
        return MetricResult(proposal.replicas, described, {"type": "ContainerResource", "containerResource": status})

    async def _propose_by_resource(
        self, source: ReadOnlyObject, container: str, workload: ScaledWorkload
    ) -> tuple[Proposal, str]:
        """Return the proposal for a resource of pods, or of one of their containers, and what it is by."""
        name, target = source["name"], source["target"]
        average, utilization = target.get("averageValue"), target.get("averageUtilization")
        if average is None and utilization is None:
            raise MetricsError(
                "invalid resource metric source: neither an average utilization target nor an average value (usage)"
                " target was set"
            )
        try:
            try:
                metrics = await self.client.get_resource_metric(name, workload.namespace, workload.selector, container)
            except MetricsError as error:
                raise MetricsError(f"unable to get metrics for resource {name}: {error}") from error
            measured = PodMetrics(workload.pods, metrics, self._rules_for(name))
            if average is not None:
                proposal = propose_by_average(
                    measured, workload.spec_replicas, parse(average).milli(), workload.tolerances
                )
                return proposal, f"{name} resource"
            requests = partial(calculate_requests, workload.pods, name, container, pod_level=self.pod_level)
            proposal = propose_by_utilization(
                measured, workload.spec_replicas, utilization, requests, workload.tolerances
            )
        except MetricsError as error:
            raise MetricsError(
                f"failed to get {name} {'utilization' if average is None else 'usage'}: {error}"
            ) from error
        kind = "container resource" if container else "resource"
        return proposal, f"{name} {kind} utilization (percentage of request)"

    async def _evaluate_pods(self, source: ReadOnlyObject, workload: ScaledWorkload) -> MetricResult:
        metric = source["metric"]
        name, target = metric["name"], parse(source["target"]["averageValue"]).milli()
        try:
            selector = _format_metric_selector(metric)
            try:
                metrics = await self.client.get_pods_metric(name, workload.namespace, workload.selector, selector)
            except MetricsError as error:
                raise MetricsError(f"unable to get metric {name}: {error}") from error
            measured = PodMetrics(workload.pods, metrics, self._rules_for(""))
            proposal = propose_by_average(measured, workload.spec_replicas, target, workload.tolerances)
        except MetricsError as error:
            raise MetricFailed(
                "FailedGetPodsMetric", str(error), f"failed to get pods metric value: {error}"
            ) from error
        status = {"metric": metric, "current": {"averageValue": format_milli(proposal.usage)}}
        return MetricResult(proposal.replicas, f"pods metric {name}", {"type": "Pods", "pods": status})

    async def _evaluate_object(self, source: ReadOnlyObject, workload: ScaledWorkload) -> MetricResult:
        metric, target, described = source["metric"], source["target"], source["describedObject"]
        name = metric["name"]
        # As upstream, only this error says of which metric it is, and the description calls the metric external.
        is_average = target["type"] == "AverageValue" and target.get("averageValue") is not None
        prefix = f"failed to get {name} object metric: " if is_average else ""
        external = f"external metric {name}({format_selector(metric.get('selector'))})"
        try:
            selector = _format_metric_selector(metric)
            if target["type"] == "Value" and target.get("value") is not None:
                usage = await self._object_usage(name, described, selector, workload)
                proposal, current = _propose_by_value(usage, target["value"], workload)
            elif is_average:
                usage = await self._object_usage(name, described, selector, workload)
                proposal, current = _propose_by_value_per_pod(usage, target["averageValue"], workload)
            else:
                raise MetricsError(
                    "invalid object metric source: neither a value target nor an average value target was set"
                )
        except MetricsError as error:
            text = f"failed to get object metric value: {prefix}{error}"
            raise MetricFailed("FailedGetObjectMetric", str(error), text) from error
        status = {"metric": metric, "describedObject": described, "current": current}
        description = external if is_average else f"{described['kind']} metric {name}"
        return MetricResult(proposal.replicas, description, {"type": "Object", "object": status})

    async def _object_usage(
        self, metric: str, described: ReadOnlyObject, selector: str, workload: ScaledWorkload
    ) -> int:
        try:
            return await self.client.get_object_metric(metric, workload.namespace, described, selector)
        except MetricsError as error:
            place = f"{described['kind']} {workload.namespace}/{described['name']}"
            if self.version >= _CAUSE_LAST:
                raise MetricsError(f"unable to get metric {metric} on {place}: {error}") from error
            raise MetricsError(f"unable to get metric {metric}: {error} on {place}") from error

    async def _evaluate_external(self, source: ReadOnlyObject, workload: ScaledWorkload) -> MetricResult:
        metric, target = source["metric"], source["target"]
        name, selector, prefix = metric["name"], format_selector(metric.get("selector")), ""
        try:
            if target.get("averageValue") is not None:
                prefix = f"failed to get {name} external metric: "
                usage = await self._external_usage(metric, selector, workload)
                proposal, current = _propose_by_value_per_pod(usage, target["averageValue"], workload)
            elif target.get("value") is not None:
                prefix = f"failed to get external metric {name}: "
                usage = await self._external_usage(metric, selector, workload)
                proposal, current = _propose_by_value(usage, target["value"], workload)
            else:
                raise MetricsError(
                    "invalid external metric source: neither a value target nor an average value target was set"
                )
        except MetricsError as error:
            text = f"failed to get {name} external metric value: {prefix}{error}"
            raise MetricFailed("FailedGetExternalMetric", str(error), text) from error
        status = {"metric": metric, "current": current}
        return MetricResult(
            proposal.replicas, f"external metric {name}({selector})", {"type": "External", "external": status}
        )

    async def _external_usage(self, metric: ReadOnlyObject, selector: str, workload: ScaledWorkload) -> int:
        """Return the sum of an external metric's values."""
        selects = _format_metric_selector(metric)
        try:
            values = await self.client.get_external_metric(metric["name"], workload.namespace, selects)
        except MetricsError as error:
            place = f"{workload.namespace}/{metric['name']}/{selector}"
            raise MetricsError(f"unable to get external metric {place}: {error}") from error
        return min(sum(values), _INT64_MAX)

    def _rules_for(self, resource: str) -> PodRules:
        rules = self.rules
        return PodRules(rules.now, rules.cpu_initialization, rules.initial_readiness_delay, resource)

    def _resource_value(self, resource: str, proposal: Proposal) -> Object:
        is_binary = resource == "memory" and self.version >= _BINARY_MEMORY
        value: Object = {
            "averageValue": format_milli(proposal.usage, Format.BINARY_SI if is_binary else Format.DECIMAL_SI)
        }
        if proposal.utilization is not None:
            value["averageUtilization"] = proposal.utilization
        return value


def _propose_by_value(usage: int, target: str, workload: ScaledWorkload) -> tuple[Proposal, Object]:
    """Return the proposal for a target of the whole workload, and the value of the metric's status."""
    proposal = propose_by_value(
        usage, parse(target).milli(), workload.spec_replicas, workload.pods, workload.tolerances
    )
    return proposal, {"value": format_milli(proposal.usage)}


def _propose_by_value_per_pod(usage: int, target: str, workload: ScaledWorkload) -> tuple[Proposal, Object]:
    """Return the proposal for a target per replica, and the value of the metric's status."""
    proposal = propose_by_value_per_pod(usage, parse(target).milli(), workload.status_replicas, workload.tolerances)
    return proposal, {"averageValue": format_milli(proposal.usage)}


def format_milli(thousandths: int, style: Format = Format.DECIMAL_SI) -> str:
    """Return a number of thousandths as a quantity."""
    return Quantity(Decimal(thousandths).scaleb(-3), style).text


def _format_metric_selector(metric: ReadOnlyObject) -> str:
    """Return the selector of a metric as a query has it; raise MetricsError if it is invalid."""
    try:
        return str(from_label_selector(metric.get("selector") or {}))
    except BadSelector as error:
        raise MetricsError(str(error)) from error
