"""endpointslice-mirroring-controller: mirrors Endpoints of services without a selector to EndpointSlices.

upstream 1.36: pkg/controller/endpointslicemirroring
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from ipaddress import ip_address
from typing import ClassVar, Final

from mockkube.api.errors import ApiError, NotFound
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.client.informer import ObjectChange
from mockkube.client.protocol import Key, WatchEventType, key_of
from mockkube.controllers.endpoints.endpoint_slices import (
    MANAGED_BY,
    SERVICE_NAME,
    SLICE,
    service_key,
    slice_rate_limiter,
)
from mockkube.controllers.endpoints.slice_plan import SlicePlan, endpoint_key, has_same_state, ports_key, sort_ports
from mockkube.controllers.endpoints.subsets import repack_subsets
from mockkube.controllers.endpoints.trigger_times import ANNOTATION
from mockkube.controllers.framework.controller import DONE, Controller, ControllerDependencies, ReconcileResult
from mockkube.controllers.framework.controller_ref_manager import has_deletion_timestamp, new_controller_ref
from mockkube.controllers.framework.write_through_cache import WriteThroughCache
from mockkube.controllers.pods.pod_control import is_namespace_terminating
from mockkube.runtime.rate_limiters import RateLimiter

MANAGER: Final = "endpointslicemirroring-controller.k8s.io"
SUBSET_MAX: Final = 1000
_SKIP: Final = "endpointslice.kubernetes.io/skip-mirror"
_LEADER: Final = "control-plane.alpha.kubernetes.io/leader"
_NOT_COPIED: Final = (ANNOTATION, "kubectl.kubernetes.io/last-applied-configuration")
_CHANGE_SECONDS: Final = 1.0


class EndpointSliceMirroringController(Controller):
    """Controller that mirrors Endpoints; keys are Endpoints, which have the name of their service."""

    name: ClassVar[str] = "endpointslice-mirroring-controller"
    queue_name: ClassVar[str] = "endpoint_slice_mirroring"
    retries_max: ClassVar[int | None] = 15

    def __init__(self, dependencies: ControllerDependencies) -> None:
        super().__init__(dependencies)
        self.endpoints = self.watched_informer("Endpoints")
        self.services = self.watched_informer("Service", self._on_service_change)
        slices = self.informer(SLICE)
        self._slices = WriteThroughCache(slices)
        slices.add_event_handler(self._on_slice_change)

    def rate_limiter(self) -> RateLimiter:
        """Return the rate limiter for failed Endpoints, slower than the default as upstream."""
        return slice_rate_limiter(self)

    def _on_service_change(self, change: ObjectChange) -> None:
        selects, old = bool(change.object["spec"].get("selector")), change.old
        # Only a selector that appears or goes decides whether Endpoints are mirrored.
        before = None if old is None or change.type is WatchEventType.DELETED else bool(old["spec"].get("selector"))
        if (before is None and not selects) or (before is not None and before != selects):
            self.work_queue.add(key_of(change.object))

    def _on_slice_change(self, change: ObjectChange) -> None:
        if change.type is not WatchEventType.DELETED and self._slices.is_own(change.object):
            return
        if _is_managed(change.object) and (key := service_key(change.object)) is not None:
            self.work_queue.add_after(key, _CHANGE_SECONDS)

    async def reconcile(self, key: Key) -> ReconcileResult:
        """Update the mirrored slices, or delete them."""
        endpoints, service = self.endpoints.get(key), self.services.get(key)
        slices = [one for one in self._slices.all(key.namespace) if _is_managed(one) and service_key(one) == key]
        if endpoints is None or service is None or service["spec"].get("selector") or not _should_mirror(endpoints):
            await self._execute_plan(None, SlicePlan(delete=slices))
        else:
            alive = [one for one in slices if not has_deletion_timestamp(one)]
            await self._execute_plan(endpoints, self._plan(endpoints, alive))
        return DONE

    def _plan(self, endpoints: ReadOnlyObject, slices: Sequence[ReadOnlyObject]) -> SlicePlan:
        """Return the plan that makes the slices mirror the Endpoints."""
        existing: dict[object, list[ReadOnlyObject]] = {}
        for one in slices:
            existing.setdefault((one["addressType"], ports_key(one.get("ports") or ())), []).append(one)
        plan, desired = SlicePlan(), _DesiredSlices(endpoints)
        for key, desired_slice in desired.slices.items():
            present = existing.pop(key, [])
            # for 1000 addresses.
            # One slice holds all addresses of a set of ports, so further ones are duplicates.
            plan.delete += present[1:]
            if not present:
                plan.create.append(desired_slice)
            elif not _is_up_to_date(present[0], desired_slice):
                named = {name: value for name, value in desired_slice["metadata"].items() if name != "generateName"}
                plan.update.append({**desired_slice, "metadata": {**named, "name": present[0]["metadata"]["name"]}})
        plan.delete += [one for left in existing.values() for one in left]
        self._record_skipped(endpoints, desired)
        return plan

    def _record_skipped(self, endpoints: ReadOnlyObject, desired: "_DesiredSlices") -> None:
        if desired.invalid:
            text = f"Skipped {desired.invalid} invalid IP addresses when mirroring to EndpointSlices"
            self.events.record(endpoints, "Warning", "InvalidIPAddress", text)
        if desired.skipped > desired.invalid:
            text = (
                f"A max of {SUBSET_MAX} addresses can be mirrored to EndpointSlices per Endpoints subset. "
                f"{desired.skipped} addresses were skipped"
            )
            self.events.record(endpoints, "Warning", "TooManyAddressesToMirror", text)

    async def _execute_plan(self, endpoints: ReadOnlyObject | None, plan: SlicePlan) -> None:
        """Create, update and delete slices as planned."""
        plan.recycle(lambda old: True)
        for new_slice in [] if endpoints is None or has_deletion_timestamp(endpoints) else plan.create:
            try:
                self._slices.record_write(await self.client.create(SLICE, new_slice))
            except ApiError as error:
                if is_namespace_terminating(error):
                    return
                raise
        for changed in plan.update:
            self._slices.record_write(await self.client.update(SLICE, changed))
        for old in plan.delete:
            with suppress(NotFound):
                await self.client.delete(SLICE, key_of(old))
            self._slices.record_deletion(old)


class _DesiredSlices:
    """Slices that mirror Endpoints, by address type and ports, and the number of addresses left out."""

    def __init__(self, endpoints: ReadOnlyObject) -> None:
        self.slices: dict[object, Object] = {}
        self.invalid = self.skipped = 0
        # Users may write the same ports in several subsets; the bound counts per repacked subset.
        for subset in repack_subsets(endpoints.get("subsets", ())):
            ports = sort_ports([{"name": "", **port} for port in subset.get("ports", ())])
            ready = [(one, True) for one in subset.get("addresses", ())]
            waiting = [(one, False) for one in subset.get("notReadyAddresses", ())]
            self._add_addresses(endpoints, ports, [*ready, *waiting])

    def _add_addresses(
        self, endpoints: ReadOnlyObject, ports: list[ReadOnlyObject], found: Iterable[tuple[ReadOnlyObject, bool]]
    ) -> None:
        """Add the addresses of one subset to the slices of their address types."""
        added = 0
        for address, ready in found:
            try:
                ip = ip_address(address["ip"])
            except ValueError:
                self.invalid += 1
                self.skipped += 1
                continue
            if added >= SUBSET_MAX:
                self.skipped += 1
                continue
            added += 1
            family = f"IPv{ip.version}"
            key = (family, ports_key(ports))
            target_slice = self.slices.setdefault(key, _new_slice(endpoints, ports, family))
            target_slice["endpoints"].append(_build_endpoint(address, str(ip), ready=ready))


def _is_managed(endpoint_slice: ReadOnlyObject) -> bool:
    return bool(endpoint_slice["metadata"].get("labels", {}).get(MANAGED_BY) == MANAGER)


def _should_mirror(endpoints: ReadOnlyObject) -> bool:
    metadata = endpoints["metadata"]
    return metadata.get("labels", {}).get(_SKIP) != "true" and _LEADER not in metadata.get("annotations", {})


def _build_endpoint(address: ReadOnlyObject, ip: str, *, ready: bool) -> Object:
    endpoint: Object = {"addresses": [ip], "conditions": {"ready": ready}}
    endpoint.update({name: address[name] for name in ("nodeName", "targetRef", "hostname") if address.get(name)})
    return endpoint


def _new_slice(endpoints: ReadOnlyObject, ports: list[ReadOnlyObject], family: str) -> Object:
    own = endpoints["metadata"]
    metadata: Object = {
        "generateName": f"{own['name']}-",
        "namespace": own["namespace"],
        "labels": {**own.get("labels", {}), SERVICE_NAME: own["name"], MANAGED_BY: MANAGER},
        "annotations": {name: value for name, value in own.get("annotations", {}).items() if name not in _NOT_COPIED},
        "ownerReferences": [new_controller_ref(endpoints, "v1", "Endpoints")],
    }
    return {"metadata": metadata, "addressType": family, "endpoints": [], "ports": ports}


def _is_up_to_date(existing_slice: ReadOnlyObject, desired: ReadOnlyObject) -> bool:
    for name in ("labels", "annotations"):
        if existing_slice["metadata"].get(name, {}) != desired["metadata"][name]:
            return False
    existing = {endpoint_key(one): one for one in existing_slice.get("endpoints") or ()}
    wanted = {endpoint_key(one): one for one in desired["endpoints"]}
    return existing.keys() == wanted.keys() and all(has_same_state(one, existing[key]) for key, one in wanted.items())
