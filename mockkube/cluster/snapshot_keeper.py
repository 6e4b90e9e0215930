"""Saves the cluster for every snapshot that is created, and restores it when one is asked for.

What is to be done follows from the objects alone: one without the condition Saved is saved, one whose `spec.restore` is
greater than `status.restored` is restored. So what a killed process left undone is done by the next.
"""

import logging
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from functools import partial
from typing import Final

from mockkube_storage import errors as store_errors
from mockkube_storage.store import Store

from mockkube.api.conditions import condition, with_condition
from mockkube.api.errors import ApiError, Invalid, NotFound
from mockkube.api.times import render_time
from mockkube.api.types import Object, ReadOnlyObject
from mockkube.cluster.contents import Contents, Unreadable
from mockkube.cluster.control.following import Follower
from mockkube.cluster.control.plane import ControlPlane
from mockkube.cluster.control.reading import condition_of
from mockkube.cluster.control.snapshot import RESTORED, SAVED, asks_to_restore
from mockkube.cluster.vault import Vault
from mockkube.runtime.clock import Clock

Renew = Callable[[Callable[[], Awaitable[None]]], Awaitable[None]]
"""Stops every component, awaits what it is given, and starts all anew."""

_LOG: Final = logging.getLogger("mockkube.cluster")
_EXPECTED: Final = (OSError, Unreadable, ApiError, store_errors.StoreError)
"""What may come of saving and restoring, and is told to the user."""


class SnapshotKeeper:
    """Follows the snapshots of a cluster."""

    def __init__(self, control: ControlPlane, store: Store, vault: Vault, clock: Clock, *, renew: Renew) -> None:
        self._control = control
        self._store = store
        self._vault = vault
        self._clock = clock
        self._renew = renew
        self.follower = Follower(control.collection("snapshots"), self._act)

    async def _act(self, names: Iterable[str]) -> None:
        self._forget()
        for name in names:
            obj = self._control.objects("snapshots").get(name)
            if obj is not None and not condition_of(obj, SAVED):
                await self._save(obj)
            if obj is not None and asks_to_restore(obj) > obj["status"].get("restored", 0):
                await self._restore(obj)

    def _forget(self) -> None:
        """Drop what is kept of snapshots that are gone."""
        try:
            self._vault.retain([obj["metadata"]["uid"] for obj in self._control.objects("snapshots").values()])
        except OSError as error:
            _LOG.warning("what is kept of snapshots that are gone stays: %s", error)

    async def _save(self, obj: Object) -> None:
        """Keep the state of the moment the snapshot was created."""
        metadata, status = obj["metadata"], obj["status"]
        try:
            components = await self._control.specs_at("components", int(metadata["resourceVersion"]))
            contents = await Contents.of(self._store, status["revision"], components)
            content = contents.to_bytes()
            self._vault.keep(metadata["uid"], content)
        except _EXPECTED as error:
            await self._report(obj, condition(SAVED, holds=False, reason="Failed", message=str(error)), {})
            return
        saved = {"objects": len(contents.entries), "components": len(components), "bytes": len(content)}
        message = f"the state at resourceVersion {status['revision']} is kept"
        await self._report(obj, condition(SAVED, holds=True, reason="Saved", message=message), saved)

    async def _restore(self, obj: Object) -> None:
        """Bring the cluster back to what was kept; nothing has changed if that cannot be read."""
        asked = asks_to_restore(obj)
        try:
            content = self._vault.fetch(obj["metadata"]["uid"])
            if content is None:
                raise Unreadable("it is no longer there")
            await self._renew(partial(self._put, Contents.read(content)))
        except _EXPECTED as error:
            outcome = condition(RESTORED, holds=False, reason="Failed", message=f"restoring {asked}: {error}")
        else:
            message = f"since resourceVersion {self._store.revision} the cluster goes on from here"
            outcome = condition(RESTORED, holds=True, reason="Restored", message=message)
        await self._report(obj, outcome, {"restored": asked})

    async def _put(self, contents: Contents) -> None:
        revision = await contents.put_into(self._store)
        await self._store.compact(revision)  # nobody goes on from what was seen before
        await self._tell(contents.components)

    async def _tell(self, components: ReadOnlyObject) -> None:
        """Tell every component what it was told then; those that were not there go."""
        for name in sorted(self._control.components().keys() - components.keys()):
            await self._control.remove("components", name)
        waiting = sorted(components.items())
        while waiting:
            refused: dict[str, Invalid] = {}
            for name, spec in waiting:
                try:
                    await self._tell_one(name, spec)
                except Invalid as error:  # with versions that skew is enforced on, some must go first
                    refused[name] = error
            if len(refused) == len(waiting):
                raise next(iter(refused.values()))
            waiting = [(name, components[name]) for name in refused]

    async def _tell_one(self, name: str, spec: Object) -> None:
        known = name in self._control.objects("components")
        await (self._control.tell if known else self._control.create)("components", name, spec)

    async def _report(self, obj: Object, outcome: Object, facts: Object) -> None:
        now = self._clock.now()
        status = {**obj["status"], "observedGeneration": obj["metadata"]["generation"], **facts}
        status["conditions"] = with_condition(status.get("conditions", ()), outcome, render_time(now))
        with suppress(NotFound):
            await self._control.report("snapshots", obj, status)
