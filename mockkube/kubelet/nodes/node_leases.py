"""Renew the leases of nodes, spread over time; the node lifecycle controller keeps nodes Ready by them.

upstream 1.36: pkg/kubelet/kubelet.go, staging/src/k8s.io/component-helpers/apimachinery/lease/controller.go
"""

import logging
import zlib
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import field
from typing import Final

from mockkube.api.errors import AlreadyExists, ApiError, Conflict, NotFound
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.times import render_micro_time
from mockkube.client.bad_objects import BadObjects
from mockkube.client.batches import repeat_all, try_update
from mockkube.client.protocol import Client, Key
from mockkube.lazy_dataclasses import dataclass
from mockkube.runtime.clock import Clock
from mockkube.runtime.steps import Signal

NAMESPACE: Final = "kube-node-lease"
# Annotation of a node with the duration of its lease (upstream: nodeLeaseDurationSeconds in KubeletConfiguration).
DURATION_ANNOTATION: Final = "mockkube.dev/lease-duration-seconds"
LEASE_SECONDS: Final = 40
_LEASE_SECONDS_MAX: Final = 2**31 - 1
# Renewals within the duration of a lease.
_RENEWALS: Final = 4
# Nodes are spread over this many moments of a renew interval, so that thousands of leases are not due together.
_SLOTS: Final = 10

_LOG: Final = logging.getLogger("mockkube.kubelet")


@dataclass(slots=True)
class _Slot:
    """Nodes whose leases are renewed at the same moments."""

    renew_seconds: float
    due_at: float = 0.0
    nodes: dict[str, ReadOnlyObject] = field(default_factory=dict)


