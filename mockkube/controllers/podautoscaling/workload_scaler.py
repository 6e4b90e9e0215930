"""Scales a workload so that its metrics meet their targets.

upstream 1.36: pkg/controller/podautoscaler/horizontal.go, reconcileAutoscaler
"""

import logging
from collections.abc import Hashable, Iterator, Sequence
from datetime import timedelta
from typing import Final

from mockkube.api.errors import ApiError, Conflict, NotFound
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.quantities.quantity import parse
from mockkube.api.selectors import labels
from mockkube.api.selectors.errors import BadSelector
from mockkube.client.event_recorder import EventRecorder
from mockkube.client.events import NORMAL, WARNING
from mockkube.client.informer import Informer
from mockkube.client.protocol import Client, Key, Selection, key_of
from mockkube.controllers.framework.controller import ControllerDependencies
from mockkube.controllers.podautoscaling.autoscaler_selectors import AutoscalerSelectors, describe_ambiguity
from mockkube.controllers.podautoscaling.autoscaler_status import SCALED_TO_ZERO, AutoscalerStatus
from mockkube.controllers.podautoscaling.metric_evaluation import (
    MetricEvaluator,
    MetricFailed,
    MetricResult,
    ScaledWorkload,
)
from mockkube.controllers.podautoscaling.metrics import INTERNAL_ERROR, NO_ERROR, SPEC_ERROR, AutoscalerMetrics
from mockkube.controllers.podautoscaling.metrics_client import MetricsClient
from mockkube.controllers.podautoscaling.replica_calculator import PodRules, Tolerances
from mockkube.controllers.podautoscaling.scaling_history import ReplicaBounds, ScalingHistory, limit_by_bounds
from mockkube.features.versions import Version
from mockkube.lazy_dataclasses import dataclass

_KIND: Final = "HorizontalPodAutoscaler"
_LOG: Final = logging.getLogger("mockkube.controllers")
_ATTEMPTS_MAX: Final = 5
# Longest window of a behavior; what is older decides nothing.
_WINDOW_SECONDS_MAX: Final = 3600.0
_BELOW_MIN: Final = "Current number of replicas below Spec.MinReplicas"
_ABOVE_MAX: Final = "Current number of replicas above Spec.MaxReplicas"
# Versions from which on the controller writes a scale again after a conflict, counts requests of whole pods, and scales
# up only from the zero that it has chosen itself.
_RETRIES_CONFLICTS: Final = Version(1, 34)
_USES_POD_LEVEL: Final = Version(1, 34)
_REMEMBERS_ZERO: Final = Version(1, 36)


class ReconcileFailed(Exception):
    """Reconciliation that ends early, with its status written; `is_spec` if the autoscaler itself is wrong."""

    def __init__(self, message: str, *, is_spec: bool = False) -> None:
        super().__init__(message)
        self.is_spec = is_spec


@dataclass(frozen=True, slots=True)
class _Decision:
    """Replicas to set and why, None to set none; statuses of the metrics, and the error of those that failed."""

    replicas: int | None
    reason: str = ""
    metrics: Sequence[Object] | None = None
    error: str = ""


@dataclass(frozen=True, slots=True)
class _Sync:
    """One reconciliation of an autoscaler with the scale of its workload."""

    autoscaler: ReadOnlyObject
    status: AutoscalerStatus
    history: ScalingHistory
    kind: str
    scale: ReadOnlyObject

    @property
    def replicas(self) -> int:
        """Replicas that the workload should have now."""
        replicas: int = (self.scale.get("spec") or {}).get("replicas", 0)
        return replicas

    @property
    def bounds(self) -> ReplicaBounds:
        """Current, fewest and most replicas."""
        spec = self.autoscaler["spec"]
        return ReplicaBounds(self.replicas, spec.get("minReplicas", 1), spec["maxReplicas"])

    @property
    def reference(self) -> str:
        """Workload, as messages name it."""
        target = self.autoscaler["spec"]["scaleTargetRef"]
        return f"{target['kind']}/{self.autoscaler['metadata']['namespace']}/{target['name']}"


