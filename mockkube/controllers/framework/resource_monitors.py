"""Monitors of all kinds: informers for the garbage collector and the quota controller.

Kinds that the server does not serve are set aside until a watch is reopened: the server may have been replaced by
another version.
"""

from collections.abc import Sequence
from typing import Final

from mockkube.api.errors import MethodNotAllowed, NotFound
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.client.informer import EventHandler, Informer, InformerFactory, ObjectChange
from mockkube.client.protocol import EVERYTHING, Client, ObjectList, Selection, Watch, WatchEventType
from mockkube.client.rate_limited_client import RateLimitedClient
from mockkube.controllers.framework.served_kinds import (
    BUILT_IN,
    CRD_KIND,
    ServedKind,
    custom_kind,
    is_established,
)
from mockkube.runtime.clock import Clock
from mockkube.runtime.steps import Signal

_IGNORED: Final = ("Event",)


class NotServed(Exception):
    """The server does not serve this kind."""


class _MonitorClient(RateLimitedClient):
    """Client that distinguishes a kind that is not served from an unreachable server."""

    def __init__(self, client: Client, clock: Clock) -> None:
        super().__init__(client, clock, None)
        self._watched: set[str] = set()
        # Whether a watch was opened a second time: the server may have been restarted with other kinds.
        self.watch_reopened = False

    async def list(self, kind: str, selection: Selection = EVERYTHING) -> ObjectList:
        try:
            return await super().list(kind, selection)
        except (NotFound, MethodNotAllowed) as error:
            raise NotServed(kind) from error

    async def watch(self, kind: str, selection: Selection, after: str) -> Watch:
        try:
            watch = await super().watch(kind, selection, after)
        except (NotFound, MethodNotAllowed) as error:
            raise NotServed(kind) from error
        self.watch_reopened = self.watch_reopened or kind in self._watched
        self._watched.add(kind)
        return watch

    def forget(self, kind: str) -> None:
        """Forget a kind that is no longer served."""
        self._watched.discard(kind)


