"""Usage of a pod's containers at a time, from annotations, from the load of its workload, or from requests."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Final

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.quantities.resources import parse_amounts
from mockkube.api.times import parse_time
from mockkube.lazy_dataclasses import dataclass
from mockkube.matching.pods import is_finished, is_ready
from mockkube.matching.usage.annotations import RESOURCES, UsageAnnotation, parse_usage_annotations

Amounts = Mapping[str, Decimal]
# A container uses half of what it requests, so that a utilization target above 50 % shrinks a workload at rest.
_REQUEST_PART: Final = Decimal("0.5")
_WITHOUT_REQUEST: Final[Amounts] = {"cpu": Decimal("0.01"), "memory": Decimal(32 * 1024 * 1024)}
_PLACES: Final[Mapping[str, Decimal]] = {"cpu": Decimal("1E-9"), "memory": Decimal(1)}
_ZERO: Final = Decimal(0)


@dataclass(frozen=True, slots=True)
class UsageContainer:
    """Running container as its usage depends on it."""

    name: str
    started_at: datetime
    requests: Amounts
    limits: Amounts


@dataclass(frozen=True, slots=True)
class UsagePod:
    """Running pod as its usage depends on it."""

    started_at: datetime
    containers: tuple[UsageContainer, ...]
    usage: Mapping[str, UsageAnnotation]
    requests: Amounts
    """Requests of the pod as a whole."""
    is_ready: bool

    @classmethod
    def read(cls, pod: ReadOnlyObject) -> "UsagePod | None":
        """Return the pod with the containers that run; None if none does."""
        status = pod.get("status") or {}
        if is_finished(pod):
            return None
        started = {
            one["name"]: parse_time(running["startedAt"])
            for key in ("initContainerStatuses", "containerStatuses")
            for one in status.get(key) or ()
            if (running := (one.get("state") or {}).get("running")) and running.get("startedAt")
        }
        specs = [one for key in ("initContainers", "containers") for one in pod["spec"].get(key) or ()]
        containers = tuple(
            _read_container(spec, started[spec["name"]]) for spec in specs if started.get(spec["name"]) is not None
        )
        if not containers:
            return None
        began = status.get("startTime")
        return cls(
            started_at=min(one.started_at for one in containers) if began is None else parse_time(began),
            containers=containers,
            usage=parse_usage_annotations(pod).usage,
            requests=parse_amounts((pod["spec"].get("resources") or {}).get("requests")),
            is_ready=is_ready(pod) and not pod["metadata"].get("deletionTimestamp"),
        )


def _read_container(spec: ReadOnlyObject, started_at: datetime) -> UsageContainer:
    resources = spec.get("resources") or {}
    return UsageContainer(
        spec["name"], started_at, parse_amounts(resources.get("requests")), parse_amounts(resources.get("limits"))
    )


def calculate_container_usage(pod: UsagePod, now: datetime, load: Amounts | None = None) -> list[dict[str, Decimal]]:
    """Return what each running container uses at a time, by resource, in cores and bytes.

    `load` is the pod's share of what its workload is loaded with; annotations of the pod take precedence. No container
    uses more than its limit.
    """
    age = (now - pod.started_at).total_seconds()
    by_resource = {resource: _calculate_resource(pod, resource, age, load or {}) for resource in RESOURCES}
    return [
        {resource: _limit(container, resource, by_resource[resource][at]) for resource in RESOURCES}
        for at, container in enumerate(pod.containers)
    ]


def _limit(container: UsageContainer, resource: str, amount: Decimal) -> Decimal:
    limit = container.limits.get(resource)
    return (amount if limit is None else min(amount, limit)).quantize(_PLACES[resource])


def _calculate_resource(pod: UsagePod, resource: str, age_seconds: float, load: Amounts) -> list[Decimal]:
    """Return the usage of one resource by container."""
    given = pod.usage.get(resource)
    if given is not None and given.whole is not None:
        return _split(given.whole.get_amount(age_seconds), pod.containers, resource)
    if given is None and resource in load:
        return _split(load[resource], pod.containers, resource)
    amounts = _get_default_usage(pod, resource)
    if given is not None:
        for at, container in enumerate(pod.containers):
            if (curve := given.get_of_container(container.name)) is not None:
                amounts[at] = curve.get_amount(age_seconds)
    return amounts


def _get_default_usage(pod: UsagePod, resource: str) -> list[Decimal]:
    requested = [container.requests.get(resource) for container in pod.containers]
    if not any(requested) and resource in pod.requests:
        return _split(pod.requests[resource] * _REQUEST_PART, pod.containers, resource)
    return [_WITHOUT_REQUEST[resource] if not amount else amount * _REQUEST_PART for amount in requested]


def _split(amount: Decimal, containers: Sequence[UsageContainer], resource: str) -> list[Decimal]:
    """Return the parts of an amount, in proportion to requests; equal ones without requests."""
    weights = [container.requests.get(resource, _ZERO) for container in containers]
    total = sum(weights, _ZERO)
    if not total:
        return [amount / len(containers)] * len(containers)
    return [amount * weight / total for weight in weights]
