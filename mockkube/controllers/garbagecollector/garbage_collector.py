"""garbage-collector-controller: deletes, orphans or unblocks dependents when their owners are deleted.

Two queues share one graph, both keyed by uid: `GarbageCollector` deletes objects without living owners and finishes
owners that wait for their dependents; `GarbageOrphaner` removes an owner from its dependents before it is deleted.
upstream 1.36: pkg/controller/garbagecollector/garbagecollector.go
"""

from collections.abc import Iterable
from dataclasses import field
from typing import ClassVar, Final

from mockkube.api.errors import ApiError, NotFound
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.client.protocol import Key, Propagation
from mockkube.controllers.framework.controller import DONE, Controller, ControllerDependencies, ReconcileResult, Requeue
from mockkube.controllers.garbagecollector.graph_objects import GraphObjectClient, KindUnknown
from mockkube.controllers.garbagecollector.owner_graph import (
    FOREGROUND,
    ORPHAN,
    GraphNode,
    OwnerGraph,
    has_finalizer,
    owner_object_reference,
)
from mockkube.lazy_dataclasses import dataclass
from mockkube.runtime.steps import Signal

NAME: Final = "garbage-collector-controller"


class NamespacedOwnerError(ApiError):
    """A cluster-scoped object names a namespaced owner, which no retry will find."""


@dataclass(slots=True)
class ClassifiedOwners:
    """Owners of an object, classified by their stored state."""

    solid: list[ReadOnlyObject] = field(default_factory=list)
    dangling: list[ReadOnlyObject] = field(default_factory=list)
    # Owners in foreground deletion, which wait for this object.
    waiting: list[ReadOnlyObject] = field(default_factory=list)


