"""service-cidr-controller: sets condition Ready of ServiceCIDRs, and keeps those in use by a finalizer.

upstream 1.36: pkg/controller/servicecidrs/servicecidrs_controller.go
"""

from collections.abc import Iterator
from datetime import timedelta
from typing import ClassVar, Final

from mockkube.api.errors import NotFound
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.times import parse_time, render_time
from mockkube.api.validation.addresses import Network, parse_cidr, parse_ip
from mockkube.client.informer import ObjectChange
from mockkube.client.protocol import Key, WatchEventType, key_of
from mockkube.controllers.framework.controller import DONE, Controller, ControllerDependencies, ReconcileResult, Requeue
from mockkube.controllers.framework.controller_ref_manager import has_deletion_timestamp

FINALIZER: Final = "networking.k8s.io/service-cidr-finalizer"
# A range without addresses is kept this long, so that allocators notice its deletion before it is gone.
GRACE: Final = timedelta(seconds=10)
_KIND: Final = "ServiceCIDR"
_ADDRESS: Final = "IPAddress"
_MANAGED_BY: Final = "ipaddress.kubernetes.io/managed-by"
_ALLOCATOR: Final = "ipallocator.k8s.io"
_BLOCKED: Final = (
    "There are still IPAddresses referencing the ServiceCIDR, please remove them or create a new ServiceCIDR"
)


def networks(cidr: ReadOnlyObject) -> list[Network]:
    """Return the networks of a ServiceCIDR."""
    found = (parse_cidr(text) for text in cidr["spec"].get("cidrs") or ())
    return [network for network in found if network is not None]


def is_managed(address: ReadOnlyObject) -> bool:
    """Return whether an IPAddress was allocated for a service."""
    return (address["metadata"].get("labels") or {}).get(_MANAGED_BY) == _ALLOCATOR


class ServiceCIDRController(Controller):
    """Controller of ServiceCIDRs; keys are ServiceCIDRs."""

    name: ClassVar[str] = "service-cidr-controller"
    queue_name: ClassVar[str] = "ipaddresses"
    retries_max: ClassVar[int | None] = 15

    def __init__(self, dependencies: ControllerDependencies) -> None:
        super().__init__(dependencies)
        self.ranges = self.watched_informer(_KIND, self._on_range_change)
        self.addresses = self.watched_informer(_ADDRESS, self._on_address_change)

    def _on_range_change(self, change: ObjectChange) -> None:
        self.work_queue.add(key_of(change.object))
        if change.type is WatchEventType.ADDED:
            # A new range can contain addresses that so far blocked the deletion of an overlapping one.
            own = networks(change.object)
            for other in self.ranges.list():
                if any(_overlap(one, another) for one in own for another in networks(other)):
                    self.work_queue.add(key_of(other))

    def _on_address_change(self, change: ObjectChange) -> None:
        # The name of an IPAddress is the address and its label never matters again, so updates change nothing.
        if change.type is not WatchEventType.MODIFIED and is_managed(change.object):
            for one in self._containing(change.object):
                self.work_queue.add(key_of(one))

    def _containing(self, address: ReadOnlyObject) -> Iterator[ReadOnlyObject]:
        ip = parse_ip(address["metadata"]["name"])
        if ip is not None:
            yield from (one for one in self.ranges.list() if any(ip in network for network in networks(one)))

    async def reconcile(self, key: Key) -> ReconcileResult:
        """Add finalizer and condition, or remove the finalizer once no address needs the range."""
        cidr = self.ranges.get(key)
        if cidr is None:
            return DONE
        held = FINALIZER in (cidr["metadata"].get("finalizers") or ())
        try:
            if has_deletion_timestamp(cidr):
                return await self._finalize(key, cidr, held=held)
            if not held:
                await self.client.patch(_KIND, key, {"metadata": {"finalizers": [FINALIZER]}})
            await self._set_condition(
                cidr, {"type": "Ready", "status": "True", "message": "Kubernetes Service CIDR is ready"}
            )
        except NotFound:
            return DONE
        return DONE

    async def _finalize(self, key: Key, cidr: ReadOnlyObject, *, held: bool) -> ReconcileResult:
        if not self._can_delete(cidr):
            condition = {"type": "Ready", "status": "False", "reason": "Terminating", "message": _BLOCKED}
            await self._set_condition(cidr, condition)
            return DONE
        left = parse_time(cidr["metadata"]["deletionTimestamp"]) + GRACE - self.clock.now()
        if left > timedelta():
            return Requeue(after=left.total_seconds())
        if held:
            removal = {"metadata": {"$deleteFromPrimitiveList/finalizers": [FINALIZER]}}
            await self.client.patch(_KIND, key, removal)
        return DONE

    def _can_delete(self, cidr: ReadOnlyObject) -> bool:
        """Return whether every address in a range is also in another range."""
        name, own = cidr["metadata"]["name"], networks(cidr)
        others = [net for one in self.ranges.list() if one["metadata"]["name"] != name for net in networks(one)]
        # A range that lies in others needs no look at the addresses, of which there may be many.
        if all(any(_is_within(network, other) for other in others) for network in own):
            return True
        for address in self.addresses.list():
            ip = parse_ip(address["metadata"]["name"]) if is_managed(address) else None
            if ip is not None and any(ip in net for net in own) and not any(ip in net for net in others):
                return False
        return True

    async def _set_condition(self, cidr: ReadOnlyObject, condition: Object) -> None:
        """Write a condition if it differs from the present one."""
        conditions = (cidr.get("status") or {}).get("conditions") or ()
        present: ReadOnlyObject = next((one for one in conditions if one["type"] == condition["type"]), {})
        if all(present.get(field, "") == condition.get(field, "") for field in ("status", "reason", "message")):
            return
        new = {"reason": "", **condition, "lastTransitionTime": render_time(self.clock.now())}
        # differs: upstream applies it, so that managedFields say Apply
        await self.client.patch(_KIND, key_of(cidr), {"status": {"conditions": [new]}}, subresource="status")


def _overlap(one: Network, other: Network) -> bool:
    return _is_within(one, other) or _is_within(other, one)


def _is_within(one: Network, other: Network) -> bool:
    # `subnet_of` raises for networks of different IP versions.
    if one.version == 4 and other.version == 4:
        return one.subnet_of(other)
    return one.version == 6 and other.version == 6 and one.subnet_of(other)
