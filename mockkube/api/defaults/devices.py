"""Defaults of dynamic resource allocation: device requests and slices."""

from collections.abc import Iterable
from typing import Final

from mockkube.api.types import Object
from mockkube.features.capabilities import Capabilities
from mockkube.features.versions import Version

# upstream 1.36: pkg/apis/resource/v1/defaults.go and zz_generated.defaults.go

_MULTIPLIER_DROPPED: Final = Version(1, 37)


def default_claim(claim: Object, caps: Capabilities) -> None:
    """Fill in the requests, and the tolerations of allocation results."""
    _default_requests(claim.get("spec", {}))
    _default_results(claim)


def default_claim_template(template: Object, caps: Capabilities) -> None:
    """Fill in the requests."""
    _default_requests(template.get("spec", {}).get("spec", {}))


def default_claim_v1beta1(claim: Object, caps: Capabilities) -> None:
    """Fill in the requests; in v1beta1 a request is one device class or a list of alternatives."""
    _default_requests_v1beta1(claim.get("spec", {}))
    _default_results(claim)


def default_claim_template_v1beta1(template: Object, caps: Capabilities) -> None:
    """Fill in the requests, as `default_claim_v1beta1` does."""
    _default_requests_v1beta1(template.get("spec", {}).get("spec", {}))


def default_slice(resource_slice: Object, caps: Capabilities) -> None:
    """Default the node's share of a device's capacity to one."""
    if caps.version < _MULTIPLIER_DROPPED:
        _default_mappings(resource_slice.get("spec", {}).get("devices") or ())


def default_slice_v1beta1(resource_slice: Object, caps: Capabilities) -> None:
    """Default the node's share of a device's capacity to one."""
    if caps.version < _MULTIPLIER_DROPPED:
        devices = resource_slice.get("spec", {}).get("devices") or ()
        _default_mappings(device["basic"] for device in devices if "basic" in device)


def default_pool_status_request(request: Object, caps: Capabilities) -> None:
    """Default the limit to a hundred pools."""
    # upstream 1.36: pkg/apis/resource/v1alpha3/defaults.go
    request.setdefault("spec", {}).setdefault("limit", 100)


def _default_requests(spec: Object) -> None:
    for request in spec.get("devices", {}).get("requests") or ():
        if "exactly" in request:
            _default_request(request["exactly"])
        for alternative in request.get("firstAvailable") or ():
            _default_request(alternative)


def _default_requests_v1beta1(spec: Object) -> None:
    for request in spec.get("devices", {}).get("requests") or ():
        if request.get("deviceClassName"):
            _default_count(request)
        _default_tolerations(request)
        for alternative in request.get("firstAvailable") or ():
            _default_request(alternative)


def _default_results(claim: Object) -> None:
    allocation = claim.get("status", {}).get("allocation", {})
    for result in allocation.get("devices", {}).get("results") or ():
        _default_tolerations(result)


def _default_request(request: Object) -> None:
    _default_count(request)
    _default_tolerations(request)


def _default_count(request: Object) -> None:
    if request.setdefault("allocationMode", "ExactCount") == "ExactCount":
        request.setdefault("count", 1)


def _default_tolerations(holder: Object) -> None:
    for toleration in holder.get("tolerations") or ():
        toleration.setdefault("operator", "Equal")


def _default_mappings(devices: Iterable[Object]) -> None:
    for device in devices:
        for mapping in device.get("nodeAllocatableResourceMappings", {}).values():
            mapping.setdefault("allocationMultiplier", "1")
