"""`pods/eviction`: delete a pod unless a disruption budget forbids it."""

# upstream 1.36: pkg/registry/core/pod/storage/eviction.go
from dataclasses import replace
from typing import Final

from mockkube.api.errors import ApiError, Forbidden, NotFound, TooManyRequests
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.selectors import labels
from mockkube.api.times import render_time
from mockkube.apiserver.registry import deletion, updating
from mockkube.apiserver.registry.cached_object import CachedObject
from mockkube.apiserver.registry.options import DeleteOptions, WriteOptions
from mockkube.apiserver.registry.resource import RequestScope, Resource, error_without_reason

DISRUPTED_PODS_MAX: Final = 2000
_UNPROTECTED_PHASES: Final = ("Succeeded", "Failed", "Pending")
_VIOLATES_BUDGET: Final = "Cannot evict pod as it would violate the pod's disruption budget."
_SEVERAL_BUDGETS: Final = (
    "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
)


async def evict(pods: Resource, scope: RequestScope, options: DeleteOptions) -> None:
    """Delete the pod unless its budget forbids it; raise TooManyRequests if so."""
    await pods.dependencies.watch_cache.wait_until_fresh()
    cached = pods.get_cached(scope.namespace, scope.name)
    if cached is None:
        raise NotFound.for_object("", "pods", scope.name)
    pod = cached.load()
    if not _ignores_budget(pod):
        budgets = _find_budgets(pods, cached)
        if len(budgets) > 1:
            raise error_without_reason(500, _SEVERAL_BUDGETS)
        if budgets and not _is_exempt_unready_pod(pod, budgets[0].load()):
            await _use_disruption(pods, scope, budgets[0], options)
    # upstream: a pod that ignores budgets may change its phase before it is deleted, so its resourceVersion becomes a
    # precondition.
    elif options.resource_version is None and options.uid is None:
        options = replace(options, resource_version=pod["metadata"]["resourceVersion"])
    await _delete(pods, scope, options)


def _ignores_budget(pod: ReadOnlyObject) -> bool:
    return pod.get("status", {}).get("phase") in _UNPROTECTED_PHASES or "deletionTimestamp" in pod["metadata"]


def _find_budgets(pods: Resource, cached: CachedObject) -> list[CachedObject]:
    budgets = pods.dependencies.find_storage_resource("policy", "poddisruptionbudgets")
    assert budgets is not None
    return [
        budget
        for budget in budgets.collection.range(budgets.prefix(cached.namespace))
        if labels.from_label_selector(budget.load()["spec"].get("selector")).matches(cached.labels)
    ]


def _is_exempt_unready_pod(pod: ReadOnlyObject, budget: ReadOnlyObject) -> bool:
    """Return whether an unready pod may be evicted without using up the budget."""
    if any(one["type"] == "Ready" and one["status"] == "True" for one in pod["status"].get("conditions", ())):
        return False
    if budget["spec"].get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    status = budget.get("status", {})
    return bool(status.get("currentHealthy", 0) >= status.get("desiredHealthy", 0) > 0)


async def _use_disruption(pods: Resource, scope: RequestScope, budget: CachedObject, options: DeleteOptions) -> None:
    """Count the disruption in the status of the budget."""
    budgets = pods.dependencies.find_storage_resource("policy", "poddisruptionbudgets")
    assert budgets is not None
    now = render_time(pods.dependencies.clock.now())

    def use_disruption(current: Object) -> Object:
        _check_budget(current)
        status = current["status"]
        status["disruptionsAllowed"] -= 1
        status["disruptedPods"] = {**status.get("disruptedPods", {}), scope.name: now}
        if not status["disruptionsAllowed"]:
            _set_insufficient_pods(current, now)
        return current

    own = RequestScope(scope.user, scope.namespace, budget.name, "status", scope.user_agent)
    # The update is retried on conflicts, so two evictions never use the same allowed disruption.
    await updating.update(budgets, own, use_disruption, WriteOptions(dry_run=options.dry_run), managers_updated=True)


def _check_budget(budget: ReadOnlyObject) -> None:
    name, status = budget["metadata"]["name"], budget.get("status", {})
    allowed = status.get("disruptionsAllowed", 0)
    # The disruption controller has not seen the present spec yet, so the counts may be wrong.
    if status.get("observedGeneration", 0) < budget["metadata"].get("generation", 0):
        raise _too_many_requests(
            f"The disruption budget {name} is still being processed by the server.", retry_after_seconds=10
        )
    if allowed < 0:
        raise Forbidden.for_object("policy", "poddisruptionbudget", name, "pdb disruptions allowed is negative")
    if len(status.get("disruptedPods", {})) > DISRUPTED_PODS_MAX:
        why = "DisruptedPods map too big - too many evictions not confirmed by PDB controller"
        raise Forbidden.for_object("policy", "poddisruptionbudget", name, why)
    if not allowed:
        needed, healthy = status.get("desiredHealthy", 0), status.get("currentHealthy", 0)
        raise _too_many_requests(
            f"The disruption budget {name} needs {needed} healthy pods and has {healthy} currently"
        )


def _too_many_requests(why: str, *, retry_after_seconds: int = 0) -> ApiError:
    details: Object = {"causes": [{"reason": "DisruptionBudget", "message": why}]}
    if retry_after_seconds:
        details["retryAfterSeconds"] = retry_after_seconds
    return TooManyRequests(_VIOLATES_BUDGET, details=details, retry_after_seconds=retry_after_seconds)


def _set_insufficient_pods(budget: Object, now: str) -> None:
    condition = {
        "type": "DisruptionAllowed",
        "status": "False",
        "observedGeneration": budget["status"].get("observedGeneration", 0),
        "lastTransitionTime": now,
        "reason": "InsufficientPods",
        "message": "",
    }
    others = [one for one in budget["status"].get("conditions", ()) if one["type"] != "DisruptionAllowed"]
    budget["status"]["conditions"] = [*others, condition]


async def _delete(pods: Resource, scope: RequestScope, options: DeleteOptions) -> None:
    """Add the DisruptionTarget condition to the pod, then delete it."""
    now = render_time(pods.dependencies.clock.now())

    def add_condition(pod: Object) -> Object:
        conditions = pod["status"].setdefault("conditions", [])
        conditions[:] = [one for one in conditions if one["type"] != "DisruptionTarget"]
        conditions.append({
            "type": "DisruptionTarget",
            "status": "True",
            "lastProbeTime": None,
            "lastTransitionTime": now,
            "reason": "EvictionByEvictionAPI",
            "message": "Eviction API: evicting",
        })  # fmt: skip
        return pod

    own = RequestScope(scope.user, scope.namespace, scope.name, "status", scope.user_agent)
    deleting = RequestScope(scope.user, scope.namespace, scope.name, "", scope.user_agent)
    if not options.dry_run and _meets_preconditions(pods, scope, options):
        updated = await updating.update(pods, own, add_condition, WriteOptions(), managers_updated=True)
        if options.resource_version is not None:
            # Writing the condition changed the resourceVersion that the precondition names.
            options = replace(options, resource_version=str(updated.object.revision))
    await deletion.delete(pods, deleting, options)


def _meets_preconditions(pods: Resource, scope: RequestScope, options: DeleteOptions) -> bool:
    """Return whether the pod meets the preconditions; if not, the deletion raises the error."""
    cached = pods.get_cached(scope.namespace, scope.name)
    if cached is None:
        return False
    metadata = cached.load()["metadata"]
    return options.uid in (None, metadata["uid"]) and options.resource_version in (None, metadata["resourceVersion"])
