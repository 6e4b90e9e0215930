"""Nodes shared by the kubelets of several processes: each process is a member with a Lease, and simulates its share.

Each member publishes in its Lease the members among which it divides the nodes. A member simulates a node if its own
division gives it the node, and no division that another live member has published gives the node to that member. It
publishes a division only after it has dropped the nodes that it loses by it, and reads the others' divisions after it
has published its own before it simulates a node that it gains. Of two members that both want a node, at least one
thereby sees the other's Lease: no node has two kubelets at any moment.

Each member reads all Leases with each renewal of its own, and watches them besides: it sees renewals when they happen,
and reads the Leases at once when a member comes, goes, or publishes another division.
"""

import asyncio
import hashlib
import json
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final

from mockkube.api.errors import AlreadyExists, ApiError, Conflict, NotFound
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.times import render_micro_time
from mockkube.client.informer import Informer, ObjectChange
from mockkube.client.leader_election import (
    LEASE_NAMESPACE,
    LEASE_SECONDS,
    RELEASE_SECONDS_MAX,
    RENEW_DEADLINE_SECONDS,
    RETRY_SECONDS,
    RenewDeadlineWorker,
)
from mockkube.client.protocol import Client, DeleteOptions, Key, Selection, WatchEventType
from mockkube.lazy_dataclasses import dataclass
from mockkube.runtime.clock import Clock
from mockkube.runtime.steps import Signal, Worker

MEMBER_LABEL: Final = "mockkube.dev/member-of"
MEMBERS: Final = "kubelets"
_ALL_MEMBERS: Final = Selection(LEASE_NAMESPACE, f"{MEMBER_LABEL}={MEMBERS}")
# Annotation of a member's Lease: the members among which it divides the nodes, each with the only nodes it simulates.
DIVISION_ANNOTATION: Final = "mockkube.dev/members"
# Annotation of a member's Lease: the only nodes that it simulates.
NODES_ANNOTATION: Final = "mockkube.dev/nodes"
# Leases of members that ended without deleting them are deleted so long after their expiry.
EXPIRED_SECONDS_MAX: Final = 60.0
_KIND: Final = "Lease"

_LOG: Final = logging.getLogger("mockkube.kubelet")

# Members by identity, each with the only nodes that it simulates, or None for any.
Division = Mapping[str, tuple[str, ...] | None]


def find_owner(node: str, division: Division) -> str | None:
    """Return the member that simulates a node: the one with the highest hash of both names.

    When a member comes or goes, only its own nodes get another owner. Members that name the node come before others.
    """
    members = [member for member, nodes in division.items() if nodes is not None and node in nodes]
    members = members or [member for member, nodes in division.items() if nodes is None]
    return max(members, key=lambda member: (_hash(member, node), member), default=None)


def _hash(member: str, node: str) -> bytes:
    return hashlib.blake2b(f"{member}/{node}".encode(), digest_size=8).digest()


@dataclass(frozen=True, slots=True)
class _Member:
    """Another member as read last."""

    lease: ReadOnlyObject
    observed_at: float
    """When its Lease was seen to change."""
    nodes: tuple[str, ...] | None
    division: Division

    @property
    def expires_at(self) -> float:
        """Time from which on it does not live any more."""
        return self.observed_at + float((self.lease.get("spec") or {}).get("leaseDurationSeconds") or 0)

    def is_renewed_by(self, lease: ReadOnlyObject, now: float) -> bool:
        """Return whether a Lease of this live member publishes what is known of it."""
        return now < self.expires_at and (self.nodes, self.division) == (_read_nodes(lease), _read_division(lease))


