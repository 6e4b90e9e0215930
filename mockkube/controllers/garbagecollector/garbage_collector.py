"""garbage-collector-controller: what becomes of objects when those who own them go.

Two queues over one graph, both keyed by uid: `GarbageCollector` deletes what no owner keeps and finishes owners that
wait for their dependents, `GarbageOrphaner` sets dependents free of an owner that is deleted without them.
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
from mockkube.runtime.steps import Bell

NAME: Final = "garbage-collector-controller"


class OwnerMisplaced(ApiError):
    """An object without a namespace names an owner that has one: no later look will find it."""


@dataclass(slots=True)
class Verdict:
    """The owners of an object by what the server says of them."""

    solid: list[ReadOnlyObject] = field(default_factory=list)
    dangling: list[ReadOnlyObject] = field(default_factory=list)
    waiting: list[ReadOnlyObject] = field(default_factory=list)
    """Owners that are deleted in the foreground: they wait for this object."""


class GarbageCollector(Controller):
    """Keys are uids (as names): an object may have lost its last owner, or an owner its last dependent."""

    name: ClassVar[str] = NAME
    queue: ClassVar[str] = "garbage_collector_attempt_to_delete"
    pace: ClassVar[float] = 5.0

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        self.orphans = GarbageOrphaner(setting)
        self.graph = OwnerGraph(self._check, self.orphans.enqueue, self._misplaced)
        self.caches.append(setting.every_kind.subscribe(self.graph.take))
        self.objects = Objects(self.client, setting.every_kind)
        self.orphans.attach(self)

    def synced(self) -> bool:
        """Whether the whole graph has been seen."""
        return super().synced() and self.setting.every_kind.synced()

    def tell_synced(self, bell: Bell) -> None:
        """Ring the bell once the whole graph has been seen."""
        self.setting.every_kind.synced_bells.append(bell)

    def _check(self, uid: str) -> None:
        self.keys.add(Key("", uid))

    def _misplaced(self, dependent: Vertex, uid: str) -> None:
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
        """Look at an object whose owners, or dependents, have changed."""
        vertex = self.graph.vertices.get(key.name)
        if vertex is None:
            return DONE
        try:
            await self._look_at(vertex)
        except OwnerMisplaced:
            return DONE
        except KindUnknown:
            return Again()
        still = self.graph.vertices.get(key.name)
        return Again() if still is vertex and vertex.virtual else DONE

    async def _look_at(self, vertex: Vertex) -> None:
        if vertex.being_deleted and not vertex.deleting_dependents:
            return
        try:
            latest = await self.objects.get(vertex.identity)
        except NotFound:
            latest = None
        if latest is None or latest["metadata"]["uid"] != vertex.identity.uid:
            self.graph.found_missing(vertex.identity)
        elif vertex.deleting_dependents:
            await self._finish(vertex)
        elif owners := latest["metadata"].get("ownerReferences"):
            await self._judge(vertex, latest, owners)

    async def _finish(self, vertex: Vertex) -> None:
        """Let an owner go whose dependents are gone; have those looked at that are not."""
        blocking = vertex.blocking()
        if not blocking:
            await self.objects.remove_finalizer(vertex.identity, FOREGROUND)
        for dependent in blocking:
            if not dependent.deleting_dependents:
                self._check(dependent.identity.uid)

    async def _judge(self, vertex: Vertex, latest: ReadOnlyObject, owners: Iterable[ReadOnlyObject]) -> None:
        verdict = await self._verdict(vertex, owners)
        if verdict.solid:
            loose = [*verdict.dangling, *verdict.waiting]
            if loose:
                await self.objects.drop_owners(vertex.identity, [owner["uid"] for owner in loose])
            return
        if verdict.waiting and vertex.dependents:
            if any(dependent.deleting_dependents for dependent in vertex.dependents.values()):
                await self.objects.unblock_owners(vertex.identity, vertex.owners)
            policy = Propagation.FOREGROUND
        elif has_finalizer(latest, ORPHAN):
            policy = Propagation.ORPHAN
        elif has_finalizer(latest, FOREGROUND):
            policy = Propagation.FOREGROUND
        else:
            policy = Propagation.BACKGROUND
        try:
            await self.objects.delete(vertex.identity, latest, policy)
        except NotFound:
            self.graph.found_missing(vertex.identity)

    async def _verdict(self, vertex: Vertex, owners: Iterable[ReadOnlyObject]) -> Verdict:
        verdict = Verdict()
        for reference in owners:
            owner = await self._owner(vertex, reference)
            if owner is None:
                verdict.dangling.append(reference)
            elif owner["metadata"].get("deletionTimestamp") and has_finalizer(owner, FOREGROUND):
                verdict.waiting.append(reference)
            else:
                verdict.solid.append(reference)
        return verdict

    async def _owner(self, vertex: Vertex, reference: ReadOnlyObject) -> ReadOnlyObject | None:
        """Return the owner a reference means; None when there is none."""
        namespace = vertex.identity.namespace
        without, within = referred(reference, ""), referred(reference, namespace)
        if self.graph.absent(without) or self.graph.absent(within):
            return None
        namespaced = self.objects.kind(within).namespaced
        if namespaced and not namespace:
            raise OwnerMisplaced(f"{vertex.identity.key}: an owner with a namespace of an object without one")
        meant = within if namespaced else without
        try:
            owner = await self.objects.get(meant)
        except NotFound:
            owner = None
        if owner is None or owner["metadata"]["uid"] != reference["uid"]:
            self.graph.note_absent(meant)
            return None
        return owner


class GarbageOrphaner(Controller):
    """Keys are uids (as names) of objects that are deleted and leave their dependents behind."""

    name: ClassVar[str] = f"{NAME}/orphans"
    source: ClassVar[str] = NAME
    queue: ClassVar[str] = "garbage_collector_attempt_to_orphan"
    pace: ClassVar[float] = 5.0

    def attach(self, collector: GarbageCollector) -> None:
        """Work on the collector's graph."""
        self._collector = collector

    def synced(self) -> bool:
        """Whether the whole graph has been seen."""
        return self._collector.synced()

    def tell_synced(self, bell: Bell) -> None:
        """Ring the bell once the whole graph has been seen."""
        self._collector.tell_synced(bell)

    def enqueue(self, uid: str) -> None:
        """Set the dependents of an object free."""
        self.keys.add(Key("", uid))

    async def reconcile(self, key: Key) -> Outcome:
        """Take the owner out of all its dependents, then let it go."""
        objects = self._collector.objects
        vertex = self._collector.graph.vertices.get(key.name)
        if vertex is None:
            return DONE
        for dependent in list(vertex.dependents.values()):
            try:
                await objects.drop_owners(dependent.identity, [key.name])
            except NotFound:
                continue
        await objects.remove_finalizer(vertex.identity, ORPHAN)
        return DONE


def build(setting: Setting) -> Iterable[Controller]:
    """Return the two queues, unless garbage collection is off."""
    if setting.options.garbage_collection:
        collector = GarbageCollector(setting)
        yield collector
        yield collector.orphans