class ResourceMonitors:
    """Worker of all monitors. Kinds are added and removed while it runs; it watches nothing until used."""

    def __init__(self, client: Client, clock: Clock, informers: InformerFactory, owner: str) -> None:
        self.name = f"{owner}/every-kind"
        self.signal = Signal()
        # Notified when all monitors have synced for the first time.
        self.synced_signals: list[Signal] = []
        self._client, self._clock, self._informers = _MonitorClient(client, clock), clock, informers
        self._handlers: list[EventHandler] = []
        self._monitors: dict[ServedKind, Informer] = {}
        self._unserved: dict[ServedKind, Informer] = {}
        # Informers to close, and whether their kind was deleted.
        self._closing: list[tuple[Informer, bool]] = []
        self._crds: Informer | None = None
        self._synced = False
        # Informer that takes the next step, if it is ready; None: the first that is.
        self.next_informer: Informer | None = None

    def add_event_handler(self, handler: EventHandler) -> Informer:
        """Call a handler for every change of any object; return the informer of CRDs, on which it depends."""
        self._handlers.append(handler)
        for monitor in (*self._monitors.values(), *self._unserved.values()):
            monitor.add_event_handler(handler)
        # Monitors start with the first handler: without garbage collector and quotas nothing is watched.
        if self._crds is None:
            for kind in BUILT_IN:
                if kind.name not in _IGNORED:
                    self._start_monitor(kind)
            self._crds = self._informers.informer_for(CRD_KIND)
            self._crds.add_event_handler(self._on_crd_change)
        return self._crds

    @property
    def is_used(self) -> bool:
        """True if a controller uses the monitors."""
        return bool(self._handlers)

    @property
    def informers(self) -> list[Informer]:
        """Informers of the monitored kinds."""
        return list(self._monitors.values())

    def kinds(self) -> list[ServedKind]:
        """Return the monitored kinds."""
        return list(self._monitors)

    def objects(self, kind: ServedKind, namespace: str) -> Sequence[ReadOnlyObject]:
        """Return the objects of a kind in a namespace."""
        return self._monitors[kind].list(namespace)

    def find_kind_of_object(self, obj: ReadOnlyObject) -> ServedKind | None:
        """Return the kind whose monitor holds this very object."""
        return next((kind for kind, monitor in self._monitors.items() if monitor.is_cached(obj)), None)

    def find_kind(self, api_version: str, kind: str) -> ServedKind | None:
        """Return the kind that an owner reference names; None if it is not served."""
        return next((one for one in self._monitors if one.matches(api_version, kind)), None)

    def has_synced(self) -> bool:
        """Return whether all monitors have synced; True for good once they have."""
        if not self._synced:
            crds_synced = self._crds is not None and self._crds.has_synced
            self._synced = crds_synced and all(one.has_synced for one in self._monitors.values())
        return self._synced

    def _start_monitor(self, kind: ServedKind) -> None:
        """Start the monitor of a kind, with all handlers."""
        monitor = Informer(
            self._client,
            kind.name,
            self._clock,
            owner=self.name,
            unreachable_servers=self._informers.unreachable_servers,
            bad=self._informers.bad,
            skips_heartbeats=True,
        )
        # One worker steps all monitors, since workers cannot be added while a component runs.
        monitor.signal = self.signal
        for handler in self._handlers:
            monitor.add_event_handler(handler)
        self._monitors[kind] = monitor
        self.signal.notify()

    def _on_crd_change(self, change: ObjectChange) -> None:
        """Start and stop monitors as the CRD is established, changed or deleted."""
        # CRDs are compared by what they serve: other changes need no new watch.
        before = custom_kind(change.old) if change.old is not None and is_established(change.old) else None
        after = custom_kind(change.object) if is_established(change.object) else None
        if change.type is WatchEventType.DELETED:
            before, after = after, None
        if before == after:
            return
        if before is not None:
            self._stop_monitor(before, is_deleted=change.type is WatchEventType.DELETED)
        if after is not None and after.versions:
            self._start_monitor(after)

    def _stop_monitor(self, kind: ServedKind, *, is_deleted: bool) -> None:
        monitor = self._monitors.pop(kind, None) or self._unserved.pop(kind, None)
        if monitor is not None:
            if is_deleted:
                self._client.forget(kind.name)
            # Closing awaits, and this runs inside an event handler, so it is left to a step.
            self._closing.append((monitor, is_deleted))
            self.signal.notify()

    def is_ready(self) -> bool:
        """Return whether a monitor has a step to take."""
        return bool(self._closing) or any(monitor.is_ready() for monitor in self._monitors.values())

    def wake_at(self) -> float | None:
        """Return when the next retry of a monitor is due."""
        return min((at for one in self._monitors.values() if (at := one.wake_at()) is not None), default=None)

    async def step(self) -> None:
        """Step one monitor, or close one."""
        if self._closing:
            monitor, is_deleted = self._closing.pop()
            await monitor.close()
            if is_deleted:
                # The objects were deleted before their CRD, but the watch may have ended before it delivered that.
                monitor.clear()
            return
        ready = {kind: one for kind, one in self._monitors.items() if one.is_ready()}
        kind, monitor = next(
            (item for item in ready.items() if item[1] is self.next_informer), next(iter(ready.items()))
        )
        await self._step_monitor(kind, monitor)
        if not self._synced and self.has_synced():
            for signal in self.synced_signals:
                signal.notify()

    async def _step_monitor(self, kind: ServedKind, monitor: Informer) -> None:
        try:
            await monitor.step()
        except NotServed:
            # Unless the kind was deleted during the step.
            if self._monitors.get(kind) is monitor:
                self._unserved[kind] = self._monitors.pop(kind)
        if self._client.watch_reopened:
            self._client.watch_reopened = False
            self._monitors.update(self._unserved)
            self._unserved.clear()

    async def close(self) -> None:
        """Close all monitors."""
        for monitor in (*self._monitors.values(), *(monitor for monitor, _ in self._closing)):
            await monitor.close()
