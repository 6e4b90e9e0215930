"""Objects of a new cluster: system namespaces, priority classes, flow schemas, the service `kubernetes`."""

from datetime import datetime
from typing import Any, Final

from mockkube.api.errors import AlreadyExists, Invalid
from mockkube.api.json_objects import Object
from mockkube.api.patching.patch_type import PatchType
from mockkube.api.times import render_time
from mockkube.apiserver.identity.user import MASTERS_GROUP, User
from mockkube.apiserver.registry import creation, patching
from mockkube.apiserver.registry.bootstrap_flow_control import FLOW_CONTROL, FLOW_SCHEMAS, PRIORITY_LEVELS
from mockkube.apiserver.registry.options import WriteOptions
from mockkube.apiserver.registry.patching import Patch
from mockkube.apiserver.registry.registry import Registry
from mockkube.apiserver.registry.resource import RequestScope
from mockkube.lazy_dataclasses import dataclass

APISERVER_USER: Final = User("system:apiserver", groups=(MASTERS_GROUP,))
FIELD_MANAGER: Final = "kube-apiserver"
# ConfigMap with the date since when the last use of legacy tokens is tracked.
LEGACY_TOKEN_TRACKING: Final = "kube-apiserver-legacy-service-account-token-tracking"  # noqa: S105
# Default address in the endpoints of the API server. Endpoints may not name a loopback address, so this is one of the
# range reserved for documentation.
DEFAULT_ADDRESS: Final = "192.0.2.1"
DEFAULT_PORT: Final = 6443

# Attempts to create an object that several servers create at once, and the delay between them.
_CREATE_TRIES_MAX: Final = 50
_RETRY_SECONDS: Final = 0.1
_NAMESPACES: Final = ("kube-system", "kube-public", "kube-node-lease", "default")
_FLOW_PRODUCER: Final = "api-priority-and-fairness-config-producer-v1"
_FLOW_CONSUMER: Final = "api-priority-and-fairness-config-consumer-v1"
_CIDR_REPORTER: Final = "kubernetes-service-cidr-controller"
_KUBERNETES_METADATA: Final = {"name": "kubernetes", "namespace": "default"}


async def bootstrap(
    registry: Registry, *, address: str = DEFAULT_ADDRESS, port: int = DEFAULT_PORT, authority: str = ""
) -> None:
    """Create the objects that are missing; existing ones are not changed.

    `authority` is the PEM certificate that signs client certificates.
    """
    for obj in _bootstrap_objects(registry, address, port, authority):
        await _ensure_created(registry, obj)
    await _report_conditions(registry)


async def _ensure_created(registry: Registry, obj: Object) -> None:
    """Create an object that is missing; wait for another server that is about to create it."""
    dependencies = registry.dependencies
    for remaining in reversed(range(_CREATE_TRIES_MAX if dependencies.is_store_shared else 1)):
        try:
            await _create(registry, obj)
        except Invalid:
            # The address of the service `kubernetes` is claimed, or has just been used.
            if not remaining:
                raise
            await dependencies.clock.sleep(_RETRY_SECONDS)
            await dependencies.watch_cache.wait_until_fresh()
        else:
            return


async def _create(registry: Registry, obj: Object) -> None:
    resource = registry.find_by_kind(obj["apiVersion"], obj["kind"])
    metadata = obj["metadata"]
    namespace = metadata.get("namespace", "")
    if resource is None or resource.get_cached(namespace, metadata["name"]) is not None:
        return
    scope = RequestScope(APISERVER_USER, namespace, user_agent=FIELD_MANAGER)
    # Upstream creates flow schemas and priority levels under a field manager of their own.
    options = WriteOptions(field_manager=_FLOW_PRODUCER if obj["apiVersion"] == FLOW_CONTROL else FIELD_MANAGER)
    try:
        await creation.create(resource, scope, resource.decode(obj, scope, "Ignore"), options)
    except AlreadyExists:
        return  # another server of this cluster was faster


def _bootstrap_objects(registry: Registry, address: str, port: int, authority: str) -> list[Object]:
    # upstream 1.36: pkg/controlplane/controller, pkg/registry/scheduling/rest
    allocators = registry.dependencies.service_ip_allocator
    return [
        *(_make_object("v1", "Namespace", {"name": name}) for name in _NAMESPACES),
        *_priority_classes(),
        _make_object(
            "networking.k8s.io/v1", "ServiceCIDR", {"name": "kubernetes"}, spec={"cidrs": [*allocators.cidrs]}
        ),
        *_kubernetes_service(allocators.first_address, address, port),
        _authentication_config_map(authority),
        _token_tracking_config_map(registry.dependencies.clock.now()),
        *(
            _make_object(FLOW_CONTROL, "PriorityLevelConfiguration", **one.metadata_and_spec())
            for one in PRIORITY_LEVELS
        ),
        *(_make_object(FLOW_CONTROL, "FlowSchema", **one.metadata_and_spec()) for one in FLOW_SCHEMAS),
    ]


