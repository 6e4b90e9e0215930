"""LimitRanger: set default requests and limits from the namespace's limit ranges, and enforce their bounds."""

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Final

from mockkube.api.pod_amounts import Quantities, calculate_pod_quantities, iter_containers, parse_resource_list
from mockkube.api.quantity import Quantity, parse
from mockkube.api.types import Object, ReadOnlyObject
from mockkube.apiserver.admission.refusals import refuse, together
from mockkube.apiserver.registry.admission import Operation, Plugin, Request
from mockkube.apiserver.registry.cache import Record

ANNOTATION: Final = "kubernetes.io/limit-ranger"
_MILLI_MAX: Final = (2**63 - 1) // 1000
_NOTHING: Final = parse("0")
_AMOUNTS: Final = ("default", "defaultRequest", "max", "min", "maxLimitRequestRatio")


class LimitRanger(Plugin):
    """Applies the limit ranges of a namespace to pods and claims."""

    # upstream 1.36: plugin/pkg/admission/limitranger/admission.go
    name = "LimitRanger"

    def admit(self, request: Request) -> None:
        """Set the defaults of each limit range on the containers of a pod."""
        if _concerns_pod(request):
            for limits in _limit_ranges(request):
                _fill_in(request.given, limits)

    def validate(self, request: Request) -> None:
        """Reject what is outside a limit range."""
        if _concerns_pod(request):
            pod_level = request.resource.services.caps.enabled("PodLevelResources")
            for limits in _limit_ranges(request):
                _refuse(request, [*_pod_complaints(request.given["spec"], limits, pod_level=pod_level)])
        elif _writes(request) and request.about("", "persistentvolumeclaims"):
            for limits in _limit_ranges(request):
                _refuse(request, [*_claim_complaints(request.given["spec"], limits)])


def _writes(request: Request) -> bool:
    # Objects that are being deleted must be able to lose their finalizers whatever the limits are.
    going = request.old is not None and "deletionTimestamp" in request.old["metadata"]
    return not going


def _concerns_pod(request: Request) -> bool:
    if not _writes(request):
        return False
    if request.operation is Operation.CREATE:
        return request.about("", "pods")
    # Resources of a pod can only be changed through its subresource `resize`.
    return request.about("", "pods", "resize")


def _limit_ranges(request: Request) -> Iterator[list[ReadOnlyObject]]:
    """Yield the limits of each limit range of the namespace."""
    resource = request.find("", "limitranges")
    for record in resource.collection.range(resource.prefix(request.call.namespace)):
        yield resource.collection.bad.attempt("LimitRanger", "limitranges", record.place, partial(_limits, record), [])


def _limits(record: Record) -> list[ReadOnlyObject]:
    """Return the limits of a limit range; raise ValueError if an amount cannot be parsed."""
    limits: list[ReadOnlyObject] = record.load()["spec"].get("limits") or []
    for limit in limits:
        for name in _AMOUNTS:
            parse_resource_list(limit.get(name))
    return limits


def _refuse(request: Request, complaints: list[str]) -> None:
    if complaints:
        raise refuse(request, together(complaints))


def _fill_in(pod: Object, limits: Iterable[ReadOnlyObject]) -> None:
    defaults: dict[str, Object] = {"limits": {}, "requests": {}}
    for limit in limits:
        if limit.get("type") == "Container":
            defaults["requests"].update(limit.get("defaultRequest") or {})
            defaults["limits"].update(limit.get("default") or {})
    done = []
    for group, title in (("containers", "container"), ("initContainers", "init container")):
        for container in pod["spec"].get(group) or ():
            done += _complete(container, title, defaults)
    if done:
        annotations = pod["metadata"].setdefault("annotations", {})
        annotations[ANNOTATION] = f"LimitRanger plugin set: {'; '.join(done)}"


def _complete(container: Object, title: str, defaults: Mapping[str, Object]) -> list[str]:
    """Set defaults on one container; return a text for each of requests and limits that was changed."""
    done = []
    for side, word in (("requests", "request"), ("limits", "limit")):
        given = (container.get("resources") or {}).get(side) or {}
        missing = {name: amount for name, amount in defaults[side].items() if name not in given}
        if missing:
            container["resources"] = {**(container.get("resources") or {}), side: {**given, **missing}}
            done.append(f"{', '.join(sorted(missing))} {word} for {title} {container['name']}")
    return done


