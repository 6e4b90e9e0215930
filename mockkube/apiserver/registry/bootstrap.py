"""What a new cluster contains before anybody asks for anything: namespaces, the API's own service, system classes."""

from typing import Any, Final

from mockkube.api.errors import AlreadyExists
from mockkube.api.times import render_time
from mockkube.api.types import Object
from mockkube.apiserver.http.authentication import MASTERS, User
from mockkube.apiserver.registry import creation, updating
from mockkube.apiserver.registry.flow_control import FLOW_CONTROL, FLOW_SCHEMAS, PRIORITY_LEVELS
from mockkube.apiserver.registry.options import WriteOptions
from mockkube.apiserver.registry.registry import Registry
from mockkube.apiserver.registry.resource import Call

APISERVER: Final = User("system:apiserver", groups=(MASTERS,))
MANAGER: Final = "kube-apiserver"
ADDRESS: Final = "192.0.2.1"
"""Where endpoints say the server is unless told better: they may not name a loopback address."""
PORT: Final = 6443

_NAMESPACES: Final = ("kube-system", "kube-public", "kube-node-lease", "default")
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
    try:
        await creation.create(resource, call, resource.decode(obj, call, "Ignore"), WriteOptions(field_manager=MANAGER))
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


async def _report_conditions(registry: Registry) -> None:
    """Say what upstream's API server says of some of these objects once they are there."""
    message = "Kubernetes default Service CIDR is ready"
    await _report(registry, "networking.k8s.io/v1", "ServiceCIDR", "kubernetes", ("Ready", "True", "", message))
    for schema in FLOW_SCHEMAS:
        await _report(registry, FLOW_CONTROL, "FlowSchema", schema.name, ("Dangling", "False", "Found", schema.found))


async def _report(registry: Registry, api_version: str, kind: str, name: str, said: tuple[str, str, str, str]) -> None:
    """Write a condition (type, status, reason, message) into an object that has none."""
    resource = registry.of_kind(api_version, kind)
    record = resource.record("", name) if resource is not None else None
    if resource is None or record is None or (record.load().get("status") or {}).get("conditions"):
        return
    condition = dict(zip(("type", "status", "reason", "message"), said, strict=True))
    condition["lastTransitionTime"] = render_time(registry.services.clock.now())
    call = Call(APISERVER, name=name, subresource="status", user_agent=MANAGER)

    def report(current: Object) -> Object:
        return {**current, "status": {"conditions": [condition]}}

    await updating.update(resource, call, report, WriteOptions(field_manager=MANAGER))