class NodeShards:
    """Worker that keeps the member of this process, and knows which nodes it simulates."""

    def __init__(
        self,
        client: Client,
        clock: Clock,
        *,
        identity: str,
        owner: str,
        nodes: tuple[str, ...] | None = None,
    ) -> None:
        """Simulate only `nodes`, and leave them to no member that does not name them; None for any nodes."""
        self.name = f"{owner}/shards"
        self.signal = Signal()
        self.identity = identity
        # Called when the nodes of this member may have changed.
        self.on_changed: Callable[[], None] = lambda: None
        self._client, self._clock, self._nodes = client, clock, nodes
        name = f"{MEMBERS}-{hashlib.sha256(identity.encode()).hexdigest()[:16]}"
        self._key = Key(LEASE_NAMESPACE, name)
        self._lease: ReadOnlyObject | None = None
        self._members: dict[str, _Member] = {}
        # Division that this member has published last, and the one that it is about to publish.
        self._division: Division = {}
        self._next_division: Division = {}
        # Divisions that were, or may have been, published since the others were read last.
        self._unconfirmed: list[Division] = []
        # When the last successful renewal was sent; None while this process is no member.
        self._renewed_at: float | None = None
        self._next_try_at = clock.monotonic()
        # Whether members were seen to change since the last step began.
        self._saw_change = False
        self._informer = Informer(client, _KIND, clock, selection=_ALL_MEMBERS, owner=self.name)
        self._informer.add_event_handler(self._handle_change)
        self._owned: dict[str, bool] = {}
        # Workers in the middle of a step, and those of them whose step began before nodes were dropped.
        self._stepping: dict[_TrackedWorker, None] = {}
        self._awaited: dict[_TrackedWorker, None] = {}
        self._deadline_worker = RenewDeadlineWorker(
            f"{self.name}/deadline", clock, lambda: self.deadline, self.end_membership
        )

    # Ownership

    @property
    def deadline(self) -> float | None:
        """Time until which this process is a member without another renewal; None if it is none."""
        return None if self._renewed_at is None else self._renewed_at + RENEW_DEADLINE_SECONDS

    def is_member(self) -> bool:
        """Return whether the Lease of this member is held."""
        return (deadline := self.deadline) is not None and self._clock.monotonic() < deadline

    def owns(self, node: str) -> bool:  # hot: per pod and sync
        """Return whether this member simulates a node now."""
        if not self.is_member():
            return False
        owned = self._owned.get(node)
        if owned is None:
            owned = self._owned[node] = self._decide(node)
        return owned

    def _decide(self, node: str) -> bool:
        divisions = (self._division, self._next_division, *self._unconfirmed)
        if any(find_owner(node, division) != self.identity for division in divisions):
            return False
        return not any(find_owner(node, member.division) == name for name, member in self._live_members().items())

    def _live_members(self) -> dict[str, _Member]:
        now = self._clock.monotonic()
        return {name: member for name, member in self._members.items() if now < member.expires_at}

    def _change(self) -> None:
        self._owned.clear()
        self.on_changed()

    # Working

    @property
    def workers(self) -> Sequence[Worker]:
        """This worker, its informer, and the worker that watches the renew deadline."""
        return (self, self._informer, self._deadline_worker)

    def track(self, workers: Sequence[Worker]) -> Sequence[Worker]:
        """Return the workers of the kubelets; a node counts as dropped when their steps of before have ended."""
        return [_TrackedWorker(worker, self) for worker in workers]

    def is_ready(self) -> bool:
        """Return whether the next renewal is due."""
        return self._clock.monotonic() >= self._next_try_at

    def wake_at(self) -> float | None:
        """Return when the next renewal is due."""
        return self._next_try_at

    async def step(self) -> None:
        """Read the members, drop nodes, renew the Lease and publish the division."""
        retry_seconds = RETRY_SECONDS
        self._saw_change = False
        try:
            await self._step()
        except ApiError as error:
            level = logging.INFO if self._renewed_at is None else logging.WARNING
            _LOG.log(level, "%s: %s; next try in %.0f s", self.name, error, retry_seconds)
        else:
            if self._saw_change or (self._next_division != self._division and not self._awaited):
                retry_seconds = 0.0
        now = self._clock.monotonic()
        # The nodes of a member move when its Lease expires.
        expiries = [member.expires_at for member in self._live_members().values()]
        self._next_try_at = min((now + retry_seconds, *expiries))

    def _handle_change(self, change: ObjectChange) -> None:
        """Take note of an event about the Lease of a member."""
        lease, now = change.object, self._clock.monotonic()
        if lease["metadata"]["name"] == self._key.name:
            return
        name = (lease.get("spec") or {}).get("holderIdentity") or ""
        known = self._members.get(name)
        if known is not None and change.type is not WatchEventType.DELETED and known.is_renewed_by(lease, now):
            if _is_newer(lease, known.lease):
                self._members = {**self._members, name: replace(known, lease=lease, observed_at=now)}
        elif not self._saw_change:
            # Only a read confirms what members have published.
            self._saw_change = True
            self._next_try_at = now
            self.signal.notify()

    async def _step(self) -> None:
        # A step that has begun before the Lease was lost must not go on writing under a new one.
        if self._renewed_at is None and self._awaited:
            return
        await self._read_members()
        self._drop_nodes(
            {self.identity: self._nodes, **{name: one.nodes for name, one in self._live_members().items()}}
        )
        division = self._next_division
        # Nodes that are not dropped yet are still this member's, for all others to see.
        if self._awaited:
            division = self._division
        if division != self._division:
            # Also if no answer comes: others may have seen it, and act accordingly.
            self._unconfirmed += [one for one in (self._division, division) if one not in self._unconfirmed]
        sent_at = self._clock.monotonic()
        await self._write_lease(division)
        if self._clock.monotonic() >= sent_at + RENEW_DEADLINE_SECONDS:
            return  # too late: the others may take its nodes already
        if self._renewed_at is None:
            self._deadline_worker.signal.notify()
        self._renewed_at = sent_at
        if division != self._division:
            self._division = division
            self._owned.clear()
        if self._unconfirmed and await self._read_members():
            self._unconfirmed.clear()
            self._change()

    async def _read_members(self) -> bool:
        """Read the Leases of the other members; return whether the answer is newer than the own Lease."""
        before = self._members
        listed = await self._client.list(_KIND, _ALL_MEMBERS)
        now, members = self._clock.monotonic(), dict[str, _Member]()
        for lease in listed.items:
            name = (lease.get("spec") or {}).get("holderIdentity") or ""
            if lease["metadata"]["name"] == self._key.name or not name:
                continue
            known = self._members.get(name)
            # An event that arrived meanwhile may be newer than the answer.
            if known is not None and (
                _version_of(known.lease) == _version_of(lease)
                or (known is not before.get(name) and _is_newer(known.lease, lease))
            ):
                members[name] = known
            else:
                members[name] = _Member(lease, now, _read_nodes(lease), _read_division(lease))
        changed = {name: one.division for name, one in members.items()} != {
            name: one.division for name, one in self._members.items()
        }
        self._members = members
        if changed:
            self._change()
        for member in members.values():
            await self._delete_if_expired(member, now)
        return self._lease is not None and int(listed.resource_version) >= int(_version_of(self._lease))

    async def _delete_if_expired(self, member: _Member, now: float) -> None:
        """Delete the Lease of a member that is gone for long."""
        if now < member.expires_at + EXPIRED_SECONDS_MAX:
            return
        metadata = member.lease["metadata"]
        options = DeleteOptions(uid=metadata["uid"], resource_version=metadata["resourceVersion"])
        # Another member may be faster, or it is alive again.
        with suppress(NotFound, Conflict):
            await self._client.delete(_KIND, Key(metadata["namespace"], metadata["name"]), options)

    def _drop_nodes(self, division: Division) -> None:
        """Simulate only nodes that stay this member's by a new division."""
        if division == self._next_division:
            return
        self._next_division = division
        # A step that has begun may still write about a node of before.
        self._awaited = dict(self._stepping)
        self._change()

    async def _write_lease(self, division: Division) -> None:
        """Renew the Lease of this member, with its division."""
        annotations = {DIVISION_ANNOTATION: json.dumps(division)}
        if self._nodes is not None:
            annotations[NODES_ANNOTATION] = ",".join(self._nodes)
        spec = {
            "holderIdentity": self.identity,
            "leaseDurationSeconds": int(LEASE_SECONDS),
            "renewTime": render_micro_time(self._clock.now()),
        }
        lease: Object = {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": _KIND,
            "metadata": {
                "name": self._key.name,
                "namespace": self._key.namespace,
                "labels": {MEMBER_LABEL: MEMBERS},
                "annotations": annotations,
            },
            "spec": spec,
        }
        try:
            if self._lease is None:
                self._lease = await self._client.create(_KIND, lease)
            else:
                lease["metadata"]["resourceVersion"] = _version_of(self._lease)
                self._lease = await self._client.update(_KIND, lease)
        except (NotFound, Conflict, AlreadyExists):
            await self._read_own_lease()
            raise

    async def _read_own_lease(self) -> None:
        """Read the Lease of this member, which was deleted, or written by a request without an answer."""
        try:
            self._lease = await self._client.get(_KIND, self._key)
        except NotFound:
            self._lease = None

    def end_membership(self) -> None:
        """Give all nodes up at once."""
        if self._renewed_at is not None:
            self._renewed_at = None
            self._division = self._next_division = {}
            self._unconfirmed.clear()
            self._awaited = dict(self._stepping)
            _LOG.warning("%s: the Lease is lost: other members take the nodes", self.name)
            self._change()

    async def leave(self) -> None:
        """Delete the Lease, so that other members need not wait; nothing simulates nodes of this member any more."""
        self._renewed_at = None
        await self._informer.close()
        try:
            async with asyncio.timeout(RELEASE_SECONDS_MAX):
                await self._client.delete(_KIND, self._key)
        except (ApiError, TimeoutError) as error:
            _LOG.info("%s: the Lease is not deleted: %s", self.name, error or type(error).__name__)

    # Steps of the kubelets

    def begin_step(self, worker: "_TrackedWorker") -> None:
        """Note that a worker of the kubelets begins a step."""
        self._stepping[worker] = None

    def end_step(self, worker: "_TrackedWorker") -> None:
        """Note that the step has ended."""
        self._stepping.pop(worker, None)
        if self._awaited.pop(worker, worker) is None and not self._awaited:
            self._next_try_at = self._clock.monotonic()
            self.signal.notify()


