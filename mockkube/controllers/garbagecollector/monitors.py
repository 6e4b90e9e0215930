"""Watches objects of every kind there is, for the controllers that deal with all of them.

Kinds the server does not serve are left alone until it was away: it may be another one by then.
"""

from collections.abc import Sequence
from typing import Final

from mockkube.api.errors import MethodNotAllowed, NotFound
from mockkube.api.types import ReadOnlyObject
from mockkube.client.cache import Caches, Change, Handler, ListWatch
from mockkube.client.protocol import EVERYTHING, Client, EventType, Listed, Selection, Watch
from mockkube.controllers.framework.rate_limited_client import Throttled
from mockkube.controllers.garbagecollector.served_kinds import (
    BUILT_IN,
    DEFINITION,
    ServedKind,
    custom_kind,
    established,
)
from mockkube.runtime.clock import Clock
from mockkube.runtime.steps import Bell

_IGNORED: Final = ("Event",)


class NotServed(Exception):
    """The server does not have this kind."""


class _Asking(Throttled):
    """A client that tells a kind that is not served from a server that does not answer."""

    def __init__(self, client: Client, clock: Clock) -> None:
        super().__init__(client, clock, None)
        self._watched: set[str] = set()
        self.returned = False
        """Whether a watch that was open before was opened again: the server may have been away."""

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


class EveryKind:
    """One worker for all the watches: kinds come and go while it runs. It watches nothing before somebody asks."""

    def __init__(self, client: Client, clock: Clock, caches: Caches, owner: str) -> None:
        self.name = f"{owner}/every-kind"
        self.bell = Bell()
        self.synced_bells: list[Bell] = []
        """Rung when everything is known for the first time."""
        self._client, self._clock, self._caches = _Asking(client, clock), clock, caches
        self._handlers: list[Handler] = []
        self._monitors: dict[ServedKind, ListWatch] = {}
        self._parked: dict[ServedKind, ListWatch] = {}
        self._closing: list[ListWatch] = []
        self._definitions: ListWatch | None = None
        self._synced = False

    def subscribe(self, handler: Handler) -> ListWatch:
        """Tell a handler of every change of any object; return the cache of definitions, which it depends on."""
        self._handlers.append(handler)
        for monitor in (*self._monitors.values(), *self._parked.values()):
            monitor.subscribe(handler)
        if self._definitions is None:
            for kind in BUILT_IN:
                if kind.name not in _IGNORED:
                    self._open(kind)
            self._definitions = self._caches.of(DEFINITION)
            self._definitions.subscribe(self._definition_changed)
        return self._definitions

    @property
    def used(self) -> bool:
        """Whether anybody asked."""
        return bool(self._handlers)

    def kinds(self) -> list[ServedKind]:
        """Return the kinds that are watched."""
        return list(self._monitors)

    def objects(self, kind: ServedKind, namespace: str) -> Sequence[ReadOnlyObject]:
        """Return the objects of a kind in a namespace."""
        return self._monitors[kind].list(namespace)

    def kind_holding(self, obj: ReadOnlyObject) -> ServedKind | None:
        """Return the kind among whose objects this one is, as it is now."""
        return next((kind for kind, monitor in self._monitors.items() if monitor.holds(obj)), None)

    def kind_of(self, api_version: str, kind: str) -> ServedKind | None:
        """Return what an owner reference means; None when no such kind is served."""
        return next((one for one in self._monitors if one.covers(api_version, kind)), None)

    def synced(self) -> bool:
        """Whether every kind has been seen whole."""
        if not self._synced:
            told = self._definitions is not None and self._definitions.synced
            self._synced = told and all(one.synced for one in self._monitors.values())
        return self._synced

    def _open(self, kind: ServedKind) -> None:
        monitor = ListWatch(
            self._client,
            kind.name,
            self._clock,
            owner=self.name,
            outages=self._caches.outages,
            bad=self._caches.bad,
        )
        monitor.bell = self.bell
        for handler in self._handlers:
            monitor.subscribe(handler)
        self._monitors[kind] = monitor
        self.bell.ring()

    def _definition_changed(self, change: Change) -> None:
        before = custom_kind(change.old) if change.old is not None and established(change.old) else None
        after = custom_kind(change.object) if established(change.object) else None
        if change.type is EventType.DELETED:
            before, after = after, None
        if before == after:
            return
        if before is not None:
            self._close(before)
        if after is not None and after.versions:
            self._open(after)

    def _close(self, kind: ServedKind) -> None:
        monitor = self._monitors.pop(kind, None) or self._parked.pop(kind, None)
        if monitor is not None:
            self._closing.append(monitor)
            self.bell.ring()

    def ready(self) -> bool:
        """Whether one of the watches has something."""
        return bool(self._closing) or any(monitor.ready() for monitor in self._monitors.values())

    def wake_at(self) -> float | None:
        """Return when the next of them becomes ready by itself."""
        return min((at for one in self._monitors.values() if (at := one.wake_at()) is not None), default=None)

    async def step(self) -> None:
        """Let one of the watches take its step."""
        if self._closing:
            await self._closing.pop().close()
            return
        kind, monitor = next((kind, one) for kind, one in self._monitors.items() if one.ready())
        await self._step(kind, monitor)
        if not self._synced and self.synced():
            for bell in self.synced_bells:
                bell.ring()

    async def _step(self, kind: ServedKind, monitor: ListWatch) -> None:
        try:
            await monitor.step()
        except NotServed:
            self._parked[kind] = self._monitors.pop(kind)
        if self._client.returned:
            self._client.returned = False
            self._monitors.update(self._parked)
            self._parked.clear()

    async def close(self) -> None:
        """Stop watching."""
        for monitor in (*self._monitors.values(), *self._closing):
            await monitor.close()
