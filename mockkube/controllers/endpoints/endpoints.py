"""endpoints-controller: maintains the Endpoints of services with a selector.

upstream 1.36: pkg/controller/endpoint/endpoints_controller.go
"""

import math
from collections.abc import Iterator, Mapping, Sequence
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
from mockkube.controllers.endpoints.subsets import repack_subsets
from mockkube.controllers.endpoints.trigger_times import ANNOTATION, TriggerTimeTracker
from mockkube.controllers.framework.controller import DONE, Controller, ControllerDependencies, ReconcileResult
from mockkube.controllers.framework.write_through_cache import WriteThroughCache
from mockkube.controllers.pods.pod_control import is_namespace_terminating
from mockkube.matching.pods import is_ready

MANAGED_BY: Final = "endpoints.kubernetes.io/managed-by"
HEADLESS: Final = "service.kubernetes.io/headless"
CAPACITY: Final = 1000
_OVER_CAPACITY: Final = "endpoints.kubernetes.io/over-capacity"
_NAME: Final = "endpoint-controller"
_LEADER: Final = "control-plane.alpha.kubernetes.io/leader"


class EndpointsController(Controller):
    """Controller of Endpoints; keys are services, which have the same name."""

    name: ClassVar[str] = "endpoints-controller"
    event_source: ClassVar[str] = _NAME
    queue_name: ClassVar[str] = "endpoint"
    retries_max: ClassVar[int | None] = 15

    def __init__(self, dependencies: ControllerDependencies) -> None:
        super().__init__(dependencies)
        self.services = self.watched_informer("Service")
        self.pods = self.watched_informer("Pod", self._on_pod_change)
        endpoints = self.watched_informer("Endpoints", self._on_endpoints_change)
        self._endpoints = WriteThroughCache(endpoints)
        self._trigger_times = TriggerTimeTracker()

    def _on_pod_change(self, change: ObjectChange) -> None:
        for key in services_to_update(change, self.services):
            self.work_queue.add(key)

    def _on_endpoints_change(self, change: ObjectChange) -> None:
        # Only what was there at the start may have been left by a service that was deleted while nobody watched. Later,
        # users create Endpoints before their service, or without one.
        is_old = change.type is WatchEventType.ADDED and not self.has_synced()
        # Endpoints with this annotation were locks of old leader elections and belong to no service.
        is_leader_lock = _LEADER in (change.object["metadata"].get("annotations") or {})
        if change.type is WatchEventType.DELETED or (is_old and not is_leader_lock):
            self.work_queue.add(key_of(change.object))

    async def reconcile(self, key: Key) -> ReconcileResult:
        """Update the endpoints of a service; delete them if the service is gone."""
        service = self.services.get(key)
        if service is None:
            self._trigger_times.forget(key)
            if self._endpoints.get(key) is not None:
                try:
                    await self.client.delete("Endpoints", key)
                except NotFound:
                    return DONE
        elif needs_endpoints(service):
            await self._sync_service(service)
        return DONE

    async def _sync_service(self, service: ReadOnlyObject) -> None:
        """Create or update the endpoints of a service if they changed."""
        pods = selected_pods(service, self.pods)
        changed_at = self._trigger_times.compute_trigger_time(service, pods)
        subsets = repack_subsets(subset for pod in pods for subset in _pod_subsets(service, pod))
        old = self._endpoints.get(key_of(service))
        # Without this check every event of a pod would cause a write.
        if old is not None and _is_up_to_date(old, service, subsets):
            return
        metadata = _build_metadata(service, old, changed_at)
        if _count_addresses(subsets) > CAPACITY:
            subsets = truncate_endpoints(subsets)
            metadata["annotations"] = {**metadata.get("annotations", {}), _OVER_CAPACITY: "truncated"}
        endpoints: Object = {"metadata": metadata, "subsets": subsets}
        try:
            if old is None:
                self._endpoints.record_write(await self.client.create("Endpoints", endpoints))
            else:
                self._endpoints.record_write(await self.client.update("Endpoints", endpoints))
        except ApiError as error:
            self._report_error(service, old, error)

    def _report_error(self, service: ReadOnlyObject, old: ReadOnlyObject | None, error: ApiError) -> None:
        """Record an event about a failed write and raise, except for a terminating namespace."""
        if old is None and is_namespace_terminating(error):
            return
        name, about = key_of(service), {"apiVersion": "v1", "kind": "Endpoints", **_name_and_namespace(service)}
        if old is None:
            text = f"Failed to create endpoint for service {name}: {error.message}"
            self.events.record(about, "Warning", "FailedToCreateEndpoint", text)
        else:
            text = f"Failed to update endpoint {name}: {error.message}"
            self.events.record(about, "Warning", "FailedToUpdateEndpoint", text)
        raise error


