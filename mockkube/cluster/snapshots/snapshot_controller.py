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
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.times import render_time
from mockkube.cluster.control.conditions import get_condition
from mockkube.cluster.control.control_api import ControlApi
from mockkube.cluster.control.reconciler import Reconciler
from mockkube.cluster.control.snapshot import RESTORED_CONDITION, SAVED_CONDITION, get_restore_count
from mockkube.cluster.snapshots.snapshot_contents import SnapshotContents, UnreadableSnapshotError
from mockkube.cluster.snapshots.snapshot_store import SnapshotStore
from mockkube.runtime.clock import Clock

# Stops every component, awaits the function, and starts all components again.
RestartComponents = Callable[[Callable[[], Awaitable[None]]], Awaitable[None]]

_LOG: Final = logging.getLogger("mockkube.cluster")
# Errors of saving and restoring that are reported in the status.
_REPORTED_ERRORS: Final = (OSError, UnreadableSnapshotError, ApiError, store_errors.StoreError)


class SnapshotController:
    """Reconciles the snapshots of a cluster."""

    def __init__(
        self,
        control_api: ControlApi,
        store: Store,
        snapshot_store: SnapshotStore,
        clock: Clock,
        *,
        restart_components: RestartComponents,
    ) -> None:
        self._control_api = control_api
        self._store = store
        self._snapshot_store = snapshot_store
        self._clock = clock
        self._restart_components = restart_components
        self.reconciler = Reconciler(control_api.get_collection("snapshots"), clock, self._reconcile)

    async def _reconcile(self, names: Iterable[str]) -> None:
        self._delete_orphaned_contents()
        for name in names:
            obj = self._control_api.load_objects("snapshots").get(name)
            if obj is not None and not get_condition(obj, SAVED_CONDITION):
                await self._save(obj)
            if obj is not None and get_restore_count(obj) > obj["status"].get("restored", 0):
                await self._restore(obj)

    def _delete_orphaned_contents(self) -> None:
        """Delete contents of deleted snapshots."""
        try:
            self._snapshot_store.delete_except(
                [obj["metadata"]["uid"] for obj in self._control_api.load_objects("snapshots").values()]
            )
        except OSError as error:
            _LOG.warning("contents of deleted snapshots cannot be deleted: %s", error)

    async def _save(self, obj: Object) -> None:
        """Save the state at the snapshot's creation."""
        metadata, status = obj["metadata"], obj["status"]
        try:
            components = await self._control_api.load_specs_at("components", int(metadata["resourceVersion"]))
            contents = await SnapshotContents.from_store(self._store, status["revision"], components)
            content = contents.to_bytes()
            self._snapshot_store.save(metadata["uid"], content)
        except _REPORTED_ERRORS as error:
            await self._update_status(
                obj, make_condition(SAVED_CONDITION, holds=False, reason="Failed", message=str(error)), {}
            )
            return
        saved = {"objects": len(contents.entries), "components": len(components), "bytes": len(content)}
        message = f"the state at resourceVersion {status['revision']} is saved"
        await self._update_status(
            obj, make_condition(SAVED_CONDITION, holds=True, reason="Saved", message=message), saved
        )

    async def _restore(self, obj: Object) -> None:
        """Restore the cluster from a snapshot; nothing changes if its contents cannot be read."""
        restore_count = get_restore_count(obj)
        try:
            content = self._snapshot_store.load(obj["metadata"]["uid"])
            if content is None:
                raise UnreadableSnapshotError("its contents are missing")
            # Components stop first: none may write into the state that is being restored.
            await self._restart_components(partial(self._restore_contents, SnapshotContents.from_bytes(content)))
        except _REPORTED_ERRORS as error:
            outcome = make_condition(
                RESTORED_CONDITION, holds=False, reason="Failed", message=f"restoring {restore_count}: {error}"
            )
        else:
            message = f"since resourceVersion {self._store.revision} the cluster goes on from here"
            outcome = make_condition(RESTORED_CONDITION, holds=True, reason="Restored", message=message)
        await self._update_status(obj, outcome, {"restored": restore_count})

    async def _restore_contents(self, contents: SnapshotContents) -> None:
        """Replace the store's entries, then the specs of components."""
        revision = await contents.restore_into(self._store)
        # Watches and lists from older resource versions expire, so that clients list the restored state again.
        await self._store.compact(revision)
        await self._restore_component_specs(contents.components)

    async def _restore_component_specs(self, components: ReadOnlyObject) -> None:
        """Restore the spec of every component; delete components that did not exist then."""
        for name in sorted(self._control_api.load_component_specs().keys() - components.keys()):
            await self._control_api.delete_object("components", name)
        waiting = sorted(components.items())
        while waiting:
            rejected: dict[str, Invalid] = {}
            for name, spec in waiting:
                try:
                    await self._restore_component_spec(name, spec)
                except Invalid as error:  # with versions that skew is enforced on, some must go first
                    rejected[name] = error
            if len(rejected) == len(waiting):
                raise next(iter(rejected.values()))
            waiting = [(name, components[name]) for name in rejected]

    async def _restore_component_spec(self, name: str, spec: Object) -> None:
        """Update a component's spec, or create the component."""
        known = name in self._control_api.load_objects("components")
        await (self._control_api.update_spec if known else self._control_api.create_object)("components", name, spec)

    async def _update_status(self, obj: Object, outcome: Object, facts: Object) -> None:
        now = self._clock.now()
        status = {**obj["status"], "observedGeneration": obj["metadata"]["generation"], **facts}
        status["conditions"] = with_condition(status.get("conditions", ()), outcome, render_time(now))
        with suppress(NotFound):
            await self._control_api.update_status("snapshots", obj, status)
