"""Requests of a pod as schedulers, kubelets and daemon sets count them: with status, overhead and defaults.

upstream 1.36: component-helpers/resource/helpers.go
"""

from collections.abc import Mapping
from decimal import Decimal
from typing import Final

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.quantities.resources import Resources, parse_amounts
from mockkube.features.capabilities import Capabilities
from mockkube.lazy_dataclasses import dataclass

Amounts = dict[str, Decimal]
_NOTHING: Final[Mapping[str, Decimal]] = {}
# upstream 1.36: pkg/scheduler/util/pod_resources.go
# Scores spread pods without requests as if they had some; filters do not use these.
_NONZERO_DEFAULTS: Final[Mapping[str, Decimal]] = {"cpu": Decimal("0.1"), "memory": Decimal(200 * 1024 * 1024)}
_POD_LEVEL_RESOURCES: Final = ("cpu", "memory")


@dataclass(frozen=True, slots=True)
class PodResourcesOptions:
    """Parts of a pod that a component counts (upstream: PodResourcesOptions)."""

    # Resources in the status of its containers, which differ from the spec during a resize.
    use_status: bool = True
    use_pod_level_status: bool = False
    # Resources that the pod sets as a whole.
    use_pod_level: bool = True
    # Resources of the node that its resource claims take.
    use_claims: bool = False

    @classmethod
    def from_capabilities(cls, caps: Capabilities) -> "PodResourcesOptions":
        """Return the rules of a component with these capabilities."""
        return cls(
            use_status=caps.enabled("InPlacePodVerticalScaling"),
            use_pod_level_status=caps.enabled("InPlacePodLevelResourcesVerticalScaling"),
            use_pod_level=caps.enabled("PodLevelResources"),
            use_claims=caps.enabled("DRANodeAllocatableResources"),
        )


def calculate_pod_requests(pod: ReadOnlyObject, rules: PodResourcesOptions) -> Resources:
    """Return the requests of a pod, overhead included."""
    return Resources.from_amounts(_sum_requests(pod, rules, _NOTHING))


def calculate_nonzero_requests(pod: ReadOnlyObject, rules: PodResourcesOptions) -> Resources:
    """Return the requests of cpu and memory, with defaults for containers that request none."""
    missing: Mapping[str, Decimal] = _NONZERO_DEFAULTS
    if rules.use_pod_level and has_pod_level_requests(pod["spec"]):
        stated = _sum_requests(pod, rules, _NOTHING)
        missing = {name: amount for name, amount in _NONZERO_DEFAULTS.items() if name not in stated}
    amounts = _sum_requests(pod, rules, missing)
    return Resources.from_amounts({name: amounts[name] for name in _NONZERO_DEFAULTS if name in amounts})


def has_pod_level_requests(spec: ReadOnlyObject) -> bool:
    """Return whether the pod sets requests at pod level."""
    return any(is_pod_level_resource(name) for name in (spec.get("resources") or {}).get("requests") or ())


def is_pod_level_resource(name: str) -> bool:
    """Return whether a pod may set this resource at pod level."""
    return name in _POD_LEVEL_RESOURCES or name.startswith("hugepages-")


def _sum_requests(pod: ReadOnlyObject, rules: PodResourcesOptions, missing: Mapping[str, Decimal]) -> Amounts:
    spec, status = pod["spec"], pod.get("status") or {}
    total = _sum_containers(spec, status if rules.use_status else {}, missing)
    if rules.use_claims:
        for claim in status.get("nodeAllocatableResourceClaimStatuses") or ():
            _add_amounts(total, parse_amounts(claim.get("resources")))
    if rules.use_pod_level and (pod_level_requests := (spec.get("resources") or {}).get("requests")):
        seen = status if rules.use_status and rules.use_pod_level_status else {}
        effective = _effective_requests(
            pod_level_requests, seen.get("resources"), seen.get("allocatedResources"), status
        )
        total.update(
            {name: effective.get(name, Decimal()) for name in pod_level_requests if is_pod_level_resource(name)}
        )
    _add_amounts(total, parse_amounts(spec.get("overhead")))
    return total


def _sum_containers(spec: ReadOnlyObject, status: ReadOnlyObject, missing: Mapping[str, Decimal]) -> Amounts:
    """Return the sum of the containers, or the largest initialization step if that is more."""
    statuses = {
        one.get("name", ""): one
        for side in ("containerStatuses", "initContainerStatuses")
        for one in status.get(side) or ()
    }
    total: Amounts = {}
    for container in spec.get("containers") or ():
        _add_amounts(total, _container_requests(container, statuses, status, missing))
    sidecars: Amounts = {}
    peak: Amounts = {}
    for container in spec.get("initContainers") or ():
        if container.get("restartPolicy") == "Always":
            own = _container_requests(container, statuses, status, missing)
            _add_amounts(total, own)
            _add_amounts(sidecars, own)
            _take_maximum(peak, sidecars)
        else:
            # Init containers that end cannot be resized, so their status is ignored.
            own = _container_requests(container, {}, status, missing)
            _add_amounts(own, sidecars)
            _take_maximum(peak, own)
    _take_maximum(total, peak)
    return total


def _container_requests(
    container: ReadOnlyObject, seen: ReadOnlyObject, status: ReadOnlyObject, missing: Mapping[str, Decimal]
) -> Amounts:
    requests = (container.get("resources") or {}).get("requests")
    container_status = seen.get(container.get("name", "")) or {}
    amounts = _effective_requests(
        requests, container_status.get("resources"), container_status.get("allocatedResources"), status
    )
    for name, amount in missing.items():
        amounts.setdefault(name, amount)
    return amounts


def _effective_requests(
    stated: ReadOnlyObject | None,
    actuated: ReadOnlyObject | None,
    allocated: ReadOnlyObject | None,
    status: ReadOnlyObject,
) -> Amounts:
    """Return the requests that count during a resize; those of an infeasible resize do not."""
    if actuated is None:
        return parse_amounts(stated)
    amounts = {} if _is_resize_infeasible(status) else parse_amounts(stated)
    _take_maximum(amounts, parse_amounts(actuated.get("requests")))
    _take_maximum(amounts, parse_amounts(allocated))
    return amounts


def _is_resize_infeasible(status: ReadOnlyObject) -> bool:
    for condition in status.get("conditions") or ():
        if condition.get("type") == "PodResizePending":
            return bool(condition.get("reason") == "Infeasible")
    return False


def _add_amounts(total: Amounts, more: Mapping[str, Decimal]) -> None:
    for name, amount in more.items():
        total[name] = total[name] + amount if name in total else amount


def _take_maximum(total: Amounts, least: Mapping[str, Decimal]) -> None:
    for name, amount in least.items():
        if name not in total or amount > total[name]:
            total[name] = amount
