"""garbage-collector-controller: deletes, orphans or unblocks dependents when their owners are deleted.

Two queues share one graph, both keyed by uid: `GarbageCollector` deletes objects without living owners and finishes
owners that wait for their dependents; `GarbageOrphaner` removes an owner from its dependents before it is deleted.
upstream 1.36: pkg/controller/garbagecollector/garbagecollector.go
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import ClassVar, Final

from mockkube.api.errors import ApiError, NotFound
from mockkube.api.types import ReadOnlyObject
from mockkube.client.protocol import Key, Propagation
from mockkube.controllers.framework.controller import DONE, Again, Controller, Outcome, Setting
from mockkube.controllers.garbagecollector.graph_objects import KindUnknown, Objects
from mockkube.controllers.garbagecollector.owner_graph import (
    FOREGROUND,
    ORPHAN,
    OwnerGraph,
    Vertex,
    has_finalizer,
    referred,
)
from mockkube.runtime.steps import Signal

NAME: Final = "garbage-collector-controller"


class NamespacedOwnerError(ApiError):
    """A cluster-scoped object names a namespaced owner, which no retry will find."""


@dataclass(slots=True)
class Verdict:
    """Owners of an object, classified by their stored state."""

    solid: list[ReadOnlyObject] = field(default_factory=list)
    dangling: list[ReadOnlyObject] = field(default_factory=list)
    # Owners in foreground deletion, which wait for this object.
    waiting: list[ReadOnlyObject] = field(default_factory=list)


class GarbageCollector(Controller):
    """Controller that attempts to delete objects; keys are uids (as names)."""

    name: ClassVar[str] = NAME
    queue: ClassVar[str] = "garbage_collector_attempt_to_delete"
    # Each deletion takes several requests, so upstream raises the limits of this client too.
    pace: ClassVar[float] = 5.0

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        self.orphans = GarbageOrphaner(setting)
        self.graph = OwnerGraph(self._enqueue, self.orphans.enqueue, self._report_invalid_namespace)
        self.caches.append(setting.every_kind.subscribe(self.graph.take))
        self.objects = Objects(self.client, setting.every_kind)
        self.orphans.attach(self)

    def synced(self) -> bool:
        """Return whether the monitors of all kinds have synced."""
        return super().synced() and self.setting.every_kind.synced()

    def tell_synced(self, bell: Signal) -> None:
        """Notify the signal once the monitors of all kinds have synced."""
        self.setting.every_kind.synced_signals.append(bell)

    def _enqueue(self, uid: str) -> None:
        self.keys.add(Key("", uid))

    def _report_invalid_namespace(self, dependent: Vertex, uid: str) -> None:
        """Record an event about an owner reference to an object in another namespace."""
        identity = dependent.identity
        reference = next((one for one in dependent.owners if one["uid"] == uid), None)
        if reference is None:
            return
        named = (
            f"[{reference['apiVersion']}/{reference['kind']}, namespace: {identity.namespace}, "
            f"name: {reference['name']}, uid: {uid}]"
        )
        about = {
            "apiVersion": identity.api_version,
            "kind": identity.kind,
            "name": identity.name,
            "namespace": identity.namespace,
            "uid": identity.uid,
        }
        message = f'ownerRef {named} does not exist in namespace "{identity.namespace}"'
        self.events.record(about, "Warning", "OwnerRefInvalidNamespace", message)

    async def reconcile(self, key: Key) -> Outcome:
        """Attempt to delete an object whose owners or dependents changed."""
        node = self.graph.vertices.get(key.name)
        if node is None:
            return DONE
        try:
            await self._attempt_to_delete(node)
        except NamespacedOwnerError:
            return DONE
        except KindUnknown:
            return Again()
        still = self.graph.vertices.get(key.name)
        # A virtual node stays in the queue until its object was observed or found missing, as upstream.
        return Again() if still is node and node.virtual else DONE

    async def _attempt_to_delete(self, vertex: Vertex) -> None:
        """Decide about an object by its stored state: forget, finish, delete or update it."""
        # Whoever deletes it already also processes its finalizers.
        if vertex.being_deleted and not vertex.deleting_dependents:
            return
        try:
            # The graph can be stale, so every decision is based on the stored object.
            latest = await self.objects.get(vertex.identity)
        except NotFound:
            latest = None
        if latest is None or latest["metadata"]["uid"] != vertex.identity.uid:
            self.graph.process_virtual_deletion(vertex.identity)
        elif vertex.deleting_dependents:
            await self._process_deleting_dependents(vertex)
        elif owners := latest["metadata"].get("ownerReferences"):
            await self._delete_or_update_owners(vertex, latest, owners)

    async def _process_deleting_dependents(self, vertex: Vertex) -> None:
        """Remove the finalizer if no dependent blocks the owner; else check those that do."""
        blocking = vertex.blocking()
        if not blocking:
            await self.objects.remove_finalizer(vertex.identity, FOREGROUND)
        for dependent in blocking:
            if not dependent.deleting_dependents:
                self._enqueue(dependent.identity.uid)

    async def _delete_or_update_owners(
        self, vertex: Vertex, latest: ReadOnlyObject, owners: Iterable[ReadOnlyObject]
    ) -> None:
        """Delete an object without solid owners; otherwise remove its other owners."""
        classified = await self._classify_references(vertex, owners)
        if classified.solid:
            removable = [*classified.dangling, *classified.waiting]
            # With a solid owner the object stays; references to the others would only block or confuse later checks.
            if removable:
                await self.objects.remove_owners(vertex.identity, [owner["uid"] for owner in removable])
            return
        if classified.waiting and vertex.dependents:
            if any(dependent.deleting_dependents for dependent in vertex.dependents.values()):
                # The object and one of its dependents wait in a cycle: owners stop waiting for it, or none could ever
                # be deleted.
                await self.objects.unblock_owners(vertex.identity, vertex.owners)
            policy = Propagation.FOREGROUND
        # An existing finalizer keeps the policy that the user chose for the object's own dependents.
        elif has_finalizer(latest, ORPHAN):
            policy = Propagation.ORPHAN
        elif has_finalizer(latest, FOREGROUND):
            policy = Propagation.FOREGROUND
        else:
            policy = Propagation.BACKGROUND
        try:
            await self.objects.delete(vertex.identity, latest, policy)
        except NotFound:
            self.graph.process_virtual_deletion(vertex.identity)

    async def _classify_references(self, vertex: Vertex, owners: Iterable[ReadOnlyObject]) -> Verdict:
        classified = Verdict()
        for reference in owners:
            owner = await self._get_owner(vertex, reference)
            if owner is None:
                classified.dangling.append(reference)
            elif owner["metadata"].get("deletionTimestamp") and has_finalizer(owner, FOREGROUND):
                classified.waiting.append(reference)
            else:
                classified.solid.append(reference)
        return classified

    async def _get_owner(self, vertex: Vertex, reference: ReadOnlyObject) -> ReadOnlyObject | None:
        """Return the stored owner of a reference; None if it does not exist."""
        namespace = vertex.identity.namespace
        without, within = referred(reference, ""), referred(reference, namespace)
        # Many dependents name the same missing owner: only the first causes a request.
        if self.graph.absent(without) or self.graph.absent(within):
            return None
        namespaced = self.objects.kind(within).namespaced
        if namespaced and not namespace:
            raise NamespacedOwnerError(f"{vertex.identity.key}: a cluster-scoped object cannot have a namespaced owner")
        owner_reference = within if namespaced else without
        try:
            owner = await self.objects.get(owner_reference)
        except NotFound:
            owner = None
        if owner is None or owner["metadata"]["uid"] != reference["uid"]:
            self.graph.add_absent(owner_reference)
            return None
        return owner


class GarbageOrphaner(Controller):
    """Controller that orphans dependents; keys are uids (as names) of objects with finalizer `orphan`."""

    name: ClassVar[str] = f"{NAME}/orphans"
    source: ClassVar[str] = NAME
    queue: ClassVar[str] = "garbage_collector_attempt_to_orphan"
    pace: ClassVar[float] = 5.0

    def attach(self, collector: GarbageCollector) -> None:
        """Use the graph of a collector."""
        self._collector = collector

    def synced(self) -> bool:
        """Return whether the monitors of all kinds have synced."""
        return self._collector.synced()

    def tell_synced(self, bell: Signal) -> None:
        """Notify the signal once the monitors of all kinds have synced."""
        self._collector.tell_synced(bell)

    def enqueue(self, uid: str) -> None:
        """Queue an object whose dependents are to be orphaned."""
        self.keys.add(Key("", uid))

    async def reconcile(self, key: Key) -> Outcome:
        """Remove the owner from its dependents, then remove its finalizer."""
        objects = self._collector.objects
        node = self._collector.graph.vertices.get(key.name)
        if node is None:
            return DONE
        for dependent in list(node.dependents.values()):
            try:
                await objects.remove_owners(dependent.identity, [key.name])
            except NotFound:
                continue
        # Last: once the owner is gone, the collector would delete dependents that still name it.
        await objects.remove_finalizer(node.identity, ORPHAN)
        return DONE


def build(setting: Setting) -> Iterable[Controller]:
    """Return the two queues, unless garbage collection is disabled."""
    if setting.options.garbage_collection:
        collector = GarbageCollector(setting)
        yield collector
        yield collector.orphans