class GarbageCollector(Controller):
    """Controller that attempts to delete objects; keys are uids (as names)."""

    name: ClassVar[str] = NAME
    queue_name: ClassVar[str] = "garbage_collector_attempt_to_delete"
    # Each deletion takes several requests, so upstream raises the limits of this client too.
    rate_factor: ClassVar[float] = 5.0

    def __init__(self, dependencies: ControllerDependencies) -> None:
        super().__init__(dependencies)
        self.orphaner = GarbageOrphaner(dependencies)
        self.graph = OwnerGraph(self._enqueue, self.orphaner.enqueue, self._report_invalid_namespace)
        self.informers.append(dependencies.resource_monitors.add_event_handler(self.graph.process_change))
        self.objects = GraphObjectClient(self.client, dependencies.resource_monitors, dependencies.capabilities.version)
        self.orphaner.attach_collector(self)

    def has_synced(self) -> bool:
        """Return whether the monitors of all kinds have synced."""
        return super().has_synced() and self.dependencies.resource_monitors.has_synced()

    def notify_when_synced(self, signal: Signal) -> None:
        """Notify the signal once the monitors of all kinds have synced."""
        self.dependencies.resource_monitors.synced_signals.append(signal)

    def _enqueue(self, uid: str) -> None:
        self.work_queue.add(Key("", uid))

    def _report_invalid_namespace(self, dependent: GraphNode, uid: str) -> None:
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

    async def reconcile(self, key: Key) -> ReconcileResult:
        """Attempt to delete an object whose owners or dependents changed."""
        node = self.graph.nodes.get(key.name)
        if node is None:
            return DONE
        try:
            await self._attempt_to_delete(node)
        except NamespacedOwnerError:
            return DONE
        except KindUnknown:
            return Requeue()
        still = self.graph.nodes.get(key.name)
        # A virtual node stays in the queue until its object was observed or found missing, as upstream.
        return Requeue() if still is node and node.virtual else DONE

    async def _attempt_to_delete(self, node: GraphNode) -> None:
        """Decide about an object by its stored state: forget, finish, delete or update it."""
        # Whoever deletes it already also processes its finalizers.
        if node.being_deleted and not node.deleting_dependents:
            return
        try:
            # The graph can be stale, so every decision is based on the stored object.
            latest = await self.objects.get(node.identity)
        except NotFound:
            latest = None
        if latest is None or latest["metadata"]["uid"] != node.identity.uid:
            self.graph.process_virtual_deletion(node.identity)
        elif node.deleting_dependents:
            await self._process_deleting_dependents(node)
        elif owners := latest["metadata"].get("ownerReferences"):
            await self._delete_or_update_owners(node, latest, owners)

    async def _process_deleting_dependents(self, node: GraphNode) -> None:
        """Remove the finalizer if no dependent blocks the owner; else check those that do."""
        blocking = node.blocking_dependents()
        if not blocking:
            await self.objects.remove_finalizer(node.identity, FOREGROUND)
        for dependent in blocking:
            if not dependent.deleting_dependents:
                self._enqueue(dependent.identity.uid)

    async def _delete_or_update_owners(
        self, node: GraphNode, latest: ReadOnlyObject, owners: Iterable[ReadOnlyObject]
    ) -> None:
        """Delete an object without solid owners; otherwise remove its other owners."""
        classified = await self._classify_references(node, owners)
        if classified.solid:
            removable = [*classified.dangling, *classified.waiting]
            # With a solid owner the object stays; references to the others would only block or confuse later checks.
            if removable:
                await self.objects.remove_owners(node.identity, [owner["uid"] for owner in removable])
            return
        if classified.waiting and node.dependents:
            if any(dependent.deleting_dependents for dependent in node.dependents.values()):
                # The object and one of its dependents wait in a cycle: owners stop waiting for it, or none could ever
                # be deleted.
                await self.objects.unblock_owners(node.identity, node.owners)
            policy = Propagation.FOREGROUND
        # An existing finalizer keeps the policy that the user chose for the object's own dependents.
        elif has_finalizer(latest, ORPHAN):
            policy = Propagation.ORPHAN
        elif has_finalizer(latest, FOREGROUND):
            policy = Propagation.FOREGROUND
        else:
            policy = Propagation.BACKGROUND
        try:
            await self.objects.delete(node.identity, latest, policy)
        except NotFound:
            self.graph.process_virtual_deletion(node.identity)

    async def _classify_references(self, node: GraphNode, owners: Iterable[ReadOnlyObject]) -> ClassifiedOwners:
        classified = ClassifiedOwners()
        for reference in owners:
            owner = await self._get_owner(node, reference)
            if owner is None:
                classified.dangling.append(reference)
            elif owner["metadata"].get("deletionTimestamp") and has_finalizer(owner, FOREGROUND):
                classified.waiting.append(reference)
            else:
                classified.solid.append(reference)
        return classified

    async def _get_owner(self, node: GraphNode, reference: ReadOnlyObject) -> ReadOnlyObject | None:
        """Return the stored owner of a reference; None if it does not exist."""
        namespace = node.identity.namespace
        without, within = owner_object_reference(reference, ""), owner_object_reference(reference, namespace)
        # Many dependents name the same missing owner: only the first causes a request.
        if self.graph.is_absent(without) or self.graph.is_absent(within):
            return None
        namespaced = self.objects.kind(within).namespaced
        if namespaced and not namespace:
            raise NamespacedOwnerError(f"{node.identity.key}: a cluster-scoped object cannot have a namespaced owner")
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
    event_source: ClassVar[str] = NAME
    queue_name: ClassVar[str] = "garbage_collector_attempt_to_orphan"
    rate_factor: ClassVar[float] = 5.0

    def attach_collector(self, collector: GarbageCollector) -> None:
        """Use the graph of a collector."""
        self._collector = collector

    def has_synced(self) -> bool:
        """Return whether the monitors of all kinds have synced."""
        return self._collector.has_synced()

    def notify_when_synced(self, signal: Signal) -> None:
        """Notify the signal once the monitors of all kinds have synced."""
        self._collector.notify_when_synced(signal)

    def enqueue(self, uid: str) -> None:
        """Queue an object whose dependents are to be orphaned."""
        self.work_queue.add(Key("", uid))

    async def reconcile(self, key: Key) -> ReconcileResult:
        """Remove the owner from its dependents, then remove its finalizer."""
        objects = self._collector.objects
        node = self._collector.graph.nodes.get(key.name)
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


def build(dependencies: ControllerDependencies) -> Iterable[Controller]:
    """Return the two queues, unless garbage collection is disabled."""
    if dependencies.options.garbage_collection:
        collector = GarbageCollector(dependencies)
        yield collector
        yield collector.orphaner