def _name_and_namespace(service: ReadOnlyObject) -> Object:
    metadata = service["metadata"]
    return {"name": metadata["name"], "namespace": metadata["namespace"]}


def _pod_subsets(service: ReadOnlyObject, pod: ReadOnlyObject) -> Iterator[Object]:
    """Yield a subset for each service port that the pod serves."""
    spec = service["spec"]
    if not belongs_in_endpoints(pod, also_terminating=bool(spec.get("publishNotReadyAddresses"))):
        return
    address = _build_address(service, pod)
    if address is None:
        return
    ready = spec.get("publishNotReadyAddresses") or is_ready(pod)
    state = "addresses" if ready else "notReadyAddresses"
    # A headless service may have no ports: DNS needs only the addresses.
    if not spec.get("ports") and is_headless(service):
        yield {state: [address]}
    for port in spec.get("ports", ()):
        if (number := find_port(pod, port)) is not None:
            yield {state: [address], "ports": [_build_port(port, number)]}


def _build_address(service: ReadOnlyObject, pod: ReadOnlyObject) -> Object | None:
    families = service["spec"].get("ipFamilies") or ("IPv6" if ":" in service["spec"].get("clusterIP", "") else "IPv4",)
    wanted = 6 if families[0] == "IPv6" else 4
    ip = next((one for one in addresses(pod) if one.version == wanted), None)
    if ip is None:
        return None
    address: Object = {"ip": str(ip), "nodeName": pod["spec"].get("nodeName", ""), "targetRef": reference_to_pod(pod)}
    if hostname := hostname_for(pod, service):
        address["hostname"] = hostname
    return address


def _build_port(port: ReadOnlyObject, number: int) -> Object:
    endpoint_port: Object = {"port": number, "protocol": port.get("protocol", "TCP")}
    if port.get("name"):
        endpoint_port["name"] = port["name"]
    if port.get("appProtocol") is not None:
        endpoint_port["appProtocol"] = port["appProtocol"]
    return endpoint_port


def _endpoints_labels(service: ReadOnlyObject) -> dict[str, str]:
    own = {name: value for name, value in service["metadata"].get("labels", {}).items() if name != HEADLESS}
    return {**own, **({HEADLESS: ""} if is_headless(service) else {}), MANAGED_BY: _NAME}


def _build_metadata(service: ReadOnlyObject, old: ReadOnlyObject | None, changed_at: str) -> Object:
    metadata: Object = {**_name_and_namespace(service)} if old is None else dict(old["metadata"])
    annotations = {
        name: value
        for name, value in metadata.get("annotations", {}).items()
        if name not in (ANNOTATION, _OVER_CAPACITY)
    }
    if changed_at:
        annotations[ANNOTATION] = changed_at
    return {**metadata, "labels": _endpoints_labels(service), "annotations": annotations}


def _is_up_to_date(old: ReadOnlyObject, service: ReadOnlyObject, subsets: Sequence[ReadOnlyObject]) -> bool:
    metadata, present = old["metadata"], old.get("subsets", [])
    # Endpoints at the limit are always written again: what was cut off is not known here.
    if _count_addresses(present) > CAPACITY or _OVER_CAPACITY in metadata.get("annotations", {}):
        return False
    return _has_current_labels(metadata.get("labels", {}), service) and (
        present == subsets or repack_subsets(present) == subsets
    )


def _has_current_labels(labels: Mapping[str, str], service: ReadOnlyObject) -> bool:
    """Return whether the labels are current; never if the service itself has a reserved label, as upstream."""
    others = {name: value for name, value in labels.items() if name not in (HEADLESS, MANAGED_BY)}
    return labels.get(MANAGED_BY) == _NAME and others == service["metadata"].get("labels", {})


def _count_addresses(subsets: Sequence[ReadOnlyObject]) -> int:
    return sum(len(one.get("addresses", ())) + len(one.get("notReadyAddresses", ())) for one in subsets)


def truncate_endpoints(subsets: Sequence[Object]) -> list[Object]:
    """Return at most 1000 addresses, ready ones first, each subset with its share."""
    ready = sum(len(one.get("addresses", ())) for one in subsets)
    cut, other = ("addresses", "notReadyAddresses") if ready > CAPACITY else ("notReadyAddresses", "addresses")
    room = CAPACITY if ready > CAPACITY else CAPACITY - ready
    total, left, result = sum(len(one.get(cut, ())) for one in subsets), room, []
    for subset in subsets:
        share = min(math.ceil(len(subset.get(cut, ())) / total * room), left)
        kept = subset.get(cut, [])[:share]
        left -= len(kept)
        truncated_subset = {
            name: value for name, value in subset.items() if name not in ("addresses", "notReadyAddresses")
        }
        if kept:
            truncated_subset[cut] = kept
        if cut == "notReadyAddresses" and subset.get(other):
            truncated_subset[other] = subset[other]
        result.append(truncated_subset)
    return result
