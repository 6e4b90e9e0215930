"""Pods that a client connects to: checks of the API server, then those of the node's simulated kubelet."""

# upstream 1.36: pkg/registry/core/pod/strategy.go (streamLocation), pkg/kubelet/server/server.go, kubelet_pods.go
from datetime import datetime
from typing import TYPE_CHECKING, Final

from mockkube.api.errors import BadRequest, NotFound
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.kinds.coordination.lease import is_expired
from mockkube.api.times import parse_time
from mockkube.apiserver.registry.resource import RequestScope, Resource
from mockkube.apiserver.registry.subresources.container_starts import find_object, make_container_start
from mockkube.apiserver.registry.subresources.logs import (
    CONTAINER_FIELDS,
    STATUS_FIELDS,
    choose_container,
    open_pod_watch,
)
from mockkube.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from mockkube.shell.containers.container_start import ContainerStart

KUBELET_PORT: Final = 10250
_KUBELET_ANNOTATION: Final = "mockkube.dev/kubelet"
_NODE_LEASES: Final = "kube-node-lease"
_ENDED_PHASES: Final = ("Succeeded", "Failed")


class KubeletError(Exception):
    """Error response of a kubelet, or of the connection to it."""

    def __init__(self, message: str, code: int = 500) -> None:
        super().__init__(message)
        self.message, self.code = message, code


@dataclass(frozen=True, slots=True)
class RunningContainer:
    """Container that runs, and the start of its present run."""

    pod: ReadOnlyObject
    spec: ReadOnlyObject
    run: int
    started_at: datetime

    @property
    def name(self) -> str:
        """Name of the container."""
        return str(self.spec["name"])

    @property
    def pod_uid(self) -> str:
        """Uid of the pod."""
        return str(self.pod["metadata"]["uid"])

    def make_start(self, pods: Resource) -> "ContainerStart":
        """Return the start of the run, as the interpreter of its command expects it."""
        return make_container_start(pods, self.run, self.started_at)


@dataclass(frozen=True, slots=True)
class ConnectTarget:
    """Pod of a connect request, with its node; the container is empty for a port-forward."""

    pod: ReadOnlyObject
    container: str
    node: ReadOnlyObject


async def find_target(pods: Resource, scope: RequestScope, container: str | None) -> ConnectTarget:
    """Return the target of a connect request; None as container: the request names none.

    Raise NotFound or BadRequest in the words of the API server.
    """
    await pods.dependencies.watch_cache.wait_until_fresh()
    cached = pods.get_cached(scope.namespace, scope.name)
    if cached is None:
        raise NotFound.for_object("", "pods", scope.name)
    pod = cached.load()
    chosen = "" if container is None else choose_container(pod, container)
    node_name = pod["spec"].get("nodeName")
    if not node_name:
        raise BadRequest(f"pod {scope.name} does not have a host assigned")
    node = find_object(pods, "Node", "", node_name)
    if node is None:
        raise NotFound.for_object("", "nodes", node_name)
    return ConnectTarget(pod, chosen, node)


def check_kubelet(pods: Resource, node: ReadOnlyObject) -> None:
    """Raise KubeletError if no simulated kubelet answers for this node."""
    annotations = node["metadata"].get("annotations") or {}
    is_simulated, name = annotations.get(_KUBELET_ANNOTATION) != "none", node["metadata"]["name"]
    kubelets = pods.dependencies.simulated_kubelets
    if is_simulated and (kubelets.is_running(name) or (kubelets.are_left_out and _renews_lease(pods, name))):
        return
    addresses = (node.get("status") or {}).get("addresses") or ()
    address = next((one["address"] for one in addresses if one["type"] == "InternalIP"), node["metadata"]["name"])
    raise KubeletError(f"error dialing backend: dial tcp {address}:{KUBELET_PORT}: connect: connection refused")


def _renews_lease(pods: Resource, node: str) -> bool:
    """Return whether a kubelet somewhere renews the lease of its node."""
    leases = pods.dependencies.find_storage_resource("coordination.k8s.io", "leases")
    cached = None if leases is None else leases.get_cached(_NODE_LEASES, node)
    return cached is not None and not is_expired(cached.load(), pods.dependencies.clock.now())


def find_running_container(pod: ReadOnlyObject, name: str) -> RunningContainer | None:
    """Return a container of a pod with its present run; None if it does not run."""
    status = pod.get("status") or {}
    if status.get("phase") in _ENDED_PHASES:
        return None
    known = (one for key in STATUS_FIELDS for one in status.get(key) or () if one["name"] == name)
    shown = next(known, None)
    running = ((shown or {}).get("state") or {}).get("running")
    if shown is None or running is None:
        return None
    spec = next(one for key in CONTAINER_FIELDS for one in pod["spec"].get(key, ()) if one["name"] == name)
    return RunningContainer(pod, spec, shown.get("restartCount") or 0, parse_time(running["startedAt"]))


def has_running_container(pod: ReadOnlyObject) -> bool:
    """Return whether a container of a pod runs."""
    names = (one["name"] for key in CONTAINER_FIELDS for one in pod["spec"].get(key, ()))
    return any(find_running_container(pod, name) is not None for name in names)


def require_running_container(pod: ReadOnlyObject, name: str, not_found: str) -> RunningContainer:
    """Return a container that runs; raise KubeletError with this message if it does not."""
    container = find_running_container(pod, name)
    if container is None:
        raise KubeletError(not_found)
    return container


async def wait_until_ended(pods: Resource, container: RunningContainer) -> None:
    """Return once the present run of a container is over, or its pod is gone."""
    metadata = container.pod["metadata"]
    watch = await open_pod_watch(pods, container.pod)
    try:
        while not (watch.has_lagged or watch.is_stopped):
            cached = pods.get_cached(metadata["namespace"], metadata["name"])
            pod = None if cached is None else cached.load()
            if pod is None or pod["metadata"]["uid"] != metadata["uid"]:
                return
            present = find_running_container(pod, container.name)
            if present is None or present.run != container.run:
                return
            watch.take_events()
            await watch.wait()
    finally:
        watch.close()