def _pod_complaints(spec: ReadOnlyObject, limits: Iterable[ReadOnlyObject], *, pod_level: bool) -> Iterator[str]:
    for limit in limits:
        if limit.get("type") == "Container":
            for container in iter_containers(spec):
                resources = container.get("resources") or {}
                yield from _outside(
                    limit, parse_resource_list(resources.get("requests")), parse_resource_list(resources.get("limits"))
                )
        elif limit.get("type") == "Pod":
            requests = calculate_pod_quantities(spec, "requests", pod_level=pod_level)
            yield from _outside(limit, requests, calculate_pod_quantities(spec, "limits", pod_level=pod_level))


def _claim_complaints(spec: ReadOnlyObject, limits: Iterable[ReadOnlyObject]) -> Iterator[str]:
    requests = parse_resource_list((spec.get("resources") or {}).get("requests"))
    for limit in limits:
        if limit.get("type") == "PersistentVolumeClaim":
            for name, least in (limit.get("min") or {}).items():
                yield from _below(name, "PersistentVolumeClaim", parse(least), requests, {})
            for name, most in (limit.get("max") or {}).items():
                yield from _asks_too_much(name, parse(most), requests)


def _outside(limit: ReadOnlyObject, requests: Quantities, limits: Quantities) -> Iterator[str]:
    kind = limit["type"]
    for name, least in (limit.get("min") or {}).items():
        yield from _below(name, kind, parse(least), requests, limits)
    for name, most in (limit.get("max") or {}).items():
        yield from _above(name, kind, parse(most), requests, limits)
    for name, ratio in (limit.get("maxLimitRequestRatio") or {}).items():
        yield from _stretched(name, kind, parse(ratio), requests, limits)


def _below(name: str, kind: str, least: Quantity, requests: Quantities, limits: Quantities) -> Iterator[str]:
    request, limit = requests.get(name), limits.get(name)
    text = f"minimum {name} usage per {kind} is {least}"
    if request is None:
        yield f"{text}.  No request is specified"
        return
    asked, allowed, bound = _comparable(request, limit or _NOTHING, least)
    if asked < bound:
        yield f"{text}, but request is {request}"
    elif limit is not None and allowed < bound:
        yield f"{text}, but limit is {limit}"


def _above(name: str, kind: str, most: Quantity, requests: Quantities, limits: Quantities) -> Iterator[str]:
    request, limit = requests.get(name), limits.get(name)
    text = f"maximum {name} usage per {kind} is {most}"
    if limit is None:
        yield f"{text}.  No limit is specified"
        return
    asked, allowed, bound = _comparable(request or _NOTHING, limit, most)
    if allowed > bound:
        yield f"{text}, but limit is {limit}"
    elif request is not None and asked > bound:
        yield f"{text}, but request is {request}"


def _asks_too_much(name: str, most: Quantity, requests: Quantities) -> Iterator[str]:
    request = requests.get(name)
    text = f"maximum {name} usage per PersistentVolumeClaim is {most}"
    if request is None:
        yield f"{text}.  No request is specified"
        return
    asked, _, bound = _comparable(request, _NOTHING, most)
    if asked > bound:
        yield f"{text}, but request is {request}"


def _stretched(name: str, kind: str, ratio: Quantity, requests: Quantities, limits: Quantities) -> Iterator[str]:
    asked, allowed, _ = _comparable(requests.get(name, _NOTHING), limits.get(name, _NOTHING), ratio)
    text = f"{name} max limit to request ratio per {kind} is {ratio}, but"
    if not asked:
        yield f"{text} no request is specified or request is 0"
    elif not allowed:
        yield f"{text} no limit is specified or limit is 0"
    else:
        observed, bound = allowed / asked, float(ratio.value())
        if ratio.value() <= _MILLI_MAX:
            bound = ratio.milli() / 1000
        if observed > bound:
            yield f"{text} provided ratio is {observed:f}"


def _comparable(first: Quantity, second: Quantity, third: Quantity) -> tuple[int, int, int]:
    """Return the amounts in thousandths if all fit into 64 bits, else in whole units."""
    every = (first, second, third)
    # upstream: requestLimitEnforcedValues compares milli values to be exact for small amounts.
    if all(one.value() <= _MILLI_MAX for one in every):
        return first.milli(), second.milli(), third.milli()
    return first.value(), second.value(), third.value()
