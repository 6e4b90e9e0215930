"""Build the allocation in a claim's status from the chosen devices.

upstream 1.36: dynamic-resource-allocation/structured/internal/experimental/allocator_experimental.go (Allocate)
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.runtime.random import new_uid, random_for
from mockkube.scheduler.plugins.dynamic_resources.allocation.tentative_allocation import ChosenDevice
from mockkube.scheduler.plugins.dynamic_resources.claims.claim_requests import ClaimRequests, DeviceRequest
from mockkube.scheduler.plugins.dynamic_resources.features import DynamicResourcesFeatures


def build_allocation(
    wanted: ClaimRequests,
    chosen: Sequence[ChosenDevice],
    selected: Mapping[int, int],
    node_name: str,
    features: DynamicResourcesFeatures,
) -> Object:
    """Return the allocation of a claim; `selected` is the index of the chosen alternative, by request."""
    result: Object = {"devices": {}}
    if chosen:
        result["devices"]["results"] = [
            {**_device_result(one, features), **_share_fields(wanted, index, one)} for index, one in enumerate(chosen)
        ]
    once = features.short_configurations
    config = [*_class_configurations(wanted, selected), *_claim_configurations(wanted, selected, once=once)]
    if once:
        config = _omit_requests_of_all(config, wanted, selected)
    if config:
        result["devices"]["config"] = config
    if selector := _node_selector(chosen, node_name):
        result["nodeSelector"] = selector
    return result


def _device_result(chosen: ChosenDevice, features: DynamicResourcesFeatures) -> Object:
    request, device = chosen.request, chosen.candidate.device
    result: Object = {
        "request": request.full_name,
        "driver": device.id.driver,
        "pool": device.id.pool,
        "device": device.id.name,
    }
    if request.admin_access:
        result["adminAccess"] = True
    if tolerations := request.obj.get("tolerations"):
        result["tolerations"] = list(tolerations)
    for name in ("bindingConditions", "bindingFailureConditions") if features.binding_conditions else ():
        if conditions := device.obj.get(name):
            result[name] = list(conditions)
    return result


def _share_fields(wanted: ClaimRequests, index: int, chosen: ChosenDevice) -> Object:
    """Return the fields that identify a share of a shared device.

    The id is derived from claim and device, so that the same decision made again has the same id.
    """
    if not chosen.is_shared:
        return {}
    share: Object = {"shareID": new_uid(random_for(f"{wanted.uid}/{index}", str(chosen.candidate.device.id)))}
    if chosen.consumed:
        share["consumedCapacity"] = {name: str(amount) for name, amount in chosen.consumed.items()}
    return share


def _class_configurations(wanted: ClaimRequests, selected: Mapping[int, int]) -> Iterable[Object]:
    """Yield the configurations of device classes, each once, with all requests of the class."""
    requests: dict[str, list[DeviceRequest]] = {}
    for index, alternatives in enumerate(wanted.requests):
        request = alternatives[selected.get(index, 0)]
        requests.setdefault(request.device_class["metadata"]["name"], []).append(request)
    for same in requests.values():
        for config in same[0].device_class["spec"].get("config") or ():
            yield {"source": "FromClass", "requests": [request.full_name for request in same], **config}


def _claim_configurations(wanted: ClaimRequests, selected: Mapping[int, int], *, once: bool) -> Iterable[Object]:
    """Yield the configurations of the claim for all requests, for a request, or for the chosen alternative.

    A configuration for several requests is repeated for each of them, unless `once` is set.
    """
    for config in (wanted.claim["spec"].get("devices") or {}).get("config") or ():
        configuration = {"source": "FromClaim", **config}
        names = config.get("requests") or ()
        if not names:
            yield configuration
        for index, alternatives in enumerate(wanted.requests) if names else ():
            request = alternatives[selected.get(index, 0)]
            if request.base_name in names or (request.parent and request.full_name in names):
                yield configuration
                if once:
                    break


def _omit_requests_of_all(config: Sequence[Object], wanted: ClaimRequests, selected: Mapping[int, int]) -> list[Object]:
    """Remove the list of requests from configurations that apply to all of them."""
    requests = [alternatives[selected.get(index, 0)] for index, alternatives in enumerate(wanted.requests)]
    short: list[Object] = []
    for one in config:
        names = one.get("requests") or ()
        for_all = all(request.base_name in names or request.full_name in names for request in requests)
        short.append({name: value for name, value in one.items() if name != "requests"} if for_all else one)
    return short


def _node_selector(chosen: Sequence[ChosenDevice], node_name: str) -> Object | None:
    """Return the selector of nodes that can use all devices; None if every node can."""
    fields: list[Any] = []
    expressions: list[Any] = []
    for one in chosen:
        node_scope = one.candidate.slice.node_scope_of(one.candidate.device)
        # One device of a single node pins the whole claim to that node.
        if node_scope.node_name or one.candidate.device.obj.get("bindsToNode"):
            here = {"key": "metadata.name", "operator": "In", "values": [node_name]}
            return {"nodeSelectorTerms": [{"matchFields": [here]}]}
        for term in (node_scope.source or {}).get("nodeSelectorTerms") or ():
            _add_distinct(fields, term.get("matchFields") or ())
            _add_distinct(expressions, term.get("matchExpressions") or ())
    term = {"matchFields": fields, "matchExpressions": expressions}
    term = {name: requirements for name, requirements in term.items() if requirements}
    return {"nodeSelectorTerms": [term]} if term else None


def _add_distinct(requirements: list[Any], more: Iterable[ReadOnlyObject]) -> None:
    known = [_requirement_key(one) for one in requirements]
    for one in more:
        if (meaning := _requirement_key(one)) not in known:
            known.append(meaning)
            requirements.append(one)


def _requirement_key(requirement: ReadOnlyObject) -> tuple[str, str, frozenset[str]]:
    return requirement["key"], requirement["operator"], frozenset(requirement.get("values") or ())
