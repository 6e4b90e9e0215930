"""LimitRanger: set default requests and limits from the namespace's limit ranges, and enforce their bounds."""

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Final

from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.quantities.pod_quantities import (
    Quantities,
    calculate_pod_quantities,
    iter_containers,
    parse_resource_list,
)
from mockkube.api.quantities.quantity import Quantity, parse
from mockkube.apiserver.admission.errors import join_reasons, new_forbidden
from mockkube.apiserver.registry.admission import AdmissionAttributes, AdmissionPlugin, Operation
from mockkube.apiserver.registry.cached_object import CachedObject

LIMIT_RANGER_ANNOTATION: Final = "kubernetes.io/limit-ranger"
_MILLI_MAX: Final = (2**63 - 1) // 1000
_ZERO: Final = parse("0")
_AMOUNT_FIELDS: Final = ("default", "defaultRequest", "max", "min", "maxLimitRequestRatio")


class LimitRanger(AdmissionPlugin):
    """Applies the limit ranges of a namespace to pods and claims."""

    # upstream 1.36: plugin/pkg/admission/limitranger/admission.go
    name = "LimitRanger"
    resources = (("", "pods"), ("", "persistentvolumeclaims"))
    configured_by = ("", "limitranges")

    def admit(self, request: AdmissionAttributes) -> None:
        """Set the defaults of each limit range on the containers of a pod."""
        if self.is_configured(request) and _sets_pod_resources(request):
            for limits in _limit_ranges(request):
                _set_defaults(request.new, limits)

    def validate(self, request: AdmissionAttributes) -> None:
        """Reject what is outside a limit range."""
        if not self.is_configured(request):
            return
        if _sets_pod_resources(request):
            pod_level = request.resource.dependencies.capabilities.enabled("PodLevelResources")
            for limits in _limit_ranges(request):
                _raise_errors(request, [*_pod_errors(request.new["spec"], limits, pod_level=pod_level)])
        elif _is_enforced(request) and request.is_for("", "persistentvolumeclaims"):
            for limits in _limit_ranges(request):
                _raise_errors(request, [*_claim_errors(request.new["spec"], limits)])


def _is_enforced(request: AdmissionAttributes) -> bool:
    # Objects that are being deleted must be able to lose their finalizers whatever the limits are.
    is_terminating = request.old is not None and "deletionTimestamp" in request.old["metadata"]
    return not is_terminating


def _sets_pod_resources(request: AdmissionAttributes) -> bool:
    if not _is_enforced(request):
        return False
    if request.operation is Operation.CREATE:
        return request.is_for("", "pods")
    # Resources of a pod can only be changed through its subresource `resize`.
    return request.is_for("", "pods", "resize")


def _limit_ranges(request: AdmissionAttributes) -> Iterator[list[ReadOnlyObject]]:
    """Yield the limits of each limit range of the namespace."""
    resource = request.find_resource("", "limitranges")
    for cached in resource.collection.range(resource.prefix(request.scope.namespace)):
        yield resource.collection.bad_objects.attempt(
            "LimitRanger", "limitranges", cached.display_name, partial(_read_limits, cached), []
        )


def _read_limits(cached: CachedObject) -> list[ReadOnlyObject]:
    """Return the limits of a limit range; raise ValueError if an amount cannot be parsed."""
    limits: list[ReadOnlyObject] = cached.load()["spec"].get("limits") or []
    for limit in limits:
        for name in _AMOUNT_FIELDS:
            parse_resource_list(limit.get(name))
    return limits


def _raise_errors(request: AdmissionAttributes, errors: list[str]) -> None:
    if errors:
        raise new_forbidden(request, join_reasons(errors))


def _set_defaults(pod: Object, limits: Iterable[ReadOnlyObject]) -> None:
    defaults: dict[str, Object] = {"limits": {}, "requests": {}}
    for limit in limits:
        if limit.get("type") == "Container":
            defaults["requests"].update(limit.get("defaultRequest") or {})
            defaults["limits"].update(limit.get("default") or {})
    done = []
    for group, title in (("containers", "container"), ("initContainers", "init container")):
        for container in pod["spec"].get(group) or ():
            done += _set_container_defaults(container, title, defaults)
    if done:
        annotations = pod["metadata"].setdefault("annotations", {})
        annotations[LIMIT_RANGER_ANNOTATION] = f"LimitRanger plugin set: {'; '.join(done)}"


def _set_container_defaults(container: Object, title: str, defaults: Mapping[str, Object]) -> list[str]:
    """Set defaults on one container; return a text for each of requests and limits that was changed."""
    done = []
    for side, word in (("requests", "request"), ("limits", "limit")):
        given = (container.get("resources") or {}).get(side) or {}
        missing = {name: amount for name, amount in defaults[side].items() if name not in given}
        if missing:
            container["resources"] = {**(container.get("resources") or {}), side: {**given, **missing}}
            done.append(f"{', '.join(sorted(missing))} {word} for {title} {container['name']}")
    return done


