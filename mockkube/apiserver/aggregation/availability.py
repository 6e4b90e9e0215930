"""Check the availability of an APIService: its service exists, has ready endpoints, and answers discovery."""

# upstream 1.36: kube-aggregator/pkg/controllers/status/remote/remote_available_controller.go
from dataclasses import dataclass
from typing import Final

import aiohttp
import orjson
from multidict import CIMultiDict
from yarl import URL

from mockkube.api.types import Object, ReadOnlyObject
from mockkube.apiserver.aggregation.resource_lists import readable
from mockkube.apiserver.aggregation.routes import NoRoute, answers, port_of, route, service_of, slices_of
from mockkube.apiserver.aggregation.transport import Transport, Unreachable, identify
from mockkube.apiserver.identity.user import MASTERS, User
from mockkube.apiserver.registry.registry import Registry

AGGREGATOR: Final = User("system:kube-aggregator", groups=(MASTERS,))
_SECONDS: Final = 5.0
_ANSWER_BYTES_MAX: Final = 3 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Finding:
    """Result of a check: status, reason and message of the condition, and the resources that the server serves."""

    available: bool
    reason: str
    message: str
    resources: list[Object] | None = None


async def find(registry: Registry, transport: Transport, spec: ReadOnlyObject) -> Finding:
    """Check the server that the spec of an APIService describes."""
    missing = _missing(registry, spec["service"])
    if missing is not None:
        return missing
    try:
        where = route(registry, spec["service"])
    except NoRoute as error:
        return _failed(str(error))
    group, version = spec.get("group", ""), spec["version"]
    url = f"{where.url}/apis/{group}/{version}" if group else f"{where.url}/api/{version}"
    headers: CIMultiDict[str] = CIMultiDict(Accept="application/json")
    identify(headers, AGGREGATOR)
    try:
        async with transport.sent("GET", URL(url), spec, headers=headers, seconds=_SECONDS) as response:
            if not 200 <= response.status < 300:
                why = f"bad status from {url}: {response.status}"
                return _failed(f"failing or missing response from {url}: {why}")
            resources = await _told(response)
    except Unreachable as error:
        return _failed(f'failing or missing response from {url}: Get "{url}": {error}')
    return Finding(available=True, reason="Passed", message="all checks passed", resources=resources)


def _missing(registry: Registry, reference: ReadOnlyObject) -> Finding | None:
    """Return what the service lacks, None if it can be connected to."""
    shown = f'service/{reference["name"]} in "{reference["namespace"]}"'
    service = service_of(registry, reference)
    if service is None:
        return Finding(available=False, reason="ServiceNotFound", message=f"{shown} is not present")
    # upstream only checks ports and endpoints of ClusterIP services.
    if service["spec"].get("type") != "ClusterIP":
        return None
    number = reference.get("port") or 443
    port = port_of(service, number)
    if port is None:
        return Finding(available=False, reason="ServicePortError", message=f"{shown} is not listening on port {number}")
    slices = list(slices_of(registry, service))
    if not slices:
        return Finding(available=False, reason="EndpointsNotFound", message=f"cannot find endpointslices for {shown}")
    called = port.get("name", "")
    if not any(answers(one, called) for one in slices):
        why = f'endpointslices for {shown} have no addresses with port name "{called}"'
        return Finding(available=False, reason="MissingEndpoints", message=why)
    return None


def _failed(why: str) -> Finding:
    return Finding(available=False, reason="FailedDiscoveryCheck", message=why)


async def _told(response: aiohttp.ClientResponse) -> list[Object] | None:
    """Return the resources of the discovery response; None if it is malformed, too large or incomplete."""
    text = bytearray()
    try:
        async for part in response.content.iter_any():
            text += part
            if len(text) > _ANSWER_BYTES_MAX:
                return None
        return readable(orjson.loads(text))
    except (aiohttp.ClientError, OSError, orjson.JSONDecodeError):
        return None
