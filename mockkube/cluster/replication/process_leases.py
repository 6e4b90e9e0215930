"""Leases of the processes that use one store: who may start, and which API servers are alive.

Each process keeps one record in the store, beside the objects, and renews it. Whether a record is still renewed is
measured by the clock of the observer, from one change of it to the next, so that clocks of machines may differ.
"""

import asyncio
import json
import logging
import os
import socket
from contextlib import suppress
from dataclasses import asdict, fields, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final, Self

from mockkube_storage.errors import Conflict, Unavailable
from mockkube_storage.model import Entry
from mockkube_storage.store import Store

from mockkube.api.times import parse_micro_time, render_micro_time
from mockkube.apiserver.registry.watch_cache import SHARED_PREFIX
from mockkube.cluster.configuration.errors import StartError
from mockkube.lazy_dataclasses import dataclass
from mockkube.runtime.clock import Clock

PREFIX: Final = f"{SHARED_PREFIX}processes/"
# As the leases of API servers in the etcd of a real control plane.
# upstream 1.36: pkg/controlplane/apiserver/config.go, DefaultEndpointReconcilerTTL
LEASE_SECONDS: Final = 15.0
RENEW_SECONDS: Final = 5.0
# A record that is older than this by the clock is not waited for; no clocks that are to work together differ as much.
_FORGOTTEN_AFTER: Final = timedelta(minutes=10)
_POLL_SECONDS: Final = 0.5
# A process ends in time also if its store does not answer; its lease then expires.
RELEASE_SECONDS_MAX: Final = 0.3
_LOG: Final = logging.getLogger("mockkube.cluster")


@dataclass(frozen=True, slots=True)
class ProcessRecord:
    """A process of a control plane, as the others see it."""

    cluster: str
    host: str
    pid: int
    # Boot and process namespace of the machine, and start of the process in it; empty if they are unknown.
    machine: str
    started: str
    joins: bool
    # URL at which others reach its API server.
    url: str
    renew_time: str = ""

    @classmethod
    def for_this_process(cls, cluster: str, url: str, *, joins: bool) -> Self:
        """Return the record of this process, whose API server others reach at the URL."""
        pid = os.getpid()
        return cls(cluster, socket.gethostname(), pid, _identify_machine(), _find_start(pid), joins, url)

    @classmethod
    def decode(cls, entry: Entry) -> Self | None:
        """Return the record of an entry; None if it cannot be read."""
        try:
            found: dict[str, Any] = json.loads(entry.value)
            # Fields that a newer version may have added are left out.
            return cls(**{one.name: found[one.name] for one in fields(cls)})
        except (ValueError, TypeError, KeyError):
            return None

    def encode(self, now: datetime) -> bytes:
        """Return the record as renewed now."""
        return json.dumps(asdict(replace(self, renew_time=render_micro_time(now)))).encode()

    @property
    def description(self) -> str:
        """Host, process and cluster, for messages."""
        return f"{self.host}, process {self.pid}, cluster {self.cluster!r}"

    def is_local(self) -> bool:
        """Return whether the process runs, or ran, on this machine."""
        return bool(self.machine) and self.machine == _identify_machine()

    def has_ended(self, now: datetime) -> bool:
        """Return whether the process is known not to run any more."""
        if self.is_local():
            return self.started != _find_start(self.pid)
        try:
            return parse_micro_time(self.renew_time) + _FORGOTTEN_AFTER < now
        except ValueError:
            return True


@dataclass(slots=True)
class _Observation:
    """Revisions of a record: when first seen, and now, with the time since when it is seen."""

    first_revision: int
    revision: int
    since: float


