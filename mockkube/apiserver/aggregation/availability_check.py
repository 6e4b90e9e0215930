"""Check the availability of an APIService: its service exists, has ready endpoints, and answers discovery."""

# upstream 1.36: kube-aggregator/pkg/controllers/status/remote/remote_available_controller.go
from typing import Final

import aiohttp
import orjson
from multidict import CIMultiDict
from yarl import URL

from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.apiserver.aggregation.discovery import parse_resource_list
from mockkube.apiserver.aggregation.service_resolver import (
    NoEndpoint,
    find_endpoint_slices,
    find_port,
    find_service,
    has_ready_endpoint,
    resolve_endpoint,
)
from mockkube.apiserver.aggregation.transport import ServerUnreachable, Transport, set_user_headers
from mockkube.apiserver.identity.user import MASTERS_GROUP, User
from mockkube.apiserver.registry.registry import Registry
from mockkube.lazy_dataclasses import dataclass

AGGREGATOR: Final = User("system:kube-aggregator", groups=(MASTERS_GROUP,))
_CHECK_SECONDS: Final = 5.0
_RESPONSE_BYTES_MAX: Final = 3 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Availability:
    """Result of a check: status, reason and message of the condition, and the resources that the server serves."""

    available: bool
    reason: str
    message: str
    resources: list[Object] | None = None


async def check_availability(registry: Registry, transport: Transport, spec: ReadOnlyObject) -> Availability:
    """Check the server that the spec of an APIService describes."""
    missing = _check_service(registry, spec["service"])
    if missing is not None:
        return missing
    try:
        where = resolve_endpoint(registry, spec["service"])
    except NoEndpoint as error:
        return _failed_discovery(str(error))
    group, version = spec.get("group", ""), spec["version"]
    url = f"{where.url}/apis/{group}/{version}" if group else f"{where.url}/api/{version}"
    headers: CIMultiDict[str] = CIMultiDict(Accept="application/json")
    set_user_headers(headers, AGGREGATOR)
    try:
        async with transport.send("GET", URL(url), spec, headers=headers, seconds=_CHECK_SECONDS) as response:
            if not 200 <= response.status < 300:
                why = f"bad status from {url}: {response.status}"
                return _failed_discovery(f"failing or missing response from {url}: {why}")
            resources = await _read_resources(response)
    except ServerUnreachable as error:
        return _failed_discovery(f'failing or missing response from {url}: Get "{url}": {error}')
    return Availability(available=True, reason="Passed", message="all checks passed", resources=resources)


def _check_service(registry: Registry, reference: ReadOnlyObject) -> Availability | None:
    """Return what the service lacks, None if it can be connected to."""
    shown = f'service/{reference["name"]} in "{reference["namespace"]}"'
    service = find_service(registry, reference)
    if service is None:
        return Availability(available=False, reason="ServiceNotFound", message=f"{shown} is not present")
    # upstream only checks ports and endpoints of ClusterIP services.
    if service["spec"].get("type") != "ClusterIP":
        return None
    number = reference.get("port") or 443
    port = find_port(service, number)
    if port is None:
        return Availability(
            available=False, reason="ServicePortError", message=f"{shown} is not listening on port {number}"
        )
    slices = list(find_endpoint_slices(registry, service))
    if not slices:
        return Availability(
            available=False, reason="EndpointsNotFound", message=f"cannot find endpointslices for {shown}"
        )
    called = port.get("name", "")
    if not any(has_ready_endpoint(one, called) for one in slices):
        why = f'endpointslices for {shown} have no addresses with port name "{called}"'
        return Availability(available=False, reason="MissingEndpoints", message=why)
    return None


def _failed_discovery(why: str) -> Availability:
    return Availability(available=False, reason="FailedDiscoveryCheck", message=why)


async def _read_resources(response: aiohttp.ClientResponse) -> list[Object] | None:
    """Return the resources of the discovery response; None if it is malformed, too large or incomplete."""
    text = bytearray()
    try:
        async for part in response.content.iter_any():
            text += part
            if len(text) > _RESPONSE_BYTES_MAX:
                return None
        return parse_resource_list(orjson.loads(text))
    except (aiohttp.ClientError, OSError, orjson.JSONDecodeError):
        return None