class NodeLeases:
    """Worker that renews the leases of its nodes in slots; a node's slot follows from its name."""

    def __init__(
        self,
        client: Client,
        clock: Clock,
        owns: Callable[[str], bool],
        *,
        owner: str,
        bad_objects: BadObjects | None = None,
    ) -> None:
        """Report leases that cannot be read to `bad_objects`."""
        self.name = f"{owner}/leases"
        self._bad_objects = BadObjects() if bad_objects is None else bad_objects
        self.signal = Signal()
        self._client, self._clock, self._owns = client, clock, owns
        # By duration of the leases and number.
        self._slots: dict[tuple[int, int], _Slot] = {}
        self._slots_by_node: dict[str, _Slot] = {}
        self._new_nodes: dict[str, ReadOnlyObject] = {}
        # Leases that this worker has written: as written last, or None if only the time was set since.
        self._leases: dict[str, ReadOnlyObject | None] = {}
        # Called with a node that another kubelet owns, once per round.
        self.on_lost: Callable[[str], None] = lambda name: None

    def add(self, node: ReadOnlyObject) -> None:
        """Renew the lease of a node from now on; the first time in the next step."""
        name = node["metadata"]["name"]
        known = self._slots_by_node.get(name)
        if known is not None:
            if known.nodes[name]["metadata"].get("uid") == node["metadata"].get("uid"):
                return
            del known.nodes[name]
        slot = self._slots_by_node[name] = self._get_slot(node)
        slot.nodes[name] = self._new_nodes[name] = node
        self.signal.notify()

    def _get_slot(self, node: ReadOnlyObject) -> _Slot:
        """Return the slot of a node, with a due time."""
        seconds, number = get_lease_seconds(node), zlib.crc32(node["metadata"]["name"].encode()) % _SLOTS
        slot = self._slots.get((seconds, number))
        if slot is None:
            slot = self._slots[seconds, number] = _Slot(seconds / _RENEWALS)
        # An empty slot has no due time yet; the others keep theirs.
        if not slot.nodes:
            slot.due_at = self._clock.monotonic() + slot.renew_seconds * (number + 1) / _SLOTS
        return slot

    def remove(self, name: str) -> None:
        """Stop renewing the lease of a node; the lease itself expires."""
        if (slot := self._slots_by_node.pop(name, None)) is not None:
            del slot.nodes[name]
        self._new_nodes.pop(name, None)
        self._leases.pop(name, None)
        self._bad_objects.forget("Lease", Key(NAMESPACE, name), self.name)

    def is_ready(self) -> bool:
        """Return whether a lease is due."""
        at = self.wake_at()
        return bool(self._new_nodes) or (at is not None and at <= self._clock.monotonic())

    def wake_at(self) -> float | None:
        """Return when the next slot is due."""
        return min((slot.due_at for slot in self._slots.values() if slot.nodes), default=None)

    async def step(self) -> None:
        """Renew the leases that are due."""
        fresh, self._new_nodes = self._new_nodes, {}
        await self._renew_all(list(fresh.values()))
        now = self._clock.monotonic()
        # In the order of their numbers, not of the nodes that were added to them first.
        for _, slot in sorted(self._slots.items()):
            if slot.nodes and slot.due_at <= now:
                slot.due_at = now + slot.renew_seconds
                await self._renew_all([node for name, node in slot.nodes.items() if name not in fresh])

    async def _renew_all(self, nodes: Sequence[ReadOnlyObject]) -> None:
        """Renew the leases of some nodes: first those that need nothing but another time, then the others in order."""
        owned: list[ReadOnlyObject] = []
        for node in nodes:
            name = node["metadata"]["name"]
            if self._owns(name):
                owned.append(node)
            else:
                self.on_lost(name)
        repeated = await self._repeat_renewals([node["metadata"]["name"] for node in owned])
        for node in owned:
            name = node["metadata"]["name"]
            # A node may have been removed while another lease was written.
            if name not in repeated and name in self._slots_by_node:
                lease = self._leases.get(name)
                self._note_outcome(name, await (self._write_first(node) if lease is None else self._renew(lease)))

    async def _repeat_renewals(self, names: Sequence[str]) -> AbstractSet[str]:
        """Renew leases that this worker has written before, together; return those that were renewed."""
        known = self._leases
        keys = [Key(NAMESPACE, name) for name in names if name in known]
        if not keys:
            return set()
        change: Object = {"spec": {"renewTime": render_micro_time(self._clock.now())}}
        left = await repeat_all(self._client, "Lease", keys, change)
        repeated = {key.name for key in keys}.difference([key.name for key in left])
        # A node may have been removed meanwhile.
        known.update(dict.fromkeys(known.keys() & repeated))
        if self._bad_objects:
            for key in keys:
                if key.name in repeated:
                    self._bad_objects.forget("Lease", key, self.name)
        return repeated

    async def _renew(self, lease: ReadOnlyObject) -> ReadOnlyObject | Exception:
        """Renew a lease as this worker has written it, without reading it; a conflict shows another writer."""
        spec = {**lease["spec"], "renewTime": render_micro_time(self._clock.now())}
        return await try_update(self._client, "Lease", {**lease, "spec": spec})

    async def _write_first(self, node: ReadOnlyObject) -> ReadOnlyObject | Exception:
        """Renew or create a lease, after it was read; return it, or why that failed."""
        try:
            try:
                lease = await self._client.get("Lease", Key(NAMESPACE, node["metadata"]["name"]))
            except NotFound:
                return await self._client.create("Lease", self._make_lease(node))
        except Exception as error:  # a lease that cannot be read stops no other
            return error
        return await self._renew(lease)

    def _note_outcome(self, name: str, outcome: ReadOnlyObject | Exception) -> None:  # hot: per renewal
        """Keep a lease as it was written; an error waits for the next round, as a lease lasts for four rounds."""
        slot = self._slots_by_node.get(name)
        if slot is None:  # its node was removed meanwhile
            return
        if not isinstance(outcome, Exception):
            self._leases[name] = outcome
            if self._bad_objects:
                self._bad_objects.forget("Lease", Key(NAMESPACE, name), self.name)
        elif isinstance(outcome, NotFound | AlreadyExists | Conflict):
            self._leases.pop(name, None)  # changed or deleted by another client: the next round reads it
        elif isinstance(outcome, ApiError):
            _LOG.warning("lease of node %s: %s; next try in %g s", name, outcome, slot.renew_seconds)
        else:
            self._leases.pop(name, None)
            self._bad_objects.record_failure(self.name, "Lease", Key(NAMESPACE, name), outcome)

    def _make_lease(self, node: ReadOnlyObject) -> Object:
        name, uid = node["metadata"]["name"], node["metadata"].get("uid", "")
        owner = {"apiVersion": "v1", "kind": "Node", "name": name, "uid": uid}
        return {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": name, "namespace": NAMESPACE, "ownerReferences": [owner]},
            "spec": {
                "holderIdentity": name,
                "leaseDurationSeconds": get_lease_seconds(node),
                "renewTime": render_micro_time(self._clock.now()),
            },
        }


def get_lease_seconds(node: ReadOnlyObject) -> int:
    """Return the duration of a node's lease; an annotation that is no number of seconds is ignored."""
    text = (node["metadata"].get("annotations") or {}).get(DURATION_ANNOTATION, "")
    seconds = int(text) if text.isascii() and text.isdigit() and len(text) <= len(str(_LEASE_SECONDS_MAX)) else 0
    return seconds if 0 < seconds <= _LEASE_SECONDS_MAX else LEASE_SECONDS