def _make_object(api_version: str, kind: str, metadata: Object, **rest: Any) -> Object:
    return {"apiVersion": api_version, "kind": kind, "metadata": dict(metadata), **rest}


def _priority_classes() -> list[Object]:
    # upstream 1.36: pkg/apis/scheduling/v1/helpers.go
    node = "Used for system critical pods that must not be moved from their current node."
    cluster = (
        "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary."
    )
    classes = (("system-node-critical", 2_000_001_000, node), ("system-cluster-critical", 2_000_000_000, cluster))
    return [
        _make_object("scheduling.k8s.io/v1", "PriorityClass", {"name": name}, value=value, description=text)
        for name, value, text in classes
    ]


def _kubernetes_service(cluster_ip: str, address: str, port: int) -> list[Object]:
    """Return the service `kubernetes` in `default`, its endpoints and its endpoint slice."""
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
        _make_object("v1", "Service", {**_KUBERNETES_METADATA, "labels": labels}, spec=spec),
        _make_object(
            "v1",
            "Endpoints",
            {**_KUBERNETES_METADATA, "labels": mirrored},
            subsets=[{"addresses": [{"ip": address}], "ports": ports}],
        ),
        _make_object(
            "discovery.k8s.io/v1",
            "EndpointSlice",
            {**_KUBERNETES_METADATA, "labels": named},
            addressType="IPv6" if ":" in address else "IPv4",
            endpoints=[endpoint],
            ports=ports,
        ),
    ]


def _authentication_config_map(authority: str) -> Object:
    """Return the ConfigMap from which aggregated API servers learn how to authenticate clients."""
    # upstream 1.36: pkg/controlplane/controller/clusterauthenticationtrust
    metadata = {"name": "extension-apiserver-authentication", "namespace": "kube-system"}
    return _make_object("v1", "ConfigMap", metadata, data={"client-ca-file": authority} if authority else {})


def _token_tracking_config_map(now: datetime) -> Object:
    # upstream 1.36: pkg/controlplane/controller/legacytokentracking
    metadata = {"name": LEGACY_TOKEN_TRACKING, "namespace": "kube-system"}
    return _make_object("v1", "ConfigMap", metadata, data={"since": f"{now:%Y-%m-%d}"})


async def _report_conditions(registry: Registry) -> None:
    """Write the status conditions that upstream's API server reports on its own objects."""
    message = "Kubernetes default Service CIDR is ready"
    ready = _ConditionReport(
        "networking.k8s.io/v1", "ServiceCIDR", "kubernetes", _CIDR_REPORTER, ("Ready", "True", "", message)
    )
    await _apply_condition(registry, ready)
    for schema in FLOW_SCHEMAS:
        found = ("Dangling", "False", "Found", schema.found_message)
        await _apply_condition(
            registry, _ConditionReport(FLOW_CONTROL, "FlowSchema", schema.name, _FLOW_CONSUMER, found)
        )


@dataclass(frozen=True, slots=True)
class _ConditionReport:
    """Condition (type, status, reason, message) to report on one object."""

    api_version: str
    kind: str
    name: str
    field_manager: str
    condition: tuple[str, str, str, str]

    def to_status(self, at: str) -> Object:
        """Return the status with the condition."""
        condition = dict(zip(("type", "status", "reason", "message"), self.condition, strict=True))
        # The Ready condition of a ServiceCIDR has no reason upstream.
        if not condition["reason"]:
            del condition["reason"]
        return {"conditions": [{**condition, "lastTransitionTime": at}]}


async def _apply_condition(registry: Registry, report: _ConditionReport) -> None:
    """Write a condition to an object that has no conditions yet."""
    resource = registry.find_by_kind(report.api_version, report.kind)
    cached = resource.get_cached("", report.name) if resource is not None else None
    if resource is None or cached is None or (cached.load().get("status") or {}).get("conditions"):
        return
    status = report.to_status(render_time(registry.dependencies.clock.now()))
    # Server-side apply makes the reporter the manager of the condition, as upstream's controllers are.
    document = _make_object(report.api_version, report.kind, {"name": report.name}, status=status)
    scope = RequestScope(APISERVER_USER, name=report.name, subresource="status", user_agent=FIELD_MANAGER)
    options = WriteOptions(field_manager=report.field_manager, force=True)
    await patching.apply(resource, scope, Patch(PatchType.APPLY, b"", document), options)