def _pod_errors(spec: ReadOnlyObject, limits: Iterable[ReadOnlyObject], *, pod_level: bool) -> Iterator[str]:
    for limit in limits:
        if limit.get("type") == "Container":
            for container in iter_containers(spec):
                resources = container.get("resources") or {}
                yield from _limit_errors(
                    limit, parse_resource_list(resources.get("requests")), parse_resource_list(resources.get("limits"))
                )
        elif limit.get("type") == "Pod":
            requests = calculate_pod_quantities(spec, "requests", pod_level=pod_level)
            yield from _limit_errors(limit, requests, calculate_pod_quantities(spec, "limits", pod_level=pod_level))


def _claim_errors(spec: ReadOnlyObject, limits: Iterable[ReadOnlyObject]) -> Iterator[str]:
    requests = parse_resource_list((spec.get("resources") or {}).get("requests"))
    for limit in limits:
        if limit.get("type") == "PersistentVolumeClaim":
            for name, least in (limit.get("min") or {}).items():
                yield from _min_errors(name, "PersistentVolumeClaim", parse(least), requests, {})
            for name, most in (limit.get("max") or {}).items():
                yield from _max_request_errors(name, parse(most), requests)


def _limit_errors(limit: ReadOnlyObject, requests: Quantities, limits: Quantities) -> Iterator[str]:
    kind = limit["type"]
    for name, least in (limit.get("min") or {}).items():
        yield from _min_errors(name, kind, parse(least), requests, limits)
    for name, most in (limit.get("max") or {}).items():
        yield from _max_errors(name, kind, parse(most), requests, limits)
    for name, ratio in (limit.get("maxLimitRequestRatio") or {}).items():
        yield from _ratio_errors(name, kind, parse(ratio), requests, limits)


def _min_errors(name: str, kind: str, least: Quantity, requests: Quantities, limits: Quantities) -> Iterator[str]:
    request, limit = requests.get(name), limits.get(name)
    text = f"minimum {name} usage per {kind} is {least}"
    if request is None:
        yield f"{text}.  No request is specified"
        return
    requested, limited, bound = _to_comparable(request, limit or _ZERO, least)
    if requested < bound:
        yield f"{text}, but request is {request}"
    elif limit is not None and limited < bound:
        yield f"{text}, but limit is {limit}"


def _max_errors(name: str, kind: str, most: Quantity, requests: Quantities, limits: Quantities) -> Iterator[str]:
    request, limit = requests.get(name), limits.get(name)
    text = f"maximum {name} usage per {kind} is {most}"
    if limit is None:
        yield f"{text}.  No limit is specified"
        return
    requested, limited, bound = _to_comparable(request or _ZERO, limit, most)
    if limited > bound:
        yield f"{text}, but limit is {limit}"
    elif request is not None and requested > bound:
        yield f"{text}, but request is {request}"


def _max_request_errors(name: str, most: Quantity, requests: Quantities) -> Iterator[str]:
    request = requests.get(name)
    text = f"maximum {name} usage per PersistentVolumeClaim is {most}"
    if request is None:
        yield f"{text}.  No request is specified"
        return
    requested, _, bound = _to_comparable(request, _ZERO, most)
    if requested > bound:
        yield f"{text}, but request is {request}"


def _ratio_errors(name: str, kind: str, ratio: Quantity, requests: Quantities, limits: Quantities) -> Iterator[str]:
    requested, limited, _ = _to_comparable(requests.get(name, _ZERO), limits.get(name, _ZERO), ratio)
    text = f"{name} max limit to request ratio per {kind} is {ratio}, but"
    if not requested:
        yield f"{text} no request is specified or request is 0"
    elif not limited:
        yield f"{text} no limit is specified or limit is 0"
    else:
        observed, bound = limited / requested, float(ratio.value())
        if ratio.value() <= _MILLI_MAX:
            bound = ratio.milli() / 1000
        if observed > bound:
            yield f"{text} provided ratio is {observed:f}"


def _to_comparable(first: Quantity, second: Quantity, third: Quantity) -> tuple[int, int, int]:
    """Return the amounts in thousandths if all fit into 64 bits, else in whole units."""
    every = (first, second, third)
    # upstream: requestLimitEnforcedValues compares milli values to be exact for small amounts.
    if all(one.value() <= _MILLI_MAX for one in every):
        return first.milli(), second.milli(), third.milli()
    return first.value(), second.value(), third.value()
