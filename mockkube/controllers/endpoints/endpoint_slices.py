"""endpointslice-controller: maintains the EndpointSlices of services with a selector.

upstream 1.36: pkg/controller/endpointslice/endpointslice_controller.go, staging/src/k8s.io/endpointslice
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import ClassVar, Final

from mockkube.api.errors import ApiError, NotFound
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.client.informer import ObjectChange
from mockkube.client.protocol import Key, WatchEventType, key_of
from mockkube.controllers.endpoints.service_pods import (
    addresses,
    belongs_in_endpoints,
    find_port,
    hostname_for,
    is_headless,
    needs_endpoints,
    reference_to_pod,
    selected_pods,
    services_to_update,
)
from mockkube.controllers.endpoints.slice_plan import (
    PortsKey,
    SliceGroup,
    SlicePlan,
    plan_slices,
    ports_key,
    sort_ports,
)
from mockkube.controllers.endpoints.traffic_distribution import effective_traffic_distribution, reconcile_hints
from mockkube.controllers.endpoints.trigger_times import ANNOTATION, TriggerTimeTracker
from mockkube.controllers.framework.controller import DONE, Controller, ControllerDependencies, ReconcileResult
from mockkube.controllers.framework.controller_ref_manager import has_deletion_timestamp, new_controller_ref
from mockkube.controllers.framework.write_through_cache import WriteThroughCache
from mockkube.controllers.pods.pod_control import is_namespace_terminating
from mockkube.matching.node_selectors import aggregate_errors
from mockkube.matching.pods import is_ready
from mockkube.runtime.rate_limiters import (
    BucketRateLimiter,
    ItemExponentialFailureRateLimiter,
    MaxOfRateLimiter,
    RateLimiter,
)

SERVICE_NAME: Final = "kubernetes.io/service-name"
MANAGED_BY: Final = "endpointslice.kubernetes.io/managed-by"
HEADLESS: Final = "service.kubernetes.io/headless"
MANAGER: Final = "endpointslice-controller.k8s.io"
SLICE: Final = "EndpointSlice"
SIZE_MAX: Final = 100
_RESERVED: Final = (SERVICE_NAME, MANAGED_BY, HEADLESS)
_ZONE: Final = "topology.kubernetes.io/zone"
# Delay before a service is synced after somebody else changed one of its slices, as upstream: changes are batched.
# Delay before a service is synced after another client changed one of its slices, as upstream: changes are batched.
_CHANGE_SECONDS: Final = 1.0
_BACKOFF_SECONDS: Final = (1.0, 1000.0)


def slice_rate_limiter(controller: Controller) -> RateLimiter:
    """Return the rate limiter for services whose slices could not be written."""
    return MaxOfRateLimiter(ItemExponentialFailureRateLimiter(*_BACKOFF_SECONDS), BucketRateLimiter(controller.clock))


def service_key(endpoint_slice: ReadOnlyObject) -> Key | None:
    """Return the key of the service a slice belongs to."""
    metadata = endpoint_slice["metadata"]
    name = metadata.get("labels", {}).get(SERVICE_NAME)
    return Key(metadata["namespace"], name) if name else None


class EndpointSliceController(Controller):
    """Controller of EndpointSlices; keys are services."""

    name: ClassVar[str] = "endpointslice-controller"
    event_source: ClassVar[str] = "endpoint-slice-controller"
    queue_name: ClassVar[str] = "endpoint_slice"
    retries_max: ClassVar[int | None] = 15

    def __init__(self, dependencies: ControllerDependencies) -> None:
        super().__init__(dependencies)
        self.services = self.watched_informer("Service")
        self.pods = self.watched_informer("Pod", self._on_pod_change)
        self.nodes = self.informer("Node")
        slices = self.informer(SLICE)
        self._slices = WriteThroughCache(slices)
        slices.add_event_handler(self._on_slice_change)
        self._trigger_times = TriggerTimeTracker()

    def rate_limiter(self) -> RateLimiter:
        """Return the rate limiter for failed services, slower than the default as upstream."""
        return slice_rate_limiter(self)

    def _on_pod_change(self, change: ObjectChange) -> None:
        for key in services_to_update(change, self.services):
            self.work_queue.add(key)

    def _on_slice_change(self, change: ObjectChange) -> None:
        """Queue the service of a slice that another client changed."""
        # Own writes are in the write-through cache already.
        if change.type is not WatchEventType.DELETED and self._slices.is_own(change.object):
            return
        # A slice that lost its label belonged to a service before.
        for one in (change.object, change.old):
            if one is not None and _is_managed(one) and (service := service_key(one)) is not None:
                self.work_queue.add_after(service, _CHANGE_SECONDS)

    async def reconcile(self, key: Key) -> ReconcileResult:
        """Update the slices of a service."""
        service = self.services.get(key)
        if service is None:
            # The slices of a deleted service are left to the garbage collector.
            self._trigger_times.forget(key)
            return DONE
        if not needs_endpoints(service):
            return DONE
        pods = selected_pods(service, self.pods)
        slices = [
            one
            for one in self._slices.all(key.namespace)
            if _is_managed(one) and service_key(one) == key and not has_deletion_timestamp(one)
        ]
        changed_at = self._trigger_times.compute_trigger_time(service, pods)
        try:
            await self._reconcile_slices(service, pods, slices, changed_at)
        except ApiError as error:
            text = f"Error updating Endpoint Slices for Service {key}: {error.message}"
            self.events.record(service, "Warning", "FailedToUpdateEndpointSlices", text)
            raise
        return DONE

    async def _reconcile_slices(
        self, service: ReadOnlyObject, pods: Sequence[ReadOnlyObject], slices: list[ReadOnlyObject], changed_at: str
    ) -> None:
        """Reconcile the slices of each address type, then delete those of other types."""
        families, errors = _address_types(service), list[str]()
        for family in families:
            own = [one for one in slices if one["addressType"] == family]
            plan = self._plan_address_type(service, pods, own, family, errors)
            reconcile_hints(
                plan,
                plan.unchanged_slices(own),
                effective_traffic_distribution(service, self.dependencies.capabilities),
            )
            await self._execute_plan(service, plan, changed_at)
        # Slices of an address type that the service no longer has.
        obsolete = [one for one in slices if one["addressType"] not in families]
        await self._execute_plan(service, SlicePlan(delete=obsolete), changed_at)
        if errors:
            raise ApiError(aggregate_errors(errors))

    def _plan_address_type(
        self,
        service: ReadOnlyObject,
        pods: Sequence[ReadOnlyObject],
        slices: list[ReadOnlyObject],
        family: str,
        errors: list[str],
    ) -> SlicePlan:
        """Return the plan for the slices of one address type."""
        owned = [one for one in slices if _is_owned(one, service)]
        plan = SlicePlan(delete=[one for one in slices if not _is_owned(one, service)])
        existing: dict[PortsKey, list[ReadOnlyObject]] = {}
        for one in owned:
            existing.setdefault(ports_key(one.get("ports") or ()), []).append(one)
        wanted, ports = self._desired_endpoints(service, pods, family, errors)
        for key, endpoints in wanted.items():
            plan.merge(plan_slices(_slice_group(service, existing.pop(key, []), ports[key], family), endpoints))
        plan.delete += [one for left in existing.values() for one in left]
        # Clients should be able to tell a service without endpoints from one that was not processed yet.
        if len(plan.delete) == len(slices) and not plan.create:
            _add_placeholder(plan, service, family)
        return plan

    def _desired_endpoints(
        self, service: ReadOnlyObject, pods: Sequence[ReadOnlyObject], family: str, errors: list[str]
    ) -> tuple[dict[PortsKey, list[Object]], dict[PortsKey, list[ReadOnlyObject]]]:
        """Return the desired endpoints and the ports, by set of ports."""
        wanted: dict[PortsKey, list[Object]] = {}
        ports: dict[PortsKey, list[ReadOnlyObject]] = {}
        for pod in pods:
            if not belongs_in_endpoints(pod, also_terminating=True):
                continue
            offered = _endpoint_ports(service, pod)
            key = ports_key(offered)
            ports.setdefault(key, offered)
            wanted.setdefault(key, [])
            node = self.nodes.get(Key("", pod["spec"].get("nodeName", "")))
            if node is None and not service["spec"].get("publishNotReadyAddresses"):
                # The node may not be in the informer yet. The other endpoints are written, and the key is retried for
                # this one.
                errors.append(_missing_node_error(service, pod))
                continue
            endpoint = _build_endpoint(service, pod, node, family)
            if endpoint["addresses"]:
                wanted[key].append(endpoint)
        return wanted, ports

    async def _execute_plan(self, service: ReadOnlyObject, plan: SlicePlan, changed_at: str) -> None:
        """Create, update and delete slices as planned."""
        # An update in place of a deletion and a creation saves a write and lets watchers see one change.
        plan.recycle(lambda old: _is_owned(old, service))
        for new_slice in [] if has_deletion_timestamp(service) else plan.create:
            try:
                self._slices.record_write(await self.client.create(SLICE, with_trigger_time(new_slice, changed_at)))
            except ApiError as error:
                if is_namespace_terminating(error):
                    return
                raise ApiError(
                    f"failed to create EndpointSlice for Service {key_of(service)}: {error.message}"
                ) from error
        for changed in plan.update:
            self._slices.record_write(await self.client.update(SLICE, with_trigger_time(changed, changed_at)))
        for old in plan.delete:
            # Somebody else deleted it, which is what was wanted.
            with suppress(NotFound):
                await self.client.delete(SLICE, key_of(old))
            self._slices.record_deletion(old)


def _is_managed(endpoint_slice: ReadOnlyObject) -> bool:
    return bool(endpoint_slice["metadata"].get("labels", {}).get(MANAGED_BY) == MANAGER)


def with_trigger_time(endpoint_slice: Object, changed_at: str) -> Object:
    """Return a slice with the annotation of the time that triggered its change."""
    metadata = endpoint_slice["metadata"]
    others = {name: value for name, value in metadata.get("annotations", {}).items() if name != ANNOTATION}
    annotations = {**others, **({ANNOTATION: changed_at} if changed_at else {})}
    return {**endpoint_slice, "metadata": {**metadata, "annotations": annotations}}


def _is_owned(endpoint_slice: ReadOnlyObject, service: ReadOnlyObject) -> bool:
    uid = service["metadata"]["uid"]
    return any(
        one["uid"] == uid and one["kind"] == "Service" and one["apiVersion"] == "v1"
        for one in endpoint_slice["metadata"].get("ownerReferences", ())
    )


def _address_types(service: ReadOnlyObject) -> list[str]:
    spec = service["spec"]
    if families := spec.get("ipFamilies"):
        return list(families)
    # Services of old versions have no ipFamilies; a headless one has no address to derive them from.
    if is_headless(service):
        return ["IPv4", "IPv6"]
    return ["IPv6" if ":" in spec["clusterIP"] else "IPv4"]


def _unreserved_labels(labels: ReadOnlyObject) -> Object:
    return {name: value for name, value in labels.items() if name not in _RESERVED}


def _slice_labels(service: ReadOnlyObject) -> Object:
    labels = _unreserved_labels(service["metadata"].get("labels", {}))
    if is_headless(service):
        labels[HEADLESS] = ""
    return {**labels, SERVICE_NAME: service["metadata"]["name"], MANAGED_BY: MANAGER}


def _new_slice(service: ReadOnlyObject, ports: Sequence[ReadOnlyObject], family: str) -> Object:
    metadata: Object = {
        "generateName": f"{service['metadata']['name']}-",
        "namespace": service["metadata"]["namespace"],
        "labels": _slice_labels(service),
        "ownerReferences": [new_controller_ref(service, "v1", "Service")],
    }
    return {"metadata": metadata, "addressType": family, "endpoints": [], "ports": list(ports)}


def _slice_group(
    service: ReadOnlyObject, slices: list[ReadOnlyObject], ports: Sequence[ReadOnlyObject], family: str
) -> SliceGroup:
    own = _unreserved_labels(service["metadata"].get("labels", {}))
    return SliceGroup(
        slices=slices,
        labels=_slice_labels(service),
        has_stale_labels=lambda one: _unreserved_labels(one["metadata"].get("labels", {})) != own,
        new_slice=lambda: _new_slice(service, ports, family),
        size_max=SIZE_MAX,
    )


def _add_placeholder(plan: SlicePlan, service: ReadOnlyObject, family: str) -> None:
    """Keep or create one slice without endpoints as a placeholder."""
    if len(plan.delete) == 1:
        (old,) = plan.delete
        empty = not old.get("endpoints") and not old.get("ports")
        if empty and _is_owned(old, service) and old["metadata"].get("labels", {}) == _slice_labels(service):
            plan.delete.clear()
            return
    plan.create.append(_new_slice(service, [], family))


def _endpoint_ports(service: ReadOnlyObject, pod: ReadOnlyObject) -> list[ReadOnlyObject]:
    """Return the endpoint ports of a pod for the ports of a service."""
    ports = []
    for port in service["spec"].get("ports", ()):
        if (number := find_port(pod, port)) is not None:
            endpoint_port: Object = {
                "name": port.get("name", ""),
                "port": number,
                "protocol": port.get("protocol", "TCP"),
            }
            if port.get("appProtocol") is not None:
                endpoint_port["appProtocol"] = port["appProtocol"]
            ports.append(endpoint_port)
    return sort_ports(ports)


def _missing_node_error(service: ReadOnlyObject, pod: ReadOnlyObject) -> str:
    name, node = pod["metadata"]["name"], pod["spec"].get("nodeName", "")
    return f"skipping Pod {name} for Service {key_of(service)}: Node {node} Not Found"


def _build_endpoint(service: ReadOnlyObject, pod: ReadOnlyObject, node: ReadOnlyObject | None, family: str) -> Object:
    """Return the endpoint of a pod, with the addresses of one IP family."""
    serving, is_terminating, version = is_ready(pod), has_deletion_timestamp(pod), 6 if family == "IPv6" else 4
    # A terminating pod is never ready, even while it still serves; publishNotReadyAddresses overrides both.
    ready = bool(service["spec"].get("publishNotReadyAddresses")) or (serving and not is_terminating)
    endpoint: Object = {
        "addresses": [str(one) for one in addresses(pod) if one.version == version],
        "conditions": {"ready": ready, "serving": serving, "terminating": is_terminating},
        "targetRef": reference_to_pod(pod),
    }
    if pod["spec"].get("nodeName"):
        endpoint["nodeName"] = pod["spec"]["nodeName"]
    if zone := (node or {"metadata": {}})["metadata"].get("labels", {}).get(_ZONE):
        endpoint["zone"] = zone
    if hostname := hostname_for(pod, service):
        endpoint["hostname"] = hostname
    return endpoint
