"""What a new cluster contains before anybody asks for anything: namespaces, the API's own service, system classes."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from mockkube.api.errors import AlreadyExists
from mockkube.api.times import render_time
from mockkube.api.types import Object
from mockkube.apiserver.identity.user import MASTERS, User
from mockkube.apiserver.registry import creation, patching
from mockkube.apiserver.registry.flow_control import FLOW_CONTROL, FLOW_SCHEMAS, PRIORITY_LEVELS
from mockkube.apiserver.registry.options import WriteOptions
from mockkube.apiserver.registry.patching import Patch, PatchType
from mockkube.apiserver.registry.registry import Registry
from mockkube.apiserver.registry.resource import Call

APISERVER: Final = User("system:apiserver", groups=(MASTERS,))
MANAGER: Final = "kube-apiserver"
LEGACY_TRACKING: Final = "kube-apiserver-legacy-service-account-token-tracking"
"""The ConfigMap that says since when the last use of tokens kept in secrets is noted."""
ADDRESS: Final = "192.0.2.1"
"""Where endpoints say the server is unless told better: they may not name a loopback address."""
PORT: Final = 6443

_NAMESPACES: Final = ("kube-system", "kube-public", "kube-node-lease", "default")
_FLOW_PRODUCER: Final = "api-priority-and-fairness-config-producer-v1"
_FLOW_CONSUMER: Final = "api-priority-and-fairness-config-consumer-v1"
_CIDR_REPORTER: Final = "kubernetes-service-cidr-controller"
_IN_DEFAULT: Final = {"name": "kubernetes", "namespace": "default"}


async def bootstrap(registry: Registry, *, address: str = ADDRESS, port: int = PORT, authority: str = "") -> None:
    """Create what is missing; what is there stays as it is. `authority` is the PEM that signs client certificates."""
    for obj in _objects(registry, address, port, authority):
        await _create(registry, obj)
    await _report_conditions(registry)


async def _create(registry: Registry, obj: Object) -> None:
    resource = registry.of_kind(obj["apiVersion"], obj["kind"])
    metadata = obj["metadata"]
    namespace = metadata.get("namespace", "")
    if resource is None or resource.record(namespace, metadata["name"]) is not None:
        return
    call = Call(APISERVER, namespace, user_agent=MANAGER)
    options = WriteOptions(field_manager=_FLOW_PRODUCER if obj["apiVersion"] == FLOW_CONTROL else MANAGER)
    try:
        await creation.create(resource, call, resource.decode(obj, call, "Ignore"), options)
    except AlreadyExists:
        return  # another server of this cluster was faster


def _objects(registry: Registry, address: str, port: int, authority: str) -> list[Object]:
    # upstream 1.36: pkg/controlplane/controller, pkg/registry/scheduling/rest
    allocators = registry.services.allocators
    return [
        *(_object("v1", "Namespace", {"name": name}) for name in _NAMESPACES),
        *_priority_classes(),
        _object("networking.k8s.io/v1", "ServiceCIDR", {"name": "kubernetes"}, spec={"cidrs": [*allocators.cidrs]}),
        *_own_service(allocators.first_address, address, port),
        _authentication(authority),
        _token_tracking(registry.services.clock.now()),
        *(_object(FLOW_CONTROL, "PriorityLevelConfiguration", **one.parts()) for one in PRIORITY_LEVELS),
        *(_object(FLOW_CONTROL, "FlowSchema", **one.parts()) for one in FLOW_SCHEMAS),
    ]


def _object(api_version: str, kind: str, metadata: Object, **rest: Any) -> Object:
    return {"apiVersion": api_version, "kind": kind, "metadata": dict(metadata), **rest}


def _priority_classes() -> list[Object]:
    # upstream 1.36: pkg/apis/scheduling/v1/helpers.go
    node = "Used for system critical pods that must not be moved from their current node."
    cluster = (
        "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary."
    )
    classes = (("system-node-critical", 2_000_001_000, node), ("system-cluster-critical", 2_000_000_000, cluster))
    return [
        _object("scheduling.k8s.io/v1", "PriorityClass", {"name": name}, value=value, description=text)
        for name, value, text in classes
    ]


def _own_service(cluster_ip: str, address: str, port: int) -> list[Object]:
    """The service `kubernetes` in `default`, and where it leads."""
    # upstream 1.36: pkg/controlplane/controller/kubernetesservice, pkg/controlplane/reconcilers
    spec = {
        "type": "ClusterIP",
        "clusterIP": cluster_ip,
        "ipFamilyPolicy": "SingleStack",
        "sessionAffinity": "None",
        "ports": [{"name": "https", "protocol": "TCP", "port": 443, "targetPort": port}],
    }
    ports = [{"name": "https", "port": port, "protocol": "TCP"}]
    labels = {"provider": "kubernetes", "component": "apiserver"}
    mirrored = {"endpointslice.kubernetes.io/skip-mirror": "true"}
    named = {"kubernetes.io/service-name": "kubernetes"}
    endpoint = {"addresses": [address], "conditions": {"ready": True}}
    return [
        _object("v1", "Service", {**_IN_DEFAULT, "labels": labels}, spec=spec),
        _object(
            "v1",
            "Endpoints",
            {**_IN_DEFAULT, "labels": mirrored},
            subsets=[{"addresses": [{"ip": address}], "ports": ports}],
        ),
        _object(
            "discovery.k8s.io/v1",
            "EndpointSlice",
            {**_IN_DEFAULT, "labels": named},
            addressType="IPv6" if ":" in address else "IPv4",
            endpoints=[endpoint],
            ports=ports,
        ),
    ]


def _authentication(authority: str) -> Object:
    """What servers behind this one need to know of its clients."""
    # upstream 1.36: pkg/controlplane/controller/clusterauthenticationtrust
    metadata = {"name": "extension-apiserver-authentication", "namespace": "kube-system"}
    return _object("v1", "ConfigMap", metadata, data={"client-ca-file": authority} if authority else {})


def _token_tracking(now: datetime) -> Object:
    # upstream 1.36: pkg/controlplane/controller/legacytokentracking
    metadata = {"name": LEGACY_TRACKING, "namespace": "kube-system"}
    return _object("v1", "ConfigMap", metadata, data={"since": f"{now:%Y-%m-%d}"})


async def _report_conditions(registry: Registry) -> None:
    """Say what upstream's API server says of some of these objects once they are there."""
    message = "Kubernetes default Service CIDR is ready"
    ready = _Report("networking.k8s.io/v1", "ServiceCIDR", "kubernetes", _CIDR_REPORTER, ("Ready", "True", "", message))
    await _report(registry, ready)
    for schema in FLOW_SCHEMAS:
        found = ("Dangling", "False", "Found", schema.found)
        await _report(registry, _Report(FLOW_CONTROL, "FlowSchema", schema.name, _FLOW_CONSUMER, found))


@dataclass(frozen=True, slots=True)
class _Report:
    """A condition (type, status, reason, message) of one object."""

    api_version: str
    kind: str
    name: str
    manager: str
    said: tuple[str, str, str, str]

    def status(self, at: str) -> Object:
        """The status that says so."""
        condition = dict(zip(("type", "status", "reason", "message"), self.said, strict=True))
        if not condition["reason"]:
            del condition["reason"]
        return {"conditions": [{**condition, "lastTransitionTime": at}]}


async def _report(registry: Registry, report: _Report) -> None:
    """Write a condition into an object that has none."""
    resource = registry.of_kind(report.api_version, report.kind)
    record = resource.record("", report.name) if resource is not None else None
    if resource is None or record is None or (record.load().get("status") or {}).get("conditions"):
        return
    status = report.status(render_time(registry.services.clock.now()))
    document = _object(report.api_version, report.kind, {"name": report.name}, status=status)
    call = Call(APISERVER, name=report.name, subresource="status", user_agent=MANAGER)
    options = WriteOptions(field_manager=report.manager, force=True)
    await patching.apply(resource, call, Patch(PatchType.APPLY, b"", document), options)
