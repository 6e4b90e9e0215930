"""Requests that the API server proxies to a node: its simulated kubelet responds, as far as it has something to say."""

# upstream 1.36: pkg/registry/core/node/strategy.go (ResourceLocation), pkg/kubelet/server/{server.go,stats}
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Final

import orjson

from mockkube.api.errors import BadRequest, NotFound, Unavailable
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.apiserver.http import web
from mockkube.apiserver.http.handlers.non_resource_paths import METRICS_MEDIA
from mockkube.apiserver.http.handlers.pod_proxy import split_scheme_name_port
from mockkube.apiserver.http.requests.request_context import TEXT
from mockkube.apiserver.http.requests.resource_request import ResourceRequest
from mockkube.apiserver.registry.registry import Registry
from mockkube.apiserver.registry.resource import Resource
from mockkube.apiserver.registry.subresources.running_containers import (
    KUBELET_PORT,
    KubeletError,
    check_kubelet,
    find_running_container,
)
from mockkube.lazy_dataclasses import dataclass

JSON: Final = "application/json"
_SEGMENTS: Final = "/api/v1/nodes/NAME/proxy".count("/") + 1
_CHECKS: Final = ("ping", "log", "syncloop")
# Paths of kubelets that have no answer here: no container runs, and nodes have no files.
_REFUSED: Final = (
    "/attach", "/checkpoint", "/containerLogs", "/debug", "/exec", "/flagz", "/logs", "/metrics/cadvisor",
    "/metrics/probes", "/portForward", "/run", "/stats", "/statusz",
)  # fmt: skip
# Values of a kubelet without a configuration; the others say nothing about a simulated one.
_CONFIGURATION: Final[Mapping[str, object]] = {
    "kind": "KubeletConfiguration",
    "apiVersion": "kubelet.config.k8s.io/v1beta1",
    "enableServer": True,
    "syncFrequency": "1m0s",
    "clusterDomain": "cluster.local",
    "nodeStatusUpdateFrequency": "10s",
    "nodeStatusReportFrequency": "5m0s",
    "nodeLeaseDurationSeconds": 40,
    "cgroupDriver": "systemd",
    "cpuManagerPolicy": "none",
    "memoryManagerPolicy": "None",
    "topologyManagerPolicy": "none",
    "failSwapOn": True,
    "port": KUBELET_PORT,
}


@dataclass(frozen=True, slots=True)
class _Kubelet:
    """A node and its pods, as its kubelet knows them."""

    node: ReadOnlyObject
    pods: tuple[ReadOnlyObject, ...]
    registry: Registry

    @property
    def name(self) -> str:
        """Name of the node."""
        return str(self.node["metadata"]["name"])


@dataclass(frozen=True, slots=True)
class _Page:
    """Response of a kubelet."""

    body: bytes
    media: str = JSON
    status: int = 200


async def proxy_to_node(request: ResourceRequest) -> web.StreamResponse:
    """Respond as the kubelet of a node does."""
    nodes = request.resource
    await nodes.dependencies.watch_cache.wait_until_fresh()
    _, name, port = split_scheme_name_port(request.scope.name, "node")
    cached = nodes.get_cached("", name)
    if cached is None:
        raise NotFound.for_object("", "nodes", name)
    node = cached.load()
    _check_port(nodes, node, port)
    context, method = request.context, request.context.request.method
    whole, _, query = context.request.raw_path.partition("?")
    path = whole[len("/".join(whole.split("/")[:_SEGMENTS])) :]
    if not path and method in ("GET", "HEAD"):
        moved = context.respond(b"", status=301, media=TEXT)
        moved.headers["Location"] = f"{whole}/{f'?{query}' if query else ''}"
        return moved
    pods = nodes.dependencies.find_by_kind("v1", "Pod")
    own = () if pods is None else tuple(_list_pods(pods, name))
    page = _find_page(_Kubelet(node, own, request.registry), path.rstrip("/"), query, method)
    return context.respond(b"" if method == "HEAD" else page.body, status=page.status, media=page.media)


def _check_port(nodes: Resource, node: ReadOnlyObject, port: str) -> None:
    """Raise Unavailable if nothing listens on a port of a node; without a port, it is that of the kubelet."""
    status = node.get("status") or {}
    own = ((status.get("daemonEndpoints") or {}).get("kubeletEndpoint") or {}).get("Port") or KUBELET_PORT
    addresses = (one["address"] for one in status.get("addresses") or () if one["type"] == "InternalIP")
    address = next(addresses, node["metadata"]["name"])
    try:
        if port in ("", str(own)):
            check_kubelet(nodes, node)
            return
    except KubeletError:
        port = str(own)
    problem = f"dial tcp {address}:{port or own}: connect: connection refused"
    raise Unavailable(f"error trying to reach service: {problem}")


