"""Monitors of all kinds: informers for the garbage collector and the quota controller.

Kinds that the server does not serve are set aside until a watch is reopened: the server may have been replaced by
another version.
"""

from collections.abc import Sequence
from typing import Final

from mockkube.api.errors import MethodNotAllowed, NotFound
from mockkube.api.types import ReadOnlyObject
from mockkube.client.cache import Change, Handler, Informer, InformerFactory
from mockkube.client.protocol import EVERYTHING, Client, EventType, Listed, Selection, Watch
from mockkube.controllers.framework.rate_limited_client import RateLimitedClient
from mockkube.controllers.garbagecollector.served_kinds import (
    BUILT_IN,
    DEFINITION,
    ServedKind,
    custom_kind,
    established,
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
        self.returned = False

    async def list(self, kind: str, selection: Selection = EVERYTHING) -> Listed:
        try:
            return await super().list(kind, selection)
        except (NotFound, MethodNotAllowed) as error:
            raise NotServed(kind) from error

    async def watch(self, kind: str, selection: Selection, after: str) -> Watch:
        try:
            watch = await super().watch(kind, selection, after)
        except (NotFound, MethodNotAllowed) as error:
            raise NotServed(kind) from error
        self.returned = self.returned or kind in self._watched
        self._watched.add(kind)
        return watch


class ResourceMonitors:
    """Worker of all monitors. Kinds are added and removed while it runs; it watches nothing until used."""

    def __init__(self, client: Client, clock: Clock, caches: InformerFactory, owner: str) -> None:
        self.name = f"{owner}/every-kind"
        self.bell = Signal()
        # Notified when all monitors have synced for the first time.
        self.synced_signals: list[Signal] = []
        self._client, self._clock, self._informers = _MonitorClient(client, clock), clock, caches
        self._handlers: list[Handler] = []
        self._monitors: dict[ServedKind, Informer] = {}
        self._unserved: dict[ServedKind, Informer] = {}
        self._closing: list[Informer] = []
        self._crds: Informer | None = None
        self._synced = False

    def subscribe(self, handler: Handler) -> Informer:
        """Call a handler for every change of any object; return the informer of CRDs, on which it depends."""
        self._handlers.append(handler)
        for monitor in (*self._monitors.values(), *self._unserved.values()):
            monitor.subscribe(handler)
        # Monitors start with the first handler: without garbage collector and quotas nothing is watched.
        if self._crds is None:
            for kind in BUILT_IN:
                if kind.name not in _IGNORED:
                    self._start_monitor(kind)
            self._crds = self._informers.of(DEFINITION)
            self._crds.subscribe(self._on_crd_change)
        return self._crds

    @property
    def used(self) -> bool:
        """True if a controller uses the monitors."""
        return bool(self._handlers)

    def kinds(self) -> list[ServedKind]:
        """Return the monitored kinds."""
        return list(self._monitors)

    def objects(self, kind: ServedKind, namespace: str) -> Sequence[ReadOnlyObject]:
        """Return the objects of a kind in a namespace."""
        return self._monitors[kind].list(namespace)

    def find_kind_of_object(self, obj: ReadOnlyObject) -> ServedKind | None:
        """Return the kind whose monitor holds this very object."""
        return next((kind for kind, monitor in self._monitors.items() if monitor.holds(obj)), None)

    def kind_of(self, api_version: str, kind: str) -> ServedKind | None:
        """Return the kind that an owner reference names; None if it is not served."""
        return next((one for one in self._monitors if one.covers(api_version, kind)), None)

    def synced(self) -> bool:
        """Return whether all monitors have synced; True for good once they have."""
        if not self._synced:
            crds_synced = self._crds is not None and self._crds.synced
            self._synced = crds_synced and all(one.synced for one in self._monitors.values())
        return self._synced

    def _start_monitor(self, kind: ServedKind) -> None:
        """Start the monitor of a kind, with all handlers."""
        monitor = Informer(
            self._client,
            kind.name,
            self._clock,
            owner=self.name,
            outages=self._informers.outages,
            bad=self._informers.bad,
        )
        # One worker steps all monitors, since workers cannot be added while a component runs.
        monitor.bell = self.bell
        for handler in self._handlers:
            monitor.subscribe(handler)
        self._monitors[kind] = monitor
        self.bell.ring()

    def _on_crd_change(self, change: Change) -> None:
        """Start and stop monitors as the CRD is established, changed or deleted."""
        # CRDs are compared by what they serve: other changes need no new watch.
        before = custom_kind(change.old) if change.old is not None and established(change.old) else None
        after = custom_kind(change.object) if established(change.object) else None
        if change.type is EventType.DELETED:
            before, after = after, None
        if before == after:
            return
        if before is not None:
            self._stop_monitor(before)
        if after is not None and after.versions:
            self._start_monitor(after)

    def _stop_monitor(self, kind: ServedKind) -> None:
        monitor = self._monitors.pop(kind, None) or self._unserved.pop(kind, None)
        if monitor is not None:
            # Closing awaits, and this runs inside an event handler, so it is left to a step.
            self._closing.append(monitor)
            self.bell.ring()

    def ready(self) -> bool:
        """Return whether a monitor has a step to take."""
        return bool(self._closing) or any(monitor.ready() for monitor in self._monitors.values())

    def wake_at(self) -> float | None:
        """Return when the next retry of a monitor is due."""
        return min((at for one in self._monitors.values() if (at := one.wake_at()) is not None), default=None)

    async def step(self) -> None:
        """Step one monitor, or close one."""
        if self._closing:
            await self._closing.pop().close()
            return
        kind, monitor = next((kind, one) for kind, one in self._monitors.items() if one.ready())
        await self._step_monitor(kind, monitor)
        if not self._synced and self.synced():
            for signal in self.synced_signals:
                signal.ring()

    async def _step_monitor(self, kind: ServedKind, monitor: Informer) -> None:
        try:
            await monitor.step()
        except NotServed:
            self._unserved[kind] = self._monitors.pop(kind)
        if self._client.returned:
            self._client.returned = False
            self._monitors.update(self._unserved)
            self._unserved.clear()

    async def close(self) -> None:
        """Close all monitors."""
        for monitor in (*self._monitors.values(), *self._closing):
            await monitor.close()