class WorkloadScaler:
    """Scales the workloads of autoscalers; its memory of the past is lost with the controller manager."""

    def __init__(
        self,
        dependencies: ControllerDependencies,
        client: Client,
        events: EventRecorder,
        pods: Informer,
        metrics: AutoscalerMetrics,
    ) -> None:
        self.client, self.events, self.clock, self.pods = client, events, dependencies.clock, pods
        self._options, self._metrics = dependencies.options.autoscaling, metrics
        capabilities = dependencies.capabilities
        self._version = capabilities.version
        self._has_scale_to_zero = capabilities.enabled("HPAScaleToZero")
        self._has_tolerances = capabilities.enabled("HPAConfigurableTolerance")
        self._has_generation = capabilities.enabled("HPAGeneration")
        self._pod_level = self._version >= _USES_POD_LEVEL and capabilities.enabled("PodLevelResources")
        self._histories: dict[Key, ScalingHistory] = {}
        self._selectors = AutoscalerSelectors()
        self._metrics_client = MetricsClient(client)

    def forget(self, key: Key) -> None:
        """Drop the memory of a deleted autoscaler."""
        self._selectors.forget(key)
        self._histories.pop(key, None)

    def list_memory(self) -> Iterator[tuple[Hashable, float]]:
        """Yield the recommendations and changes of each autoscaler, with the seconds since."""
        now = self.clock.now()
        for key, history in sorted(self._histories.items()):
            for kind, moments in (("stable", history.recommendations), ("up", history.ups), ("down", history.downs)):
                for one in moments:
                    age = (now - one.at).total_seconds()
                    if age <= _WINDOW_SECONDS_MAX:
                        yield (key, kind, one.replicas), age

    async def sync(self, key: Key, autoscaler: ReadOnlyObject) -> None:
        """Scale the workload of an autoscaler and write its status; failures are in conditions and events."""
        status = AutoscalerStatus(autoscaler, self.clock.now(), tracks_generation=self._has_generation)
        started, before, after, error = self.clock.monotonic(), 0, 0, NO_ERROR
        try:
            sync = await self._start_sync(key, autoscaler, status)
            before = after = sync.replicas
            decision = await self._decide(sync)
            if decision.replicas is not None:
                await self._rescale(sync, decision.replicas, decision)
                after = decision.replicas
            status.set_numbers(before, after, decision.metrics, rescaled=decision.replicas is not None)
            self._metrics.record_desired(key.namespace, key.name, after)
            await self._write_status(autoscaler, status)
            if decision.error:
                raise ReconcileFailed(decision.error)
        except ReconcileFailed as failed:
            error = SPEC_ERROR if failed.is_spec else INTERNAL_ERROR
            # A metric that fails is no hot loop: the conditions show it, and the next sync is due as always.
            _LOG.info("horizontal-pod-autoscaler-controller: %s: %s", key, failed)
        self._metrics.record_reconciliation(before, after, error, self.clock.monotonic() - started)

    async def _start_sync(self, key: Key, autoscaler: ReadOnlyObject, status: AutoscalerStatus) -> _Sync:
        """Get the scale of the workload; raise ReconcileFailed if it has none."""
        target, namespace = autoscaler["spec"]["scaleTargetRef"], key.namespace
        try:
            group = _parse_group(target.get("apiVersion", ""))
        except ValueError as error:
            await self._fail_get_scale(autoscaler, status, str(error))
            raise ReconcileFailed(f"invalid API version in scale target reference: {error}", is_spec=True) from error
        kind = f"{target['kind']}.{group}" if group else target["kind"]
        try:
            scale = await self.client.get(kind, Key(namespace, target["name"]), subresource="scale")
        except ApiError as error:
            message = error.message
            # A path that is not found leaves open whether the kind or only its scale is not served.
            if isinstance(error, NotFound) and not error.details and not await self._is_served(kind, namespace):
                message = f'no matches for kind "{target["kind"]}" in group "{group}"'
            await self._fail_get_scale(autoscaler, status, message)
            place = f"{target['kind']}/{namespace}/{target['name']}"
            raise ReconcileFailed(f"failed to query scale subresource for {place}: {message}") from error
        message = "the HPA controller was able to get the target's current scale"
        status.set_condition("AbleToScale", holds=True, reason="SucceededGetScale", message=message)
        history = self._histories.get(key)
        sync = _Sync(autoscaler, status, history or ScalingHistory(), kind, scale)
        if history is None:
            self._histories[key] = sync.history
            sync.history.start(sync.replicas, self.clock.now())
        return sync

    async def _is_served(self, kind: str, namespace: str) -> bool:
        try:
            await self.client.list(kind, Selection(namespace=namespace, fields="metadata.name=-"))
        except NotFound:
            return False
        except ApiError:
            return True
        return True

    async def _fail_get_scale(self, autoscaler: ReadOnlyObject, status: AutoscalerStatus, message: str) -> None:
        self.events.record(autoscaler, WARNING, "FailedGetScale", message)
        text = f"the HPA controller was unable to get the target's current scale: {message}"
        status.set_condition("AbleToScale", holds=False, reason="FailedGetScale", message=text)
        await self._try_write_status(autoscaler, status)

    async def _decide(self, sync: _Sync) -> _Decision:
        """Return the replicas by bounds or, within them, by metrics."""
        bounds = sync.bounds
        if bounds.current == 0 and not self._scales_from_zero(sync):
            message = "scaling is disabled since the replica count of the target is zero"
            sync.status.set_condition("ScalingActive", holds=False, reason="ScalingDisabled", message=message)
            if not self._has_scale_to_zero:
                sync.status.remove_condition(SCALED_TO_ZERO)
            return _Decision(None)
        if bounds.current > bounds.most:
            return _Decision(bounds.most, _ABOVE_MAX)
        if 0 < bounds.current < bounds.least:
            return _Decision(bounds.least, _BELOW_MIN)
        return await self._decide_by_metrics(sync)

    def _scales_from_zero(self, sync: _Sync) -> bool:
        """Return whether to scale a workload without replicas; another client may have scaled it to zero."""
        if self._version < _REMEMBERS_ZERO:
            return sync.bounds.least == 0
        was_scaled = self._has_scale_to_zero and sync.status.holds(SCALED_TO_ZERO)
        return was_scaled and (sync.bounds.least != 0 or _has_outer_metrics(sync.autoscaler))

    async def _decide_by_metrics(self, sync: _Sync) -> _Decision:
        proposal = await self._evaluate_metrics(sync)
        current, desired, reason = sync.replicas, proposal.replicas or 0, ""
        if desired > current:
            reason = f"{proposal.reason} above target"
        elif desired < current:
            reason = "All metrics below target"
        desired = self._normalize(sync, desired)
        least = sync.bounds.least
        if current == 0 and desired < least and self._version >= _REMEMBERS_ZERO:
            desired, reason = least, reason or _BELOW_MIN
        return _Decision(None if desired == current else desired, reason, proposal.metrics, proposal.error)

    async def _evaluate_metrics(self, sync: _Sync) -> _Decision:
        """Return the most replicas that a metric asks for, and its description; raise ReconcileFailed without any."""
        workload = await self._select_workload(sync)
        evaluator = self._make_evaluator()
        specs = sync.autoscaler["spec"].get("metrics") or ()
        statuses: list[Object] = []
        best: MetricResult | None = None
        failures: list[MetricFailed] = []
        for spec in specs:
            try:
                result = await self._evaluate_metric(evaluator, spec, workload, sync)
            except MetricFailed as failed:
                failures.append(failed)
                # As in Go, where the list has an empty status for each metric from the start.
                statuses.append({"type": ""})
                continue
            statuses.append(result.status)
            if best is None or best.replicas == 0 or result.replicas > best.replicas:
                best = result
        error = ""
        if failures:
            error = (
                f"invalid metrics ({len(failures)} invalid out of {len(specs)}), first error is: {failures[0].error}"
            )
        # A metric that fails could ask for more, so without it nothing is scaled down.
        if best is None or (failures and best.replicas < sync.replicas):
            if failures:
                message = f"the HPA was unable to compute the replica count: {failures[0].cause}"
                sync.status.set_condition("ScalingActive", holds=False, reason=failures[0].reason, message=message)
            raise await self._fail_metrics(sync, statuses, error)
        message = f"the HPA was able to successfully calculate a replica count from {best.description}"
        sync.status.set_condition("ScalingActive", holds=True, reason="ValidMetricFound", message=message)
        return _Decision(best.replicas, best.description if best.replicas else "", statuses, error)

    async def _select_workload(self, sync: _Sync) -> ScaledWorkload:
        """Return the workload with its pods; raise ReconcileFailed if its selector is missing or ambiguous."""
        key = key_of(sync.autoscaler)
        text: str = (sync.scale.get("status") or {}).get("selector", "")
        if not text:
            raise await self._fail_selector(
                sync, "SelectorRequired", "selector is required", "the HPA target's scale is missing a selector"
            )
        try:
            selector = labels.parse(text)
        except BadSelector as error:
            message = f"couldn't convert selector into a corresponding internal selector object: {error}"
            raise await self._fail_selector(sync, "InvalidSelector", message, message) from error
        self._selectors.set(key, selector)
        pods = [pod for pod in self.pods.list(key.namespace) if selector.matches(pod["metadata"].get("labels") or {})]
        others = self._selectors.find_selecting(key.namespace, pods)
        if len(others) > 1:
            message = describe_ambiguity(text, others, self._version)
            raise await self._fail_selector(sync, "AmbiguousSelector", message, message)
        replicas = (sync.scale.get("status") or {}).get("replicas", 0)
        tolerances = self._find_tolerances(sync.autoscaler)
        return ScaledWorkload(sync.autoscaler, sync.replicas, replicas, text, pods, tolerances)

    async def _fail_selector(self, sync: _Sync, reason: str, message: str, text: str) -> ReconcileFailed:
        self.events.record(sync.autoscaler, WARNING, reason, message)
        reason = "InvalidSelector" if reason == "SelectorRequired" else reason
        sync.status.set_condition("ScalingActive", holds=False, reason=reason, message=text)
        return await self._fail_metrics(sync, None, message)

    async def _fail_metrics(self, sync: _Sync, statuses: Sequence[Object] | None, error: str) -> ReconcileFailed:
        """Write the status of a reconciliation without a result, and return its error."""
        sync.status.set_numbers(sync.replicas, sync.status.desired_replicas, statuses)
        await self._try_write_status(sync.autoscaler, sync.status)
        self.events.record(sync.autoscaler, WARNING, "FailedComputeMetricsReplicas", error)
        return ReconcileFailed(
            f"failed to compute desired number of replicas based on listed metrics for {sync.reference}: {error}"
        )

    def _make_evaluator(self) -> MetricEvaluator:
        options = self._options
        rules = PodRules(
            self.clock.now(),
            timedelta(seconds=options.cpu_initialization_seconds),
            timedelta(seconds=options.initial_readiness_seconds),
        )
        return MetricEvaluator(self._metrics_client, rules, self._version, self._pod_level)

    async def _evaluate_metric(
        self, evaluator: MetricEvaluator, spec: ReadOnlyObject, workload: ScaledWorkload, sync: _Sync
    ) -> MetricResult:
        """Return what a metric asks for; on a failure, record an event."""
        started, before = self.clock.monotonic(), sync.status.current_replicas
        try:
            result = await evaluator.evaluate(spec, workload)
        except MetricFailed as failed:
            self.events.record(sync.autoscaler, WARNING, failed.reason, failed.cause)
            seconds = self.clock.monotonic() - started
            self._metrics.record_computation(spec["type"], before, before, INTERNAL_ERROR, seconds)
            raise
        seconds = self.clock.monotonic() - started
        self._metrics.record_computation(spec["type"], before, result.replicas, NO_ERROR, seconds)
        return result

    def _find_tolerances(self, autoscaler: ReadOnlyObject) -> Tolerances:
        """Return the tolerances of an autoscaler's behavior, by default those of the flag."""
        behavior = (autoscaler["spec"].get("behavior") or {}) if self._has_tolerances else {}
        up, down = (
            default if (given := (behavior.get(way) or {}).get("tolerance")) is None else float(parse(given).amount)
            for way, default in (("scaleUp", self._options.tolerance), ("scaleDown", self._options.tolerance))
        )
        return Tolerances(down, up)

    def _normalize(self, sync: _Sync, desired: int) -> int:
        """Return the desired replicas after windows, rates and bounds; set the conditions about these."""
        now, status, bounds = self.clock.now(), sync.status, sync.bounds
        behavior = sync.autoscaler["spec"].get("behavior")
        window = timedelta(seconds=self._options.downscale_stabilization_seconds)
        if behavior is None:
            stable = sync.history.stabilize(desired, now, window)
            bounded = limit_by_bounds(stable.replicas, bounds)
        else:
            up, down = (_find_window(behavior[way], window) for way in ("scaleUp", "scaleDown"))
            stable = sync.history.stabilize_by_behavior(desired, bounds.current, now, up, down)
            bounded = sync.history.limit_by_behavior(stable.replicas, bounds, behavior, now)
        status.set_condition("AbleToScale", holds=True, reason=stable.reason, message=stable.message)
        is_limited = bounded.replicas != stable.replicas
        status.set_condition("ScalingLimited", holds=is_limited, reason=bounded.reason, message=bounded.message)
        return bounded.replicas

    async def _rescale(self, sync: _Sync, replicas: int, decision: _Decision) -> None:
        """Write the scale of the workload; raise ReconcileFailed if it is refused."""
        status, autoscaler = sync.status, sync.autoscaler
        try:
            await self._write_scale(sync, replicas)
        except ApiError as error:
            text = f"New size: {replicas}; reason: {decision.reason}; error: {error.message}"
            self.events.record(autoscaler, WARNING, "FailedRescale", text)
            message = f"the HPA controller was unable to update the target scale: {error.message}"
            status.set_condition("AbleToScale", holds=False, reason="FailedUpdateScale", message=message)
            status.set_numbers(sync.replicas, status.desired_replicas, decision.metrics)
            await self._try_write_status(autoscaler, status)
            raise ReconcileFailed(f"failed to rescale {sync.reference}: {error.message}") from error
        message = f"the HPA controller was able to update the target scale to {replicas}"
        status.set_condition("AbleToScale", holds=True, reason="SucceededRescale", message=message)
        text = f"New size: {replicas}; reason: {decision.reason}"
        self.events.record(autoscaler, NORMAL, "SuccessfulRescale", text)
        if (behavior := autoscaler["spec"].get("behavior")) is not None:
            sync.history.record_change(sync.replicas, replicas, behavior, self.clock.now())
        if self._version >= _REMEMBERS_ZERO:
            self._set_scaled_to_zero(sync, replicas)

    def _set_scaled_to_zero(self, sync: _Sync, replicas: int) -> None:
        """Set the condition by which the controller knows later that it scaled the workload to zero."""
        if not self._has_scale_to_zero:
            sync.status.remove_condition(SCALED_TO_ZERO)
        elif replicas == 0 and sync.bounds.least == 0 and _has_outer_metrics(sync.autoscaler):
            message = "the HPA controller scaled the workload to zero"
            sync.status.set_condition(SCALED_TO_ZERO, holds=True, reason="ScaledToZero", message=message)
        else:
            message = "the HPA controller did not scale the workload to zero"
            sync.status.set_condition(SCALED_TO_ZERO, holds=False, reason="NotScaledToZero", message=message)

    async def _write_scale(self, sync: _Sync, replicas: int) -> None:
        """Update the scale; after a conflict get it and try again."""
        scale, key = sync.scale, key_of(sync.scale)
        attempts = _ATTEMPTS_MAX if self._version >= _RETRIES_CONFLICTS else 1
        for left in reversed(range(attempts)):
            spec = {**(scale.get("spec") or {}), "replicas": replicas}
            try:
                await self.client.update(sync.kind, {**scale, "spec": spec}, subresource="scale")
            except Conflict:
                if not left:
                    raise
                scale = await self.client.get(sync.kind, key, subresource="scale")
            else:
                return

    async def _try_write_status(self, autoscaler: ReadOnlyObject, status: AutoscalerStatus) -> None:
        """Write the status of a reconciliation that failed; its own error counts, not that of this write."""
        try:
            await self._write_status(autoscaler, status)
        except ReconcileFailed as failed:
            _LOG.info("horizontal-pod-autoscaler-controller: %s: %s", key_of(autoscaler), failed)

    async def _write_status(self, autoscaler: ReadOnlyObject, status: AutoscalerStatus) -> None:
        """Write the status if it changed; raise ReconcileFailed if it is refused."""
        changed = status.find_change()
        if changed is None:
            return
        try:
            await self.client.update(_KIND, {**autoscaler, "status": changed}, subresource="status")
        except ApiError as error:
            self.events.record(autoscaler, WARNING, "FailedUpdateStatus", error.message)
            name = autoscaler["metadata"]["name"]
            raise ReconcileFailed(f"failed to update status for {name}: {error.message}") from error


def _parse_group(api_version: str) -> str:
    """Return the group of an apiVersion; ValueError with upstream's text if it is none."""
    if api_version.count("/") > 1:
        raise ValueError(f"unexpected GroupVersion string: {api_version}")
    return api_version.rpartition("/")[0]


def _find_window(rules: ReadOnlyObject, default: timedelta) -> timedelta:
    """Return the stabilization window of a direction."""
    seconds = rules.get("stabilizationWindowSeconds")
    return default if seconds is None else timedelta(seconds=seconds)


def _has_outer_metrics(autoscaler: ReadOnlyObject) -> bool:
    """Return whether a metric does not come from the pods, so that it exists without any."""
    return any(metric["type"] in ("Object", "External") for metric in autoscaler["spec"].get("metrics") or ())