def _is_newer(lease: ReadOnlyObject, known: ReadOnlyObject) -> bool:
    """Return whether a Lease is newer than the known one; False if that is unknown."""
    version, known_version = _version_of(lease), _version_of(known)
    return version.isdecimal() and known_version.isdecimal() and int(version) > int(known_version)


def _version_of(lease: ReadOnlyObject) -> str:
    version: str = lease["metadata"]["resourceVersion"]
    return version


def _read_nodes(lease: ReadOnlyObject) -> tuple[str, ...] | None:
    text = (lease["metadata"].get("annotations") or {}).get(NODES_ANNOTATION)
    return None if text is None else tuple(text.split(","))


def _read_division(lease: ReadOnlyObject) -> Division:
    """Return the division that a member has published; empty if it cannot be read."""
    text = (lease["metadata"].get("annotations") or {}).get(DIVISION_ANNOTATION, "{}")
    try:
        return {name: None if nodes is None else tuple(nodes) for name, nodes in json.loads(text).items()}
    except (ValueError, TypeError, AttributeError):
        return {}


class _TrackedWorker:
    """Worker of the kubelets whose steps the shards know."""

    def __init__(self, worker: Worker, shards: NodeShards) -> None:
        self._worker, self._shards = worker, shards
        self.name, self.signal = worker.name, worker.signal

    def is_ready(self) -> bool:
        """Return whether the worker is ready."""
        return self._worker.is_ready()

    def wake_at(self) -> float | None:
        """Return when the worker wakes."""
        return self._worker.wake_at()

    async def step(self) -> None:
        """Take a step of the worker."""
        self._shards.begin_step(self)
        try:
            await self._worker.step()
        finally:
            self._shards.end_step(self)