class ProcessLeases:
    """Lease of this process on a store, and observations of those of other processes.

    Entering acquires the lease and keeps it renewed, leaving releases it.
    """

    def __init__(self, store: Store, clock: Clock, record: ProcessRecord, identity: str) -> None:
        """Keep the record under this identity, which no other process has."""
        self._store = store
        self._clock = clock
        # Record of this process, as of its start.
        self.record = record
        self._key = f"{PREFIX}{identity}"
        self._entry: Entry | None = None
        self._observed: dict[str, _Observation] = {}
        self._group = asyncio.TaskGroup()

    async def __aenter__(self) -> Self:
        await self.acquire()
        await self._group.__aenter__()
        self._renewal = self._group.create_task(self.run(), name="process lease")
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        self._renewal.cancel()
        # Without the error: it is that of the caller, not of the renewal.
        await self._group.__aexit__(None, None, None)
        await self.release()

    async def acquire(self) -> None:
        """Create the lease. Raises StartError if a process that cannot share the store uses it."""
        # Created first, then compared: of two processes that start at once, the later one sees the earlier one.
        own = self._entry = await self._store.create(self._key, self.record.encode(self._clock.now()))
        try:
            has_waited = False
            while blocking := await self._find_blocking(own):
                for entry, record in blocking:
                    if record.is_local() or self._has_been_renewed(entry):
                        raise StartError(self._describe_refusal(record))
                    if not has_waited:
                        text = "the database was in use by %s: waiting up to %.0f s to see whether it still is"
                        _LOG.warning(text, record.description, LEASE_SECONDS)
                has_waited = True
                await self._clock.sleep(_POLL_SECONDS)
        except BaseException:
            await self.release()
            raise

    async def _find_blocking(self, own: Entry) -> list[tuple[Entry, ProcessRecord]]:
        """Return older records with which this process cannot share the store; delete those of ended processes."""
        blocking = []
        for entry in (await self._store.list(PREFIX)).entries:
            if entry.create_revision >= own.create_revision:
                continue
            record = ProcessRecord.decode(entry)
            if record is None or record.has_ended(self._clock.now()) or not self._observe(entry):
                with suppress(Conflict):
                    await self._store.delete(entry.key, expected=entry.revision)
            elif not (record.joins and self.record.joins):
                blocking.append((entry, record))
        return blocking

    def _observe(self, entry: Entry) -> bool:
        """Return whether a record has been renewed within the time of a lease, or is new to this process."""
        now = self._clock.monotonic()
        seen = self._observed.setdefault(entry.key, _Observation(entry.revision, entry.revision, now))
        if seen.revision != entry.revision:
            seen.revision, seen.since = entry.revision, now
        return now - seen.since < LEASE_SECONDS

    def _has_been_renewed(self, entry: Entry) -> bool:
        """Return whether a record has been renewed since this process saw it first."""
        return self._observed[entry.key].first_revision != entry.revision

    def _describe_refusal(self, record: ProcessRecord) -> str:
        if self.record.joins:
            remedy = "start that one with --join, too, or give another --db"
        elif record.joins:
            remedy = "join it with --join, or give another --db"
        else:
            remedy = "start both with --join, or give another --db"
        return f"another control plane uses this database ({record.description}): {remedy}"

    async def run(self) -> None:
        """Renew the lease until cancelled."""
        while True:
            await self._clock.sleep(RENEW_SECONDS)
            try:
                await self._renew()
            except Unavailable as error:
                _LOG.warning("the lease on the database is not renewed: %s", error)

    async def _renew(self) -> None:
        value = self.record.encode(self._clock.now())
        try:
            if self._entry is None:
                self._entry = await self._store.create(self._key, value)
            else:
                self._entry = await self._store.update(self._key, value, expected=self._entry.revision)
        except Conflict as conflict:
            # A renewal that seemed to fail was done, or another process took this one for dead and deleted the record.
            self._entry = conflict.current
            await self._renew()

    async def release(self) -> None:
        """Delete the lease: no other process waits for it to expire."""
        with suppress(Conflict, Unavailable, TimeoutError):
            if self._entry is not None:
                async with asyncio.timeout(RELEASE_SECONDS_MAX):
                    await self._store.delete(self._key, expected=self._entry.revision)
        self._entry = None

    async def find_live(self) -> list[ProcessRecord]:
        """Return the records that are renewed, this one among them."""
        entries = (await self._store.list(PREFIX)).entries
        now, live = self._clock.now(), []
        for entry in entries:
            record = ProcessRecord.decode(entry)
            if record is not None and self._observe(entry) and not record.has_ended(now):
                live.append(record)
        for key in self._observed.keys() - {entry.key for entry in entries}:
            del self._observed[key]
        return live


def _identify_machine() -> str:
    """Return an identifier of the machine since it booted, and of the container; empty if there is none."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}/{os.readlink('/proc/self/ns/pid')}"
    except OSError:  # not Linux
        return ""


def _find_start(pid: int) -> str:
    """Return when a process of this machine started, in ticks since the boot; empty if it does not run."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return ""
    # The name, in parentheses, may contain anything; the start is the 20th field after it.
    fields = stat.rpartition(")")[2].split()
    # A process that has ended, and whose parent has not noticed, is a zombie.
    return "" if fields[0] == "Z" else fields[19]
