"""Controller of Snapshots: saves the cluster for each new one, and restores it on demand.

It acts on the objects alone: one without the condition Saved is saved, one whose `spec.restore` is greater than
`status.restored` is restored. So the next process completes what a killed one left undone.
"""

import logging
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from functools import partial
from typing import Final

from mockkube_storage import errors as store_errors
from mockkube_storage.store import Store

from mockkube.api.conditions import make_condition, with_condition
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

# Stops every component, awaits the function, and starts all components again.
Renew = Callable[[Callable[[], Awaitable[None]]], Awaitable[None]]

_LOG: Final = logging.getLogger("mockkube.cluster")
# Errors of saving and restoring that are reported in the status.
_EXPECTED: Final = (OSError, Unreadable, ApiError, store_errors.StoreError)


class SnapshotKeeper:
    """Reconciles the snapshots of a cluster."""

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
        """Delete contents of deleted snapshots."""
        try:
            self._vault.retain([obj["metadata"]["uid"] for obj in self._control.objects("snapshots").values()])
        except OSError as error:
            _LOG.warning("contents of deleted snapshots cannot be deleted: %s", error)

    async def _save(self, obj: Object) -> None:
        """Save the state at the snapshot's creation."""
        metadata, status = obj["metadata"], obj["status"]
        try:
            components = await self._control.specs_at("components", int(metadata["resourceVersion"]))
            contents = await Contents.of(self._store, status["revision"], components)
            content = contents.to_bytes()
            self._vault.keep(metadata["uid"], content)
        except _EXPECTED as error:
            await self._report(obj, make_condition(SAVED, holds=False, reason="Failed", message=str(error)), {})
            return
        saved = {"objects": len(contents.entries), "components": len(components), "bytes": len(content)}
        message = f"the state at resourceVersion {status['revision']} is saved"
        await self._report(obj, make_condition(SAVED, holds=True, reason="Saved", message=message), saved)

    async def _restore(self, obj: Object) -> None:
        """Restore the cluster from a snapshot; nothing changes if its contents cannot be read."""
        asked = asks_to_restore(obj)
        try:
            content = self._vault.fetch(obj["metadata"]["uid"])
            if content is None:
                raise Unreadable("its contents are missing")
            # Components stop first: none may write into the state that is being restored.
            await self._renew(partial(self._put, Contents.read(content)))
        except _EXPECTED as error:
            outcome = make_condition(RESTORED, holds=False, reason="Failed", message=f"restoring {asked}: {error}")
        else:
            message = f"since resourceVersion {self._store.revision} the cluster goes on from here"
            outcome = make_condition(RESTORED, holds=True, reason="Restored", message=message)
        await self._report(obj, outcome, {"restored": asked})

    async def _put(self, contents: Contents) -> None:
        """Replace the store's entries, then the specs of components."""
        revision = await contents.put_into(self._store)
        # Watches and lists from older resource versions expire, so that clients list the restored state again.
        await self._store.compact(revision)
        await self._tell(contents.components)

    async def _tell(self, components: ReadOnlyObject) -> None:
        """Restore the spec of every component; delete components that did not exist then."""
        for name in sorted(self._control.components().keys() - components.keys()):
            await self._control.remove("components", name)
        waiting = sorted(components.items())
        while waiting:
            rejected: dict[str, Invalid] = {}
            for name, spec in waiting:
                try:
                    await self._tell_one(name, spec)
                except Invalid as error:  # with versions that skew is enforced on, some must go first
                    rejected[name] = error
            if len(rejected) == len(waiting):
                raise next(iter(rejected.values()))
            waiting = [(name, components[name]) for name in rejected]

    async def _tell_one(self, name: str, spec: Object) -> None:
        """Update a component's spec, or create the component."""
        known = name in self._control.objects("components")
        await (self._control.tell if known else self._control.create)("components", name, spec)

    async def _report(self, obj: Object, outcome: Object, facts: Object) -> None:
        now = self._clock.now()
        status = {**obj["status"], "observedGeneration": obj["metadata"]["generation"], **facts}
        status["conditions"] = with_condition(status.get("conditions", ()), outcome, render_time(now))
        with suppress(NotFound):
            await self._control.report("snapshots", obj, status)
