"""Checks of drains: pods that no eviction moves, on any node, whether or not the node is drained in the rehearsal."""

from collections.abc import Iterator
from typing import Final

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.selectors.labels import from_label_selector
from mockkube.rehearse.findings import Finding, Severity, Topic, name_object
from mockkube.rehearse.upgrade import Upgrade

_MIRROR: Final = "kubernetes.io/config.mirror"
_FINISHED: Final = ("Succeeded", "Failed")


def check_drains(upgrade: Upgrade) -> Iterator[Finding]:
    """Yield pods whose eviction a budget never allows, and pods that a drain deletes for good."""
    budgets: dict[str, list[ReadOnlyObject]] = {}
    for budget in upgrade.list_kind("PodDisruptionBudget"):
        budgets.setdefault(budget["metadata"].get("namespace", ""), []).append(budget)
    for pod in upgrade.list_kind("Pod"):
        # A pod without a node is on none that is drained.
        if is_evicted_by_drain(pod) and (pod.get("spec") or {}).get("nodeName"):
            yield from _check_pod(pod, budgets.get(pod["metadata"].get("namespace", ""), []))


def is_evicted_by_drain(pod: ReadOnlyObject) -> bool:
    """Return whether `kubectl drain` evicts a pod: no mirror pods, no DaemonSets, none that are over."""
    metadata = pod["metadata"]
    is_over = (pod.get("status") or {}).get("phase") in _FINISHED
    is_mirror = _MIRROR in (metadata.get("annotations") or {})
    return not is_over and not is_mirror and find_controller_kind(pod) not in ("DaemonSet", "Node")


def find_controller_kind(pod: ReadOnlyObject) -> str:
    """Return the kind of a pod's controller; empty if it has none."""
    owners = pod["metadata"].get("ownerReferences") or ()
    return next((str(one["kind"]) for one in owners if one.get("controller")), "")


def _check_pod(pod: ReadOnlyObject, budgets: list[ReadOnlyObject]) -> Iterator[Finding]:
    labels, name = pod["metadata"].get("labels") or {}, name_object(pod)
    matching = [one for one in budgets if _selects(one, labels)]
    if len(matching) > 1:
        names = ", ".join(name_object(one) for one in matching)
        yield Finding(
            Severity.BREAKS,
            Topic.DRAIN,
            f"several PodDisruptionBudgets select the pod ({names}): its eviction is refused",
            "let one budget select it",
            kind="Pod",
            objects=(name,),
        )
    for budget in matching[:1]:
        if _never_allows(budget):
            yield Finding(
                Severity.BREAKS,
                Topic.DRAIN,
                f"the PodDisruptionBudget {name_object(budget)} allows no disruption: drains of its node wait forever",
                "add replicas, or relax the budget during the upgrade",
                kind="Pod",
                objects=(name,),
            )
    if not find_controller_kind(pod):
        yield Finding(
            Severity.BREAKS,
            Topic.DRAIN,
            "the pod has no controller: a drain refuses it, or with --force deletes it for good",
            "let a Deployment or Job manage it",
            kind="Pod",
            objects=(name,),
        )


def _selects(budget: ReadOnlyObject, labels: ReadOnlyObject) -> bool:
    selector = (budget.get("spec") or {}).get("selector")
    return selector is not None and from_label_selector(selector).matches(labels)


def _never_allows(budget: ReadOnlyObject) -> bool:
    """Return whether a budget allows no disruption even if all its pods are healthy."""
    status = budget.get("status") or {}
    spec = budget.get("spec") or {}
    if spec.get("maxUnavailable") in (0, "0%") or spec.get("minAvailable") == "100%":
        return True
    expected: int = status.get("expectedPods") or 0
    desired: int = status.get("desiredHealthy") or 0
    healthy: int = status.get("currentHealthy") or 0
    return bool(expected) and not status.get("disruptionsAllowed") and (desired >= expected or healthy < desired)
