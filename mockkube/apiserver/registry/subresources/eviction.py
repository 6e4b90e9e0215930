"""`pods/eviction`: delete a pod unless a disruption budget forbids it."""

# upstream 1.36: pkg/registry/core/pod/storage/eviction.go
from dataclasses import replace
from typing import Final

from mockkube.api.errors import ApiError, Forbidden, NotFound, TooManyRequests
from mockkube.api.selectors import labels
from mockkube.api.times import render_time
from mockkube.api.types import Object, ReadOnlyObject
from mockkube.apiserver.registry import deletion, updating
from mockkube.apiserver.registry.cache import Record
from mockkube.apiserver.registry.options import DeleteOptions, WriteOptions
from mockkube.apiserver.registry.resource import Call, Resource, result_without_reason

DISRUPTED_PODS_MAX: Final = 2000
_UNPROTECTED_PHASES: Final = ("Succeeded", "Failed", "Pending")
_REFUSED: Final = "Cannot evict pod as it would violate the pod's disruption budget."
_SEVERAL: Final = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."


async def evict(pods: Resource, call: Call, options: DeleteOptions) -> None:
    """Delete the pod unless its budget forbids it; raise TooManyRequests if so."""
    await pods.services.cache.fresh()
    record = pods.record(call.namespace, call.name)
    if record is None:
        raise NotFound.for_object("", "pods", call.name)
    pod = record.load()
    if not _ignores_budget(pod):
        budgets = _budgets_of(pods, record)
        if len(budgets) > 1:
            raise result_without_reason(500, _SEVERAL)
        if budgets and not _spared(pod, budgets[0].load()):
            await _take(pods, call, budgets[0], options)
    # upstream: a pod that ignores budgets may change its phase before it is deleted, so its resourceVersion becomes a
    # precondition.
    elif options.resource_version is None and options.uid is None:
        options = replace(options, resource_version=pod["metadata"]["resourceVersion"])
    await _delete(pods, call, options)


def _ignores_budget(pod: ReadOnlyObject) -> bool:
    return pod.get("status", {}).get("phase") in _UNPROTECTED_PHASES or "deletionTimestamp" in pod["metadata"]


def _budgets_of(pods: Resource, record: Record) -> list[Record]:
    budgets = pods.services.find("policy", "poddisruptionbudgets")
    assert budgets is not None
    return [
        budget
        for budget in budgets.collection.range(budgets.prefix(record.namespace))
        if labels.from_label_selector(budget.load()["spec"].get("selector")).matches(record.labels)
    ]


def _spared(pod: ReadOnlyObject, budget: ReadOnlyObject) -> bool:
    """Return whether an unready pod may be evicted without using up the budget."""
    if any(one["type"] == "Ready" and one["status"] == "True" for one in pod["status"].get("conditions", ())):
        return False
    if budget["spec"].get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    status = budget.get("status", {})
    return bool(status.get("currentHealthy", 0) >= status.get("desiredHealthy", 0) > 0)


async def _take(pods: Resource, call: Call, budget: Record, options: DeleteOptions) -> None:
    """Count the disruption in the status of the budget."""
    budgets = pods.services.find("policy", "poddisruptionbudgets")
    assert budgets is not None
    now = render_time(pods.services.clock.now())

    def counted(current: Object) -> Object:
        _check(current)
        status = current["status"]
        status["disruptionsAllowed"] -= 1
        status["disruptedPods"] = {**status.get("disruptedPods", {}), call.name: now}
        if not status["disruptionsAllowed"]:
            _set_exhausted(current, now)
        return current

    own = Call(call.user, call.namespace, budget.name, "status", call.user_agent)
    # The update is retried on conflicts, so two evictions never use the same allowed disruption.
    await updating.update(budgets, own, counted, WriteOptions(dry_run=options.dry_run), tracked=True)


def _check(budget: ReadOnlyObject) -> None:
    name, status = budget["metadata"]["name"], budget.get("status", {})
    allowed = status.get("disruptionsAllowed", 0)
    # The disruption controller has not seen the present spec yet, so the counts may be wrong.
    if status.get("observedGeneration", 0) < budget["metadata"].get("generation", 0):
        raise _refusal(f"The disruption budget {name} is still being processed by the server.", retry_after_seconds=10)
    if allowed < 0:
        raise Forbidden.for_object("policy", "poddisruptionbudget", name, "pdb disruptions allowed is negative")
    if len(status.get("disruptedPods", {})) > DISRUPTED_PODS_MAX:
        why = "DisruptedPods map too big - too many evictions not confirmed by PDB controller"
        raise Forbidden.for_object("policy", "poddisruptionbudget", name, why)
    if not allowed:
        needed, healthy = status.get("desiredHealthy", 0), status.get("currentHealthy", 0)
        raise _refusal(f"The disruption budget {name} needs {needed} healthy pods and has {healthy} currently")


def _refusal(why: str, *, retry_after_seconds: int = 0) -> ApiError:
    details: Object = {"causes": [{"reason": "DisruptionBudget", "message": why}]}
    if retry_after_seconds:
        details["retryAfterSeconds"] = retry_after_seconds
    return TooManyRequests(_REFUSED, details=details, retry_after_seconds=retry_after_seconds)


def _set_exhausted(budget: Object, now: str) -> None:
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


async def _delete(pods: Resource, call: Call, options: DeleteOptions) -> None:
    """Add the DisruptionTarget condition to the pod, then delete it."""
    now = render_time(pods.services.clock.now())

    def targeted(pod: Object) -> Object:
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

    own = Call(call.user, call.namespace, call.name, "status", call.user_agent)
    deleting = Call(call.user, call.namespace, call.name, "", call.user_agent)
    if not options.dry_run and _meets(pods, call, options):
        updated = await updating.update(pods, own, targeted, WriteOptions(), tracked=True)
        if options.resource_version is not None:
            # Writing the condition changed the resourceVersion that the precondition names.
            options = replace(options, resource_version=str(updated.record.revision))
    await deletion.delete(pods, deleting, options)


def _meets(pods: Resource, call: Call, options: DeleteOptions) -> bool:
    """Return whether the pod meets the preconditions; if not, the deletion raises the error."""
    record = pods.record(call.namespace, call.name)
    if record is None:
        return False
    metadata = record.load()["metadata"]
    return options.uid in (None, metadata["uid"]) and options.resource_version in (None, metadata["resourceVersion"])
