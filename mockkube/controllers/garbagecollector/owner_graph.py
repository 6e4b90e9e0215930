"""Who owns whom, as far as it was seen: the graph the garbage collector decides from.

An owner that is referred to and was not seen yet is *virtual*: nobody knows whether it exists, nor whether it is what
its dependents say. upstream 1.36: pkg/controller/garbagecollector/graph_builder.go
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from cachetools import LRUCache

from mockkube.api.types import ReadOnlyObject
from mockkube.client.cache import Change
from mockkube.client.protocol import EventType, Key

FOREGROUND: Final = "foregroundDeletion"
ORPHAN: Final = "orphan"
_ABSENT_MAX: Final = 500


class Identity(NamedTuple):
    """What an object is, or is said to be by those who refer to it."""

    kind: str
    api_version: str
    namespace: str
    name: str
    uid: str

    @property
    def key(self) -> Key:
        """Where it is among its kind."""
        return Key(self.namespace, self.name)

    def named_by(self, reference: ReadOnlyObject) -> bool:
        """Whether an owner reference says the same of it, its namespace aside."""
        return (reference["uid"], reference["name"], reference["kind"], reference["apiVersion"]) == (
            self.uid,
            self.name,
            self.kind,
            self.api_version,
        )


def identity_of(obj: ReadOnlyObject) -> Identity:
    """Return the identity of an object that was seen."""
    metadata = obj["metadata"]
    return Identity(obj["kind"], obj["apiVersion"], metadata.get("namespace", ""), metadata["name"], metadata["uid"])


def referred(reference: ReadOnlyObject, namespace: str) -> Identity:
    """Return what an owner reference in that namespace says of the owner."""
    return Identity(reference["kind"], reference["apiVersion"], namespace, reference["name"], reference["uid"])


@dataclass(slots=True, eq=False)
class Vertex:
    """An object in the graph."""

    identity: Identity
    owners: Sequence[ReadOnlyObject] = ()
    dependents: "dict[str, Vertex]" = field(default_factory=dict)
    """By uid, in the order they were seen."""
    virtual: bool = False
    being_deleted: bool = False
    deleting_dependents: bool = False

    def blocking(self) -> "list[Vertex]":
        """Return the dependents that must go before it does."""
        return [one for one in self.dependents.values() if any(_blocks(ref, self.identity.uid) for ref in one.owners)]


def _blocks(reference: ReadOnlyObject, uid: str) -> bool:
    return reference["uid"] == uid and bool(reference.get("blockOwnerDeletion"))


def has_finalizer(obj: ReadOnlyObject, name: str) -> bool:
    """Whether a finalizer holds an object."""
    return name in obj["metadata"].get("finalizers", ())


def _held(obj: ReadOnlyObject | None, finalizer: str) -> bool:
    """Whether an object is being deleted and waits for this."""
    return obj is not None and bool(obj["metadata"].get("deletionTimestamp")) and has_finalizer(obj, finalizer)


class OwnerGraph:
    """Vertices by uid. What has to be looked at is handed to `check` and `orphan`, as uids."""

    def __init__(
        self, check: Callable[[str], None], orphan: Callable[[str], None], misplaced: Callable[[Vertex, str], None]
    ) -> None:
        self.vertices: dict[str, Vertex] = {}
        self._absent: LRUCache[Identity, None] = LRUCache(_ABSENT_MAX)
        """Owners known not to exist."""
        self._check, self._orphan, self._misplaced = check, orphan, misplaced
        """`misplaced` is told of a dependent whose owner, by uid, is in another namespace."""

    def absent(self, identity: Identity) -> bool:
        """Whether an owner is known not to exist."""
        return identity in self._absent

    def note_absent(self, identity: Identity) -> None:
        """Remember that an owner does not exist."""
        self._absent[identity] = None

    # What is seen

    def take(self, change: Change) -> None:  # hot: per change of any object
        """Take in a change of an object."""
        obj = change.object
        if change.type is EventType.DELETED:
            self._gone(obj)
            return
        old = change.old
        if old is not None and old["metadata"]["uid"] != obj["metadata"]["uid"]:
            self._gone(old)
            old = None
        if old is not None and not _matters(old, obj):
            return
        vertex = self.vertices.get(obj["metadata"]["uid"])
        if vertex is not None and vertex.virtual:
            vertex = self._observed(vertex, identity_of(obj))
        if vertex is None:
            vertex = self._new(obj)
        else:
            self._changed(vertex, obj)
        self._transitions(old, obj, vertex)

    def _new(self, obj: ReadOnlyObject) -> Vertex:
        owners = tuple(obj["metadata"].get("ownerReferences", ()))
        vertex = Vertex(identity_of(obj), owners)
        vertex.being_deleted = bool(obj["metadata"].get("deletionTimestamp"))
        vertex.deleting_dependents = _held(obj, FOREGROUND)
        self.vertices[vertex.identity.uid] = vertex
        self._join(vertex, owners)
        return vertex

    def _changed(self, vertex: Vertex, obj: ReadOnlyObject) -> None:
        owners = tuple(obj["metadata"].get("ownerReferences", ()))
        if owners != tuple(vertex.owners):
            before, after = {one["uid"]: one for one in vertex.owners}, {one["uid"]: one for one in owners}
            for uid, reference in before.items():
                if reference.get("blockOwnerDeletion") and not after.get(uid, {}).get("blockOwnerDeletion"):
                    self._check_known(uid)
            vertex.owners = owners
            self._join(vertex, [one for uid, one in after.items() if uid not in before])
            self._leave(vertex, [uid for uid in before if uid not in after])
        if obj["metadata"].get("deletionTimestamp"):
            vertex.being_deleted = True

    def _observed(self, vertex: Vertex, identity: Identity) -> Vertex:
        """Let what was virtual be the object that was seen; those who said otherwise are looked at."""
        if identity != vertex.identity:
            for dependent in _split(vertex.dependents.values(), identity).disagreeing:
                if identity.namespace and dependent.identity.namespace != identity.namespace:
                    self._misplaced(dependent, identity.uid)
                self._check(dependent.identity.uid)
        vertex.identity, vertex.virtual = identity, False
        return vertex

    def _transitions(self, old: ReadOnlyObject | None, obj: ReadOnlyObject, vertex: Vertex) -> None:
        uid = vertex.identity.uid
        if _held(obj, ORPHAN) and not _held(old, ORPHAN):
            self._orphan(uid)
        elif _held(obj, FOREGROUND) and not _held(old, FOREGROUND):
            vertex.deleting_dependents = True
            for dependent in vertex.dependents:
                self._check(dependent)
            self._check(uid)

    def _gone(self, obj: ReadOnlyObject) -> None:
        vertex = self.vertices.get(obj["metadata"]["uid"])
        if vertex is not None:
            self._remove(vertex, identity_of(obj))

    # What was found out

    def found_missing(self, identity: Identity) -> None:
        """Take in that the server does not know an object, whatever was seen of it."""
        vertex = self.vertices.get(identity.uid)
        if vertex is None:
            return
        if vertex.virtual:
            split = _split(vertex.dependents.values(), identity)
            if split.disagreeing:
                self._partly_missing(vertex, identity, split)
                return
        elif vertex.identity != identity:
            self._check_missing(identity, _split(vertex.dependents.values(), identity).agreeing)
            return
        self._remove(vertex, identity)

    def _partly_missing(self, vertex: Vertex, identity: Identity, split: "_Split") -> None:
        """Some dependents mean something else by that uid: it stays, as what they mean."""
        self._check_missing(identity, split.agreeing)
        if vertex.identity == identity and (other := _alternative(split.disagreeing, identity)) is not None:
            self.vertices[identity.uid] = replace(vertex, identity=other)
            self._check(identity.uid)

    def _check_missing(self, identity: Identity, dependents: Iterable[Vertex]) -> None:
        for dependent in dependents:
            self.note_absent(identity)
            self._check(dependent.identity.uid)

    def _remove(self, vertex: Vertex, identity: Identity) -> None:
        del self.vertices[vertex.identity.uid]
        self._leave(vertex, [owner["uid"] for owner in vertex.owners])
        if vertex.dependents:
            self.note_absent(identity)
        for dependent in vertex.dependents:
            self._check(dependent)
        for owner in vertex.owners:
            above = self.vertices.get(owner["uid"])
            if above is not None and above.deleting_dependents:
                self._check(owner["uid"])

    # Edges

    def _join(self, vertex: Vertex, owners: Iterable[ReadOnlyObject]) -> None:
        doubtful = False
        for reference in owners:
            owner = self.vertices.get(reference["uid"])
            if owner is None:
                owner = Vertex(referred(reference, vertex.identity.namespace), virtual=True)
                self.vertices[reference["uid"]] = owner
                self._check(reference["uid"])
            elif not doubtful:
                doubtful = self._doubts(vertex, owner, reference)
            owner.dependents[vertex.identity.uid] = vertex
        if doubtful:
            self._check(vertex.identity.uid)

    def _doubts(self, vertex: Vertex, owner: Vertex, reference: ReadOnlyObject) -> bool:
        elsewhere = owner.identity.namespace != vertex.identity.namespace
        if owner.identity.namespace and elsewhere:
            if not owner.virtual:
                self._misplaced(vertex, reference["uid"])
            return True
        return not owner.identity.named_by(reference) or (elsewhere and owner.virtual)

    def _leave(self, vertex: Vertex, owners: Iterable[str]) -> None:
        for uid in owners:
            if (owner := self.vertices.get(uid)) is not None:
                owner.dependents.pop(vertex.identity.uid, None)

    def _check_known(self, uid: str) -> None:
        if uid in self.vertices:
            self._check(uid)


def _matters(old: ReadOnlyObject, new: ReadOnlyObject) -> bool:
    before, after = old["metadata"], new["metadata"]
    return any(before.get(name) != after.get(name) for name in ("ownerReferences", "deletionTimestamp", "finalizers"))


class _Split(NamedTuple):
    agreeing: list[Vertex]
    disagreeing: list[Vertex]


def _split(dependents: Iterable[Vertex], owner: Identity) -> _Split:
    """Tell the dependents that mean this owner from those that mean something else by its uid; some do both."""
    agreeing, disagreeing = [], []
    for dependent in dependents:
        named = [one for one in dependent.owners if one["uid"] == owner.uid]
        elsewhere = bool(owner.namespace) and owner.namespace != dependent.identity.namespace
        if not elsewhere and any(owner.named_by(one) for one in named):
            agreeing.append(dependent)
        if elsewhere or not all(owner.named_by(one) for one in named):
            disagreeing.append(dependent)
    return _Split(agreeing, disagreeing)


def _alternative(dependents: Iterable[Vertex], missing: Identity) -> Identity | None:
    """Return what else dependents mean by a uid: the next in order, or the first."""
    others = set()
    for dependent in dependents:
        for reference in dependent.owners:
            if reference["uid"] == missing.uid:
                namespace = dependent.identity.namespace
                if not missing.namespace and (reference["apiVersion"], reference["kind"]) == missing[1::-1]:
                    namespace = ""
                others.add(referred(reference, namespace))
    ordered = sorted(others - {missing})
    return next((one for one in ordered if one > missing), ordered[0] if ordered else None)
