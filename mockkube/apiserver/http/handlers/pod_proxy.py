"""Requests that the API server proxies to a pod or a service: the simulated server of a container responds."""

# upstream 1.36: pkg/registry/core/{pod/strategy.go,service/storage/storage.go} (ResourceLocation),
# apimachinery/pkg/util/proxy/{transport,upgradeaware}.go, apimachinery/pkg/util/net/port_split.go
import posixpath
import re
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from mockkube.api.errors import BadRequest, NotFound, Unavailable
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.apiserver.http import web
from mockkube.apiserver.http.requests.resource_request import ResourceRequest
from mockkube.apiserver.registry.resource import Resource
from mockkube.apiserver.registry.subresources.container_starts import find_object
from mockkube.apiserver.registry.subresources.logs import CONTAINER_FIELDS
from mockkube.apiserver.registry.subresources.running_containers import find_running_container
from mockkube.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from mockkube.shell.containers.servers import HttpResponse

_SEGMENTS: Final = "/api/v1/namespaces/NAMESPACE/RESOURCE/NAME/proxy".count("/") + 1
_DEFAULT_PORTS: Final = {"": 80, "http": 80, "https": 443}
_HTML: Final = "text/html; charset=utf-8"
_TEXT: Final = "text/plain; charset=utf-8"
_HTML_START: Final = re.compile(
    r"\s*<(?:!doctype html|!--|html|head|script|iframe|h1|div|font|table|a|style|title|b|body|br|p)[ >]", re.IGNORECASE
)
_LINK: Final = re.compile(r"""(<[a-z][^<>]*?\s(?:action|background|cite|href|longdesc|src)=")(/[^"]*)""", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Location:
    """Address that a request is sent to."""

    pod: ReadOnlyObject
    scheme: str
    port: str

    @property
    def address(self) -> str:
        """IP address and port, as in a URL."""
        host = self.pod["status"]["podIP"]
        return f"[{host}]:{self.port}" if ":" in host else f"{host}:{self.port}"


async def proxy_to_pod(request: ResourceRequest) -> web.StreamResponse:
    """Respond as the server of a pod does."""
    await request.resource.dependencies.watch_cache.wait_until_fresh()
    scheme, name, port = split_scheme_name_port(request.scope.name, "pod")
    pods = request.resource
    cached = pods.get_cached(request.scope.namespace, name)
    if cached is None:
        raise NotFound.for_object("", "pods", name)
    pod = cached.load()
    if not (pod.get("status") or {}).get("podIP"):
        raise BadRequest("address not allowed")
    if not port:
        ports = (one["containerPort"] for spec in pod["spec"]["containers"] for one in spec.get("ports") or ())
        port = str(next(ports, _DEFAULT_PORTS[scheme]))
    return _proxy(request, pods, _Location(pod, scheme, port))


async def proxy_to_service(request: ResourceRequest) -> web.StreamResponse:
    """Respond as the server of a ready pod of a service does."""
    dependencies = request.resource.dependencies
    await dependencies.watch_cache.wait_until_fresh()
    pods = dependencies.find_by_kind("v1", "Pod")
    if pods is None:
        raise NotFound.for_path()
    return _proxy(request, pods, _find_backend(request.resource, pods, request.scope.namespace, request.scope.name))


def _find_backend(services: Resource, pods: Resource, namespace: str, text: str) -> _Location:
    """Return the address of a pod behind a service; raise NotFound or Unavailable if there is none."""
    scheme, name, port = split_scheme_name_port(text, "service")
    if port.isdecimal():
        service = services.get_cached(namespace, name)
        if service is None:
            raise NotFound.for_object("", "services", name)
        declared = (one for one in service.load()["spec"].get("ports") or () if one["port"] == int(port))
        found = next(declared, None)
        if found is None:
            raise Unavailable(f'no service port {port} found for service "{name}"')
        port = found.get("name", "")
    endpoints = find_object(pods, "Endpoints", namespace, name)
    if endpoints is None:
        raise NotFound.for_object("", "endpoints", name)
    if not endpoints.get("subsets"):
        raise Unavailable(f'no endpoints available for service "{name}"')
    for subset in endpoints["subsets"]:
        number = next((one["port"] for one in subset.get("ports") or () if one.get("name", "") == port), None)
        for address in subset.get("addresses") or ():
            pod = _find_pod_of_address(pods, namespace, address)
            if number is not None and pod is not None:
                return _Location(pod, scheme, str(number))
    raise Unavailable(f'no endpoints available for service "{text}"')


def _find_pod_of_address(pods: Resource, namespace: str, address: ReadOnlyObject) -> ReadOnlyObject | None:
    """Return the pod that an endpoint address names, if the pod has that address."""
    target = address.get("targetRef") or {}
    pod = find_object(pods, "Pod", target.get("namespace", namespace), target.get("name", ""))
    known = () if pod is None else (pod.get("status") or {}).get("podIPs") or ()
    return pod if any(one["ip"] == address["ip"] for one in known) else None


def _proxy(request: ResourceRequest, pods: Resource, location: _Location) -> web.Response:
    context, method = request.context, request.context.request.method
    path, _, query = context.request.raw_path.partition("?")
    suffix = f"?{query}" if query else ""
    prefix = "/".join(path.split("/")[:_SEGMENTS])
    after = path[len(prefix) :]
    # Links of a page are relative to its directory, which a path without a slash at its end does not name.
    if not after and method in ("GET", "HEAD"):
        moved = context.respond(b"", status=301, media=_TEXT)
        moved.headers["Location"] = f"{path}/{suffix}"
        return moved
    response = _send_request(pods, location, method, f"{after}{suffix}")
    media = response.media or (_HTML if _HTML_START.match(response.body) else _TEXT)
    body = _rewrite_links(response.body, prefix) if media == _HTML else response.body
    answer = context.respond(b"" if method == "HEAD" else body.encode(), status=response.status, media=media)
    if response.location:
        answer.headers["Location"] = _rewrite_url(response.location, prefix, location.address)
    return answer


def _send_request(pods: Resource, location: _Location, method: str, path: str) -> "HttpResponse":
    """Return the response of the container that listens; raise Unavailable if none does."""
    from mockkube.shell.containers.environment import ConfigError  # loaded for the first request: most servers get none
    from mockkube.shell.containers.interpreter import find_files
    from mockkube.shell.containers.servers import HttpRequest, HttpResponse, find_server
    from mockkube.shell.machine.file_system import UNKNOWN

    if not location.port.isdecimal():
        raise _unreachable(f"dial tcp: lookup tcp/{location.port}: unknown port")
    pod, port, is_tls = location.pod, int(location.port), location.scheme == "https"
    name, is_known = pod["metadata"]["name"], True
    now = pods.dependencies.clock.now()
    specs = (spec for key in CONTAINER_FIELDS for spec in pod["spec"].get(key, ()))
    for container in (find_running_container(pod, spec["name"]) for spec in specs):
        if container is None:
            continue
        start = container.make_start(pods)
        try:
            server = find_server(pod, container.spec, start)
        except ConfigError:
            server = None
        if server is None or (port in server.ports and server.respond is None):
            is_known = False
        elif port in server.ports and server.respond is not None:
            if is_tls and port not in server.tls_ports:
                raise _unreachable("http: server gave HTTP response to HTTPS client")
            if not is_tls and port in server.tls_ports:
                return HttpResponse(400, "Client sent an HTTP request to an HTTPS server.\n")
            seconds = (now - container.started_at).total_seconds()
            files = find_files(pod, container.spec, start, seconds)
            response = server.respond(HttpRequest(path, seconds, files, port, method))
            if UNKNOWN not in response.body:
                return response
            raise BadRequest(f"pods {name}: mockkube does not know the response to {path} on port {port}")
    if is_known:
        raise _unreachable(f"dial tcp {location.address}: connect: connection refused")
    raise BadRequest(f"pods {name}: mockkube does not simulate the program that may listen on port {port}")


def _unreachable(problem: str) -> Unavailable:
    return Unavailable(f"error trying to reach service: {problem}")


def _rewrite_links(page: str, prefix: str) -> str:
    """Return a page whose links to its own host lead through the proxy."""
    return _LINK.sub(lambda found: f"{found[1]}{_rewrite_url(found[2], prefix, '')}", page)


def _rewrite_url(url: str, prefix: str, address: str) -> str:
    """Return a URL of the pod as one of the proxy; one of another host, or a relative one, stays."""
    parts = urlsplit(url)
    if parts.netloc not in ("", address) or not parts.path.startswith("/") or parts.path.startswith(prefix):
        return url
    slash = "/" if parts.path.endswith("/") else ""
    joined = f"{prefix}{posixpath.normpath(parts.path)}".rstrip("/") + slash
    return parts._replace(scheme="", netloc="", path=joined).geturl()


def split_scheme_name_port(text: str, singular: str) -> tuple[str, str, str]:
    """Split `name`, `name:port` or `scheme:name:port` of a proxied object."""
    parts = text.split(":")
    if len(parts) < 3:
        parts = ["", *parts, ""][:3]
    if len(parts) > 3 or parts[0] not in _DEFAULT_PORTS or not parts[1]:
        raise BadRequest(f'invalid {singular} request "{text}"')
    return parts[0], parts[1], parts[2]