def _list_pods(pods: Resource, node: str) -> Iterator[ReadOnlyObject]:
    for cached in pods.collection.objects.values():
        pod = cached.load()
        if pod["spec"].get("nodeName") == node:
            yield pod


def _find_page(kubelet: _Kubelet, path: str, query: str, method: str) -> _Page:
    check = path.removeprefix("/healthz").removeprefix("/")
    if path == "/healthz" or (path.startswith("/healthz/") and check in _CHECKS):
        return _Page(_render_health(verbose="verbose" in query.split("&") and not check), TEXT)
    page = _PAGES.get(path)
    if page is None:
        if any(path == one or path.startswith(f"{one}/") for one in _REFUSED):
            raise BadRequest(f"nodes {kubelet.name}: mockkube does not simulate {path} of a kubelet")
        return _Page(b"404: Page Not Found", TEXT, 404)
    if method not in ("GET", "HEAD"):
        return _Page(b"405: Method Not Allowed", TEXT, 405)
    return page(kubelet)


def _render_health(*, verbose: bool) -> bytes:
    if not verbose:
        return b"ok"
    return "".join([*(f"[+]{name} ok\n" for name in _CHECKS), "healthz check passed\n"]).encode()


def _list_all_pods(kubelet: _Kubelet) -> _Page:
    return _render_pods(kubelet.pods)


def _list_running_pods(kubelet: _Kubelet) -> _Page:
    return _render_pods(pod for pod in kubelet.pods if _list_running_containers(pod))


def _render_pods(pods: Iterable[ReadOnlyObject]) -> _Page:
    items = [{name: value for name, value in pod.items() if name not in ("kind", "apiVersion")} for pod in pods]
    return _Page(orjson.dumps({"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": items}))


def _list_running_containers(pod: ReadOnlyObject) -> list[tuple[str, datetime]]:
    """Return name and start of the containers of a pod that run."""
    specs = (one["name"] for key in ("initContainers", "containers") for one in pod["spec"].get(key) or ())
    running = (find_running_container(pod, name) for name in specs)
    return [(one.name, one.started_at) for one in running if one is not None]


def _render_configuration(kubelet: _Kubelet) -> _Page:
    status = kubelet.node.get("status") or {}
    pods = int((status.get("capacity") or {}).get("pods", "110"))
    return _Page(orjson.dumps({"kubeletconfig": {**_CONFIGURATION, "maxPods": pods}}))


def _render_metrics(kubelet: _Kubelet) -> _Page:
    running = [_list_running_containers(pod) for pod in kubelet.pods]
    count = sum(map(len, running))
    lines = [
        *_render_metric("kubelet_node_name", "The node's name. The count is always 1.", {"node": kubelet.name}, 1),
        *_render_metric(
            "kubelet_running_containers",
            "Number of containers currently running",
            {"container_state": "running"},
            count,
        ),
        *_render_metric(
            "kubelet_running_pods", "Number of pods that have a running pod sandbox", {}, sum(map(bool, running))
        ),
    ]
    return _Page("".join(f"{line}\n" for line in lines).encode(), METRICS_MEDIA)


def _render_metric(name: str, text: str, labels: Mapping[str, str], value: float) -> Iterator[str]:
    yield f"# HELP {name} [ALPHA] {text}"
    yield f"# TYPE {name} gauge"
    yield _render_sample(name, labels, value)


def _render_sample(name: str, labels: Mapping[str, str], value: float) -> str:
    shown = ",".join(f'{key}="{text}"' for key, text in labels.items())
    return f"{name}{f'{{{shown}}}' if shown else ''} {value:g}"


def _render_resource_metrics(kubelet: _Kubelet) -> _Page:
    from mockkube.apiserver.http.handlers import node_usage_pages  # few kubelets are asked for usage

    measured = node_usage_pages.measure_node(kubelet.registry, kubelet.node)
    return _Page(node_usage_pages.render_resource_metrics(measured), METRICS_MEDIA)


def _render_summary(kubelet: _Kubelet) -> _Page:
    from mockkube.apiserver.http.handlers import node_usage_pages  # few kubelets are asked for usage

    return _Page(node_usage_pages.render_summary(node_usage_pages.measure_node(kubelet.registry, kubelet.node)))


_PAGES: Final[Mapping[str, Callable[[_Kubelet], _Page]]] = {
    "/configz": _render_configuration,
    "/metrics": _render_metrics,
    "/metrics/resource": _render_resource_metrics,
    "/pods": _list_all_pods,
    "/runningpods": _list_running_pods,
    "/stats/summary": _render_summary,
}
