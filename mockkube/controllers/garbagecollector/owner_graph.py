"""Graph of objects and their owners, as the garbage collector observed them.

An owner that is referenced but was not observed yet is a *virtual* node: it may not exist, or not be what its
dependents claim. upstream 1.36: pkg/controller/garbagecollector/graph_builder.go
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import field, replace
from typing import Final, NamedTuple

from cachetools import LRUCache

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.client.informer import ObjectChange
from mockkube.client.protocol import Key, WatchEventType
from mockkube.lazy_dataclasses import dataclass

FOREGROUND: Final = "foregroundDeletion"
ORPHAN: Final = "orphan"
_ABSENT_MAX: Final = 500


class ObjectReference(NamedTuple):
    """Identity of an object, as observed or as an owner reference states it."""

    kind: str
    api_version: str
    namespace: str
    name: str
    uid: str

    @property
    def key(self) -> Key:
        """Namespace and name."""
        return Key(self.namespace, self.name)

    def matches(self, reference: ReadOnlyObject) -> bool:
        """Return whether an owner reference names this object, apart from the namespace."""
        return (reference["uid"], reference["name"], reference["kind"], reference["apiVersion"]) == (
            self.uid,
            self.name,
            self.kind,
            self.api_version,
        )


def object_reference(obj: ReadOnlyObject) -> ObjectReference:
    """Return the identity of an observed object."""
    metadata = obj["metadata"]
    return ObjectReference(
        obj["kind"], obj["apiVersion"], metadata.get("namespace", ""), metadata["name"], metadata["uid"]
    )


def owner_object_reference(reference: ReadOnlyObject, namespace: str) -> ObjectReference:
    """Return the identity of an owner as a reference in that namespace states it."""
    return ObjectReference(reference["kind"], reference["apiVersion"], namespace, reference["name"], reference["uid"])


@dataclass(slots=True, eq=False)
class GraphNode:
    """An object in the graph."""

    identity: ObjectReference
    owners: Sequence[ReadOnlyObject] = ()
    # By uid, in the order in which they were observed.
    dependents: "dict[str, GraphNode]" = field(default_factory=dict)
    virtual: bool = False
    being_deleted: bool = False
    deleting_dependents: bool = False

    def blocking_dependents(self) -> "list[GraphNode]":
        """Return the dependents that block the deletion of this owner."""
        return [one for one in self.dependents.values() if any(_blocks(ref, self.identity.uid) for ref in one.owners)]


def _blocks(reference: ReadOnlyObject, uid: str) -> bool:
    return reference["uid"] == uid and bool(reference.get("blockOwnerDeletion"))


def has_finalizer(obj: ReadOnlyObject, name: str) -> bool:
    """Return whether an object has a finalizer."""
    return name in obj["metadata"].get("finalizers", ())


def _is_deleting_with(obj: ReadOnlyObject | None, finalizer: str) -> bool:
    """Return whether an object is terminating and has a finalizer."""
    return obj is not None and bool(obj["metadata"].get("deletionTimestamp")) and has_finalizer(obj, finalizer)


class OwnerGraph:
    """Nodes by uid. Objects to process are passed to `attempt_to_delete` and `attempt_to_orphan`, as uids."""

    def __init__(
        self,
        attempt_to_delete: Callable[[str], None],
        attempt_to_orphan: Callable[[str], None],
        report_invalid_namespace: Callable[[GraphNode, str], None],
    ) -> None:
        self.nodes: dict[str, GraphNode] = {}
        # Owners known not to exist.
        self._absent: LRUCache[ObjectReference, None] = LRUCache(_ABSENT_MAX)
        # `report_invalid_namespace` gets a dependent, and the uid of its owner, which is in another namespace.
        self._attempt_to_delete, self._attempt_to_orphan, self._report_invalid_namespace = (
            attempt_to_delete,
            attempt_to_orphan,
            report_invalid_namespace,
        )

    def is_absent(self, identity: ObjectReference) -> bool:
        """Return whether an owner is known not to exist."""
        return identity in self._absent

    def add_absent(self, identity: ObjectReference) -> None:
        """Remember that an owner does not exist."""
        self._absent[identity] = None

    def process_change(self, change: ObjectChange) -> None:  # hot: per change of any object
        """Update the graph for a change of an object."""
        obj = change.object
        if change.type is WatchEventType.DELETED:
            self._process_deletion(obj)
            return
        old = change.old
        # The object was deleted and created again under its name while the watch was interrupted.
        if old is not None and old["metadata"]["uid"] != obj["metadata"]["uid"]:
            self._process_deletion(old)
            old = None
        if old is not None and not _has_relevant_change(old, obj):
            return
        node = self.nodes.get(obj["metadata"]["uid"])
        if node is not None and node.virtual:
            node = self._mark_observed(node, object_reference(obj))
        if node is None:
            node = self._insert_node(obj)
        else:
            self._update_owners(node, obj)
        self._process_transitions(old, obj, node)

    def _insert_node(self, obj: ReadOnlyObject) -> GraphNode:
        owners = tuple(obj["metadata"].get("ownerReferences", ()))
        node = GraphNode(object_reference(obj), owners)
        node.being_deleted = bool(obj["metadata"].get("deletionTimestamp"))
        node.deleting_dependents = _is_deleting_with(obj, FOREGROUND)
        self.nodes[node.identity.uid] = node
        self._add_dependent_to_owners(node, owners)
        return node

    def _update_owners(self, node: GraphNode, obj: ReadOnlyObject) -> None:
        """Update owners and deletion of a node; check owners that it no longer blocks."""
        owners = tuple(obj["metadata"].get("ownerReferences", ()))
        if owners != tuple(node.owners):
            before, after = {one["uid"]: one for one in node.owners}, {one["uid"]: one for one in owners}
            for uid, reference in before.items():
                if reference.get("blockOwnerDeletion") and not after.get(uid, {}).get("blockOwnerDeletion"):
                    # An owner in foreground deletion may have waited only for this reference.
                    self._check_if_known(uid)
            node.owners = owners
            self._add_dependent_to_owners(node, [one for uid, one in after.items() if uid not in before])
            self._remove_dependent_from_owners(node, [uid for uid in before if uid not in after])
        if obj["metadata"].get("deletionTimestamp"):
            node.being_deleted = True

    def _mark_observed(self, node: GraphNode, identity: ObjectReference) -> GraphNode:
        """Turn a virtual node into the observed object; check dependents that stated another identity."""
        if identity != node.identity:
            for dependent in _partition_dependents(node.dependents.values(), identity).disagreeing:
                if identity.namespace and dependent.identity.namespace != identity.namespace:
                    self._report_invalid_namespace(dependent, identity.uid)
                self._attempt_to_delete(dependent.identity.uid)
        node.identity, node.virtual = identity, False
        return node

    def _process_transitions(self, old: ReadOnlyObject | None, obj: ReadOnlyObject, node: GraphNode) -> None:
        uid = node.identity.uid
        if _is_deleting_with(obj, ORPHAN) and not _is_deleting_with(old, ORPHAN):
            self._attempt_to_orphan(uid)
        elif _is_deleting_with(obj, FOREGROUND) and not _is_deleting_with(old, FOREGROUND):
            node.deleting_dependents = True
            # Dependents first, so that they are deleted before the owner is checked for what blocks it.
            for dependent in node.dependents:
                self._attempt_to_delete(dependent)
            self._attempt_to_delete(uid)

    def _process_deletion(self, obj: ReadOnlyObject) -> None:
        node = self.nodes.get(obj["metadata"]["uid"])
        if node is not None:
            self._remove_node(node, object_reference(obj))

    def process_virtual_deletion(self, identity: ObjectReference) -> None:
        """Remove an object that does not exist on the server, even if it was observed before."""
        node = self.nodes.get(identity.uid)
        if node is None:
            return
        if node.virtual:
            split = _partition_dependents(node.dependents.values(), identity)
            if split.disagreeing:
                self._replace_identity(node, identity, split)
                return
        elif node.identity != identity:
            self._check_dependents_of_absent(
                identity, _partition_dependents(node.dependents.values(), identity).agreeing
            )
            return
        self._remove_node(node, identity)

    def _replace_identity(self, node: GraphNode, identity: ObjectReference, split: "_PartitionedDependents") -> None:
        """Keep the node for the dependents that state another identity for this uid."""
        self._check_dependents_of_absent(identity, split.agreeing)
        if node.identity == identity and (other := _alternate_owner_identity(split.disagreeing, identity)) is not None:
            self.nodes[identity.uid] = replace(node, identity=other)
            self._attempt_to_delete(identity.uid)

    def _check_dependents_of_absent(self, identity: ObjectReference, dependents: Iterable[GraphNode]) -> None:
        for dependent in dependents:
            self.add_absent(identity)
            self._attempt_to_delete(dependent.identity.uid)

    def _remove_node(self, node: GraphNode, identity: ObjectReference) -> None:
        """Remove a node, and check its dependents and the owners that waited for it."""
        del self.nodes[node.identity.uid]
        self._remove_dependent_from_owners(node, [owner["uid"] for owner in node.owners])
        if node.dependents:
            # Dependents are checked next: the cache saves each of them a request for the owner.
            self.add_absent(identity)
        for dependent in node.dependents:
            self._attempt_to_delete(dependent)
        for owner in node.owners:
            above = self.nodes.get(owner["uid"])
            # This object may have been the last one that blocked its owner.
            if above is not None and above.deleting_dependents:
                self._attempt_to_delete(owner["uid"])

    def _add_dependent_to_owners(self, node: GraphNode, owners: Iterable[ReadOnlyObject]) -> None:
        """Add a node to its owners; unknown owners become virtual nodes."""
        doubtful = False
        for reference in owners:
            owner = self.nodes.get(reference["uid"])
            if owner is None:
                owner = GraphNode(owner_object_reference(reference, node.identity.namespace), virtual=True)
                self.nodes[reference["uid"]] = owner
                # Only a request can tell whether a virtual owner exists.
                self._attempt_to_delete(reference["uid"])
            elif not doubtful:
                doubtful = self._is_doubtful_reference(node, owner, reference)
            owner.dependents[node.identity.uid] = node
        if doubtful:
            self._attempt_to_delete(node.identity.uid)

    def _is_doubtful_reference(self, node: GraphNode, owner: GraphNode, reference: ReadOnlyObject) -> bool:
        elsewhere = owner.identity.namespace != node.identity.namespace
        if owner.identity.namespace and elsewhere:
            if not owner.virtual:
                self._report_invalid_namespace(node, reference["uid"])
            return True
        return not owner.identity.matches(reference) or (elsewhere and owner.virtual)

    def _remove_dependent_from_owners(self, node: GraphNode, owners: Iterable[str]) -> None:
        for uid in owners:
            if (owner := self.nodes.get(uid)) is not None:
                owner.dependents.pop(node.identity.uid, None)

    def _check_if_known(self, uid: str) -> None:
        if uid in self.nodes:
            self._attempt_to_delete(uid)


def _has_relevant_change(old: ReadOnlyObject, new: ReadOnlyObject) -> bool:
    before, after = old["metadata"], new["metadata"]
    return bool(
        before.get("ownerReferences") != after.get("ownerReferences")
        or before.get("deletionTimestamp") != after.get("deletionTimestamp")
        or before.get("finalizers") != after.get("finalizers")
    )


class _PartitionedDependents(NamedTuple):
    agreeing: list[GraphNode]
    disagreeing: list[GraphNode]


def _partition_dependents(dependents: Iterable[GraphNode], owner: ObjectReference) -> _PartitionedDependents:
    """Separate dependents that mean this owner from those that mean another by its uid; some do both."""
    agreeing, disagreeing = [], []
    for dependent in dependents:
        named = [one for one in dependent.owners if one["uid"] == owner.uid]
        elsewhere = bool(owner.namespace) and owner.namespace != dependent.identity.namespace
        if not elsewhere and any(owner.matches(one) for one in named):
            agreeing.append(dependent)
        if elsewhere or not all(owner.matches(one) for one in named):
            disagreeing.append(dependent)
    return _PartitionedDependents(agreeing, disagreeing)


def _alternate_owner_identity(dependents: Iterable[GraphNode], missing: ObjectReference) -> ObjectReference | None:
    """Return another identity that dependents state for a uid: the next in order, or the first."""
    others = set()
    for dependent in dependents:
        for reference in dependent.owners:
            if reference["uid"] == missing.uid:
                namespace = dependent.identity.namespace
                if not missing.namespace and (reference["apiVersion"], reference["kind"]) == missing[1::-1]:
                    namespace = ""
                others.add(owner_object_reference(reference, namespace))
    # The order makes successive calls cycle through all candidates.
    ordered = sorted(others - {missing})
    return next((one for one in ordered if one > missing), ordered[0] if ordered else None)
