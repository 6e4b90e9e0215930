"""Claim tracker: claims with assumed changes, allocated devices, and allocations that are still to be written.

Allocations of pods whose binding is in progress count as well, so that no device is allocated twice.

upstream 1.36: pkg/scheduler/framework/plugins/dynamicresources/{allocateddevices,dra_manager}.go
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import field
from decimal import Decimal

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.quantities.quantity import parse
from mockkube.client.informer import Informer, ObjectChange
from mockkube.client.protocol import Key, key_of
from mockkube.lazy_dataclasses import dataclass
from mockkube.scheduler.plugins.assume_cache import AssumeCache
from mockkube.scheduler.plugins.dynamic_resources.devices.devices import DeviceId


@dataclass(slots=True)
class AllocatedDevices:
    """Allocated devices: exclusive ones, shared ones, and consumed capacity."""

    devices: Counter[DeviceId] = field(default_factory=Counter)
    shared: Counter[DeviceId] = field(default_factory=Counter)
    capacity: dict[DeviceId, dict[str, Decimal]] = field(default_factory=dict)

    def includes(self, device: DeviceId) -> bool:
        """Return whether the device, or a share of it, is allocated."""
        return device in self.devices or device in self.shared

    def add(self, allocation: ReadOnlyObject, *, sharing: bool, sign: int = 1) -> None:
        """Add an allocation, or remove it with `sign` -1. Devices with admin access do not count."""
        for result in (allocation.get("devices") or {}).get("results") or ():
            if result.get("adminAccess"):
                continue
            device = DeviceId(result["driver"], result["pool"], result["device"])
            is_shared = sharing and "shareID" in result
            _adjust_count(self.shared if is_shared else self.devices, device, sign)
            if is_shared and result.get("consumedCapacity"):
                self._adjust_capacity(device, result["consumedCapacity"], sign)

    def _adjust_capacity(self, device: DeviceId, consumed: Mapping[str, object], sign: int) -> None:
        used = self.capacity.setdefault(device, {})
        for name, text in consumed.items():
            used[name] = used.get(name, Decimal(0)) + sign * parse(str(text)).amount
        if not any(used.values()):
            del self.capacity[device]


def _adjust_count(counter: Counter[DeviceId], device: DeviceId, sign: int) -> None:
    counter[device] += sign
    if not counter[device]:
        del counter[device]


class ClaimTracker:
    """All claims and their allocations, shared by the profiles of a scheduler."""

    def __init__(self, informer: Informer, *, sharing: bool) -> None:
        self.claims = AssumeCache(informer)
        self.allocated = AllocatedDevices()
        self._sharing = sharing
        # Allocations that are decided and not written yet, by claim uid.
        self._pending: dict[str, ReadOnlyObject] = {}
        # The counted allocation of each claim, by uid: what was added is what will be removed.
        self._counted: dict[str, ReadOnlyObject] = {}
        informer.add_event_handler(self._on_change)

    def pending_allocation(self, uid: str) -> ReadOnlyObject | None:
        """Return the pending allocation of a claim."""
        return self._pending.get(uid)

    def add_pending_allocation(self, uid: str, allocation: ReadOnlyObject) -> None:
        """Add a pending allocation."""
        self._pending[uid] = allocation
        self._recount(uid, allocation)

    def remove_pending_allocation(self, uid: str, key: Key) -> None:
        """Remove the pending allocation of a claim."""
        if self._pending.pop(uid, None) is not None:
            claim = self.claims.get(key)
            self._recount(uid, None if claim is None or claim["metadata"]["uid"] != uid else _allocation_of(claim))

    def assume_after_write(self, claim: ReadOnlyObject, promised: str = "") -> None:
        """Assume a claim as the API server returned it.

        `promised` is the uid of its pending allocation, if that is another one: the special claim gets its real uid
        only now.
        """
        uid = claim["metadata"]["uid"]
        if promised and promised != uid and (allocation := self._pending.pop(promised, None)) is not None:
            self._recount(promised, None)
            self._pending[uid] = allocation
        if self.claims.assume(claim) == "":
            self._pending.pop(uid, None)
        self._recount(uid, _allocation_of(claim))

    def _on_change(self, change: ObjectChange) -> None:
        uid = change.object["metadata"]["uid"]
        # The claim was deleted and created again under the same name between two events.
        if change.old is not None and change.old["metadata"]["uid"] != uid:
            self._remove_claim(change.old["metadata"]["uid"])
        if change.type == "DELETED":
            self._remove_claim(uid)
            return
        claim = self.claims.get(key_of(change.object))
        allocation = None if claim is None else _allocation_of(claim)
        if allocation is not None:
            self._pending.pop(uid, None)
        self._recount(uid, self._pending.get(uid, allocation))

    def _remove_claim(self, uid: str) -> None:
        self._pending.pop(uid, None)
        self._recount(uid, None)

    def _recount(self, uid: str, allocation: ReadOnlyObject | None) -> None:
        counted = self._counted.pop(uid, None)
        if counted is not None:
            self.allocated.add(counted, sharing=self._sharing, sign=-1)
        if allocation is not None:
            self._counted[uid] = allocation
            self.allocated.add(allocation, sharing=self._sharing)


def _allocation_of(claim: ReadOnlyObject) -> ReadOnlyObject | None:
    allocation: ReadOnlyObject | None = (claim.get("status") or {}).get("allocation")
    return allocation
