"""Claims on cluster IPs and node ports: one at most of several API servers on a store uses a value.

A claim is a key in the store, beside the objects. It is created before the service is stored and deleted afterwards;
from then on the stored service itself holds the value. A claim of a server that has ended expires.

upstream 1.36 has IPAddress objects for the one and a bitmap with compare and swap for the other:
pkg/registry/core/service/{ip,port}allocator
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from mockkube_storage.errors import Conflict
from mockkube_storage.model import Entry

from mockkube.api.errors import Internal
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.times import parse_micro_time, render_micro_time
from mockkube.apiserver.registry import encoding
from mockkube.apiserver.registry.watch_cache import SHARED_PREFIX

if TYPE_CHECKING:
    from mockkube.apiserver.registry.resource import RegistryDependencies, Resource
    from mockkube.apiserver.registry.service_ip_allocator import AllocatedValue, Reservation

PREFIX: Final = f"{SHARED_PREFIX}allocations/"
# Longer than any request takes.
CLAIM_LIFETIME: Final = timedelta(minutes=2)
# Attempts to choose values that no other server has claimed.
ALLOCATE_TRIES_MAX: Final = 100


class Claims:
    """Claimed values of one service, with their reservation in this process."""

    def __init__(self, dependencies: RegistryDependencies, reservation: Reservation, entries: Iterable[Entry]) -> None:
        self._dependencies = dependencies
        self._reservation = reservation
        self._entries = tuple(entries)

    async def release(self) -> None:
        """Give up what no stored service uses by now."""
        self._reservation.release()
        for entry in self._entries:
            # Otherwise it has expired, and another server has claimed the value.
            with suppress(Conflict):
                await self._dependencies.store.delete(entry.key, expected=entry.revision)


def has_allocations(storage_resource: Resource) -> bool:
    """Return whether objects of a kind have addresses or ports that are allocated."""
    return storage_resource.plural == "services" and not storage_resource.group


async def allocate(
    storage_resource: Resource, new: Object, old: ReadOnlyObject | None, *, dry_run: bool = False
) -> Claims:
    """Write addresses and node ports into a service, and claim them until it is stored or rejected.

    Other kinds need nothing. On a store that no other process uses, a reservation in this process is enough.
    """
    dependencies = storage_resource.dependencies
    allocator = dependencies.service_ip_allocator
    if dry_run or not dependencies.is_store_shared or not has_allocations(storage_resource):
        return Claims(dependencies, allocator.allocate(storage_resource, new, old, dry_run=dry_run), ())
    # An attempt changes the service in place, so that each begins with a copy.
    spec = encoding.dumps(new["spec"])
    claimed_elsewhere: set[AllocatedValue] = set()
    for _ in range(ALLOCATE_TRIES_MAX):
        new["spec"] = encoding.loads(spec)
        barred = allocator.bar(claimed_elsewhere)
        try:
            reservation = allocator.allocate(storage_resource, new, old)
        finally:
            barred.release()
        claims = await _claim(dependencies, reservation, claimed_elsewhere)
        if claims is not None:
            return claims
    raise Internal("failed to allocate a cluster IP or node port: other servers have claimed them")


async def _claim(
    dependencies: RegistryDependencies, reservation: Reservation, claimed_elsewhere: set[AllocatedValue]
) -> Claims | None:
    """Claim the reserved values; add one that another server has claimed, and return None."""
    entries: list[Entry] = []
    claims: Claims | None = None
    try:
        for value in reservation.values:
            entry = await _create(dependencies, f"{PREFIX}{value}")
            if entry is None:
                claimed_elsewhere.add(value)
                return None
            entries.append(entry)
        if entries:
            # A service that was stored before the claim is seen now; one that comes later finds the claim.
            await dependencies.watch_cache.wait_until_fresh()
        if not any(dependencies.service_ip_allocator.is_stored(value) for value in reservation.values):
            claims = Claims(dependencies, reservation, entries)
        return claims
    finally:
        if claims is None:
            await Claims(dependencies, reservation, entries).release()


async def _create(dependencies: RegistryDependencies, key: str) -> Entry | None:
    """Create a claim, in the place of an expired one; return None if another server has one."""
    store, now = dependencies.store, dependencies.clock.now()
    value = render_micro_time(now).encode()
    try:
        return await store.create(key, value)
    except Conflict as conflict:
        if conflict.current is not None and not _has_expired(conflict.current, now):
            return None
        with suppress(Conflict):
            if conflict.current is None:
                return await store.create(key, value)
            return await store.update(key, value, expected=conflict.current.revision)
        return None


def _has_expired(entry: Entry, now: datetime) -> bool:
    try:
        return parse_micro_time(entry.value.decode()) + CLAIM_LIFETIME < now
    except ValueError:
        return True
